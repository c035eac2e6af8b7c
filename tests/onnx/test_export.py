"""``onnx.export``: whole models in onnxruntime, dynamic axes, names, and what is refused."""

from __future__ import annotations

import inspect
import io
import math
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")

import tengen  # noqa: E402
from tengen.jit import TracerWarning  # noqa: E402
from tengen.nn import functional as F  # noqa: E402
from tengen.onnx import OnnxExporterError, UnsupportedOperatorError, export  # noqa: E402
from tengen.onnx.export import newest_opset  # noqa: E402
from tengen.testing.symbolics import session_of  # noqa: E402


def run(model: Any, *inputs: Any) -> list[np.ndarray[Any, Any]]:
    """A model's outputs."""
    session = session_of(model)
    names = [i.name for i in session.get_inputs()]
    found: list[np.ndarray[Any, Any]] = session.run(
        None, {n: t.detach().numpy() for n, t in zip(names, inputs, strict=True)}
    )
    return found


def agree(model: Any, f: Callable[..., Any], *inputs: Any, atol: float = 2e-5) -> None:
    """The model gives what the function gives: values, dtypes and shapes."""
    expected = f(*inputs)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    found = run(model, *inputs)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        array = b.detach().numpy()
        assert a.dtype == array.dtype and a.shape == array.shape
        np.testing.assert_allclose(a, array, atol=atol, rtol=1e-4)


# -- models -----------------------------------------------------------------------------------------


def digits_network(seed: int) -> tuple[Callable[[Any], Any], dict[str, Any]]:
    """The classifier of examples/digits.py, and its parameters."""
    tengen.manual_seed(seed)
    shapes = {"conv1": (16, 1, 3, 3), "conv2": (32, 16, 3, 3), "linear1": (64, 512), "linear2": (10, 64)}
    parameters: dict[str, Any] = {}
    for name, shape in shapes.items():
        scale = math.sqrt(2 / math.prod(shape[1:]))
        parameters[f"{name}.weight"] = (tengen.randn(shape) * scale).requires_grad_()
        parameters[f"{name}.bias"] = tengen.randn(shape[0]).mul_(0.1).requires_grad_()

    def layer(name: str) -> tuple[Any, Any]:
        return parameters[f"{name}.weight"], parameters[f"{name}.bias"]

    def network(images: Any) -> Any:
        x = F.relu(F.conv2d(images, *layer("conv1"), padding=1))
        x = F.relu(F.conv2d(x, *layer("conv2"), padding=1))
        x = F.max_pool2d(x, 2).flatten(1)
        x = F.dropout(F.relu(F.linear(x, *layer("linear1"))), 0.3, training=False)
        return F.linear(x, *layer("linear2"))

    return network, parameters


def test_the_digits_classifier() -> None:
    network, parameters = digits_network(0)
    model = export(
        network,
        (tengen.randn(4, 1, 8, 8),),
        parameters=parameters,
        output_names=["logits"],
        dynamic_axes={"images": {0: "batch"}, "logits": {0: "batch"}},
    )
    for count in (1, 4, 9):
        agree(model, network, tengen.randn(count, 1, 8, 8))
    assert {i.name for i in model.graph.initializer} >= set(parameters)
    (given,), (made,) = model.graph.input, model.graph.output
    assert (given.name, made.name) == ("images", "logits")
    assert [d.dim_param or d.dim_value for d in given.type.tensor_type.shape.dim] == ["batch", 1, 8, 8]
    assert [d.dim_param or d.dim_value for d in made.type.tensor_type.shape.dim] == ["batch", 10]


def test_parameters_given_as_inputs() -> None:
    def network(params: Mapping[str, Any], x: Any) -> Any:
        return tengen.relu(x @ params["w"] + params["b"])

    params = {"w": tengen.randn(3, 2), "b": tengen.randn(2)}
    model = export(network, (params, tengen.randn(4, 3)))
    assert [i.name for i in model.graph.input] == ["params.w", "params.b", "x"]
    x = tengen.randn(4, 3)
    found = run(model, params["w"], params["b"], x)
    np.testing.assert_allclose(found[0], network(params, x).numpy(), atol=1e-6)


def test_without_the_parameters() -> None:
    w = tengen.randn(3)
    model = export(lambda x: x * w, (tengen.randn(3),), parameters={"w": w}, export_params=False)
    assert [i.name for i in model.graph.input] == ["x", "w"] and not model.graph.initializer


WIDTH, HEADS = 16, 4


def transformer_block(fused: bool) -> Callable[[Any], Any]:
    """Causal attention, layer norms and a gelu MLP."""
    tengen.manual_seed(1)
    w = {n: tengen.randn(WIDTH, WIDTH) * 0.3 for n in ("query", "key", "value", "out")}
    wide, narrow = tengen.randn(4 * WIDTH, WIDTH) * 0.3, tengen.randn(WIDTH, 4 * WIDTH) * 0.3
    scale, shift = tengen.randn(WIDTH), tengen.randn(WIDTH)

    def attend(q: Any, k: Any, v: Any) -> Any:
        if fused:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        size = q.shape[-2]
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        mask = tengen.ones(size, size, dtype=tengen.bool).tril()
        return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v

    def block(x: Any) -> Any:
        batch, time, _ = x.shape
        h = F.layer_norm(x, (WIDTH,), scale, shift)
        heads = [
            F.linear(h, w[n]).view(batch, time, HEADS, -1).transpose(1, 2) for n in ("query", "key", "value")
        ]
        mixed = attend(*heads).transpose(1, 2).reshape(batch, time, WIDTH)
        x = x + F.linear(mixed, w["out"])
        h = F.layer_norm(x, (WIDTH,), scale)
        return x + F.linear(F.gelu(F.linear(h, wide)), narrow)

    return block


@pytest.mark.parametrize("fused", [True, False])
def test_a_transformer_block(fused: bool) -> None:
    block = transformer_block(fused)
    x = tengen.randn(2, 5, WIDTH)
    agree(export(block, (x,)), block, x)
    model = export(block, (x,), dynamic_axes={"x": {0: "batch", 1: "time"}})
    for shape in ((2, 5), (1, 1), (3, 8)):
        agree(model, block, tengen.randn(*shape, WIDTH))


def test_a_training_step() -> None:
    """A gradient is a function like others: its graph is the backward pass."""

    def step(w: Any, x: Any, y: Any) -> Any:
        w = w.detach().requires_grad_()
        loss = (tengen.softmax(F.linear(x, w.t()), 1) - y).square().mean()
        (grad,) = tengen.autograd.grad(loss, w)
        return w - 0.1 * grad, loss

    inputs = tengen.randn(3, 2), tengen.randn(4, 3), tengen.randn(4, 2)
    agree(export(step, inputs), step, *inputs)


# -- dynamic axes -----------------------------------------------------------------------------------

PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "a product of sizes": lambda x: x.reshape(x.shape[0] * x.shape[1], 3).t().reshape(3, -1),
    "two sizes of one shape": lambda x: x.permute(2, 0, 1).reshape(3, x.shape[0] * x.shape[1]),
    "expand": lambda x: x[:, :1].expand(x.shape[0], x.shape[1] + 2, 3),
    "a size as a number": lambda x: x.sum(1) / x.shape[1] + x.shape[0],
    "range and mask": lambda x: x * (tengen.arange(x.shape[1]) < x.shape[1] - 1)[:, None],
    "full": lambda x: x + tengen.full((x.shape[0], 1, 3), 2.0) + tengen.zeros_like(x),
    "last": lambda x: x[:, -1],
    "slices": lambda x: x[:, 1:] - x[:, :-1],
    "cat": lambda x: tengen.cat([x, x.flip(1)], 1),
    "stack": lambda x: tengen.stack([x, x * 2], 0),
    "mean": lambda x: x.mean((0, 1)) + x.var(1).sum(),
    "batch norm": lambda x: F.batch_norm(x.transpose(1, 2), tengen.zeros(3), tengen.ones(3)),
    "group norm": lambda x: F.group_norm(x.transpose(1, 2), 3),
    "softmax": lambda x: x.softmax(1).argmax(1),
    "conv": lambda x: F.conv1d(x.transpose(1, 2), tengen.ones(2, 3, 2), padding=1),
    "pad": lambda x: F.pad(x, (0, 0, 1, 2), value=1.0),
    "in place": lambda x: (x * 1).masked_fill_(x > 0, 3.0).add_(1),
    "flatten": lambda x: x.flatten(1).sum(1, keepdim=True),
    "cumsum": lambda x: x.cumsum(1),
    "repeat": lambda x: x.repeat(1, 2, 1),
    "tril": lambda x: (x @ x.transpose(1, 2)).tril(),
    "einsum": lambda x: tengen.einsum("btc,bsc->bts", x, x),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_dynamic_axes(name: str) -> None:
    f = PROGRAMS[name]
    model = export(f, (tengen.randn(2, 4, 3),), input_names=["x"], dynamic_axes={"x": [0, 1]})
    for shape in ((2, 4, 3), (1, 3, 3), (5, 7, 3)):
        agree(model, f, tengen.randn(shape))


class Masked(tengen.nn.Module):
    """``forward`` has a tensor that may be left out, and a rest without names."""

    def forward(self, image: Any, mask: Any = None, *others: Any, scale: Any = 1) -> Any:
        return sum(others, image * scale if mask is None else image * scale + mask)


def test_inputs_of_a_module_are_named_as_forward_names_its_parameters() -> None:
    one = tengen.ones(2)

    def names(model: Any, *args: Any, **keywords: Any) -> list[str]:
        return [i.name for i in export(model, args, kwargs=keywords).graph.input]

    assert names(Masked(), one) == ["image"]
    assert names(Masked(), one, scale=one, mask=one) == ["image", "scale", "mask"]
    assert names(Masked(), one, one, one) == ["image", "mask", "input2"]
    assert names(tengen.jit.trace(Masked(), (one,)), one) == ["image"]
    assert names(tengen.nn.Linear(2, 3), one) == ["input"]
    assert names(tengen.nn.Bilinear(2, 2, 3), one[None], one[None]) == ["input1", "input2"]
    hooked = tengen.nn.Linear(2, 3)
    hooked.register_forward_hook(lambda module, args, result: None)
    assert names(tengen.nn.Sequential(hooked), one) == ["input"]


def test_one_name_is_one_size() -> None:
    def f(x: Any, y: Any) -> Any:
        return x @ y

    model = export(f, (tengen.randn(2, 3), tengen.randn(3, 2)), dynamic_axes={"x": {1: "k"}, "y": {0: "k"}})
    agree(model, f, tengen.randn(2, 6), tengen.randn(6, 2))
    shapes = [[d.dim_param for d in i.type.tensor_type.shape.dim] for i in model.graph.input]
    assert shapes == [["", "k"], ["k", ""]]


def test_what_depends_on_a_dynamic_axis_in_another_way() -> None:
    x = tengen.randn(4, 2)
    with pytest.raises(OnnxExporterError, match=r"view, called at .*: size is .* not known how it follows"):
        export(lambda x: tengen.ones(64).view(2 ** x.shape[0] if x.shape[0] < 7 else 1, -1), (x,),
               dynamic_axes={"input0": {0: "n"}}, input_names=["input0"])  # fmt: skip
    with pytest.raises(OnnxExporterError, match="other operators for other sizes"):
        export(lambda x: sum([x[i] for i in range(x.shape[0])], x[0]), (x,), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(OnnxExporterError, match=r"mul.Scalar, called at .*: other is 0.5, and then"):
        export(lambda x: x * (1 / math.sqrt(x.shape[0])), (x,), dynamic_axes={"x": {0: "n"}})
    with pytest.raises(OnnxExporterError, match="tensor with other elements for other sizes"):
        export(lambda x: x.sum(0) * tengen.tensor(float(x.shape[0])), (x,), dynamic_axes={"x": {0: "n"}})


def test_another_operator_for_other_sizes_is_named_with_its_place() -> None:
    """As many operators are called for every size, but not the same ones."""
    with pytest.raises(OnnxExporterError, match=r"sin, called at .*test_export.py:\d+: for other sizes"):
        export(lambda x: x.sin() if x.shape[0] < 5 else x.cos(), (tengen.randn(4),), dynamic_axes={"x": [0]})


def test_dynamic_axes_of_what_is_no_input() -> None:
    with pytest.raises(ValueError, match="dynamic_axes names no input: they are x"):
        export(lambda x: x + 1, (tengen.ones(2),), dynamic_axes={"y": {0: "n"}})
    with pytest.raises(ValueError, match="x has 1 dimensions, and no axis 3"):
        export(lambda x: x + 1, (tengen.ones(2),), dynamic_axes={"x": {3: "n"}})


# -- errors -----------------------------------------------------------------------------------------


def test_an_operator_without_a_symbolic_is_named_with_its_place() -> None:
    def f(x: Any) -> Any:
        y = x.exp()
        return tengen.lgamma(y)

    lines, start = inspect.getsourcelines(f)
    place = f"{Path(__file__)}:{start + next(i for i, t in enumerate(lines) if 'lgamma' in t)}"
    with pytest.raises(UnsupportedOperatorError) as caught:
        export(f, (tengen.ones(2),))
    assert "the operator lgamma has no symbolic" in str(caught.value)
    assert str(caught.value).replace("\\", "/").endswith(f"it was called at {place}")


def test_in_a_composite_the_place_is_the_users() -> None:
    def f(x: Any) -> Any:
        return tengen.linalg.matrix_norm(x, "nuc")

    with pytest.raises(
        UnsupportedOperatorError, match=r"has no symbolic; it was called at .*test_export.py:\d+$"
    ):
        export(f, (tengen.ones(2, 2),))


def test_a_call_that_a_symbolic_does_not_cover() -> None:
    with pytest.raises(
        UnsupportedOperatorError, match=r"dropout, as it is called at .*: it is random in training"
    ):
        export(lambda x: F.dropout(x, 0.5, True), (tengen.ones(2),))
    with pytest.raises(UnsupportedOperatorError, match=r"exp, as it is called at .*: .*does not take"):
        export(lambda x: x.exp(), (tengen.ones(2, dtype=tengen.complex64),))


def test_opsets() -> None:
    newest = newest_opset()
    f = lambda x: x.reshape(-1).exp()  # noqa: E731
    x = tengen.ones(2, 2)
    assert export(f, (x,)).opset_import[0].version < newest
    for version in (20, newest):
        model = export(f, (x,), opset_version=version)
        assert [o.version for o in model.opset_import] == [version]
        onnx.checker.check_model(model, full_check=True)
    for version in (7, newest + 1):
        with pytest.raises(ValueError, match=f"opset_version must be from 20 to {newest}, but is {version}"):
            export(f, (x,), opset_version=version)


def test_names() -> None:
    f = lambda x, y: (x + y, x - y)  # noqa: E731
    inputs = tengen.ones(2), tengen.ones(2)
    model = export(f, inputs, input_names=["left", "right"], output_names=["sum"], model_name="pair")
    assert [i.name for i in model.graph.input] == ["left", "right"]
    assert [o.name for o in model.graph.output] == ["sum", "output1"] and model.graph.name == "pair"
    with pytest.raises(ValueError, match="3 input_names for 2 inputs"):
        export(f, inputs, input_names=["a", "b", "c"])
    with pytest.raises(ValueError, match="must differ"):
        export(f, inputs, input_names=["a", "a"])


def test_files(tmp_path: Path) -> None:
    path, buffer = tmp_path / "model.onnx", io.BytesIO()
    f = lambda x: x * 2  # noqa: E731
    model = export(f, (tengen.ones(2),), path)
    export(f, (tengen.ones(2),), buffer)
    assert onnx.load(path) == model and buffer.getvalue() == path.read_bytes()


def test_nodes_say_where_they_come_from() -> None:
    model = export(lambda x: x.exp().sin(), (tengen.ones(2),))
    assert all(
        n.doc_string.startswith("test_export.py:") for n in model.graph.node if n.op_type != "Identity"
    )


def test_a_traced_function_is_exported_as_it_is() -> None:
    traced = tengen.jit.trace(lambda x: x.exp() + 1, (tengen.ones(2),))
    agree(export(traced, (tengen.ones(2),)), traced, tengen.tensor([0.5, -1.0]))
    with pytest.raises(OnnxExporterError, match="fixed sizes"):
        export(traced, (tengen.ones(2),), dynamic_axes={"x": {0: "n"}})


# -- dtypes and constants ---------------------------------------------------------------------------


def test_promotion_is_written_as_casts() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return a + b, b * 2.5, (a > b) + a, c & (a > 0), a / 2, tengen.where(c, a, 1.5)

    inputs = tengen.tensor([1, -2]), tengen.tensor([0.5, 3.0]), tengen.tensor([True, False])
    model = export(f, inputs)
    agree(model, f, *inputs)
    assert "Cast" in {n.op_type for n in model.graph.node}


def test_writes_and_the_warning_of_lost_ones() -> None:
    counter = tengen.zeros(2)

    def f(x: Any) -> Any:
        counter.add_(1)
        y = x * counter
        y[0] = 5
        y[1:, ...] *= 2
        return y

    with pytest.warns(TracerWarning, match="not changed"):
        model = export(f, (tengen.ones(2),))
    assert run(model, tengen.tensor([3.0, 4.0]))[0][0] == 5.0


def test_an_input_that_is_an_output_and_a_constant_that_is_one() -> None:
    table = tengen.tensor([1.0, 2.0])
    f = lambda x: (x, table, x + 1)  # noqa: E731
    agree(export(f, (tengen.ones(2),)), f, tengen.tensor([3.0, 4.0]))


def test_empty_and_scalar_inputs() -> None:
    f = lambda x, s: (x.exp() * s, x.sum(), s.unsqueeze(0))  # noqa: E731
    inputs = tengen.ones(0, 3), tengen.tensor(2.0)
    agree(export(f, inputs), f, *inputs)


def test_an_error_in_the_function_is_its_own() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeError, match="cannot be multiplied"):
            export(lambda x: x @ x, (tengen.ones(2, 3),))


def test_what_is_complex_is_not_taken_for_real() -> None:
    for function in (lambda x: x.conj(), lambda x: x.conj_physical()):
        with pytest.raises(tengen.onnx.UnsupportedOperatorError, match=r"conj.*complex numbers"):
            tengen.onnx.export(function, (tengen.ones(2, dtype=tengen.complex64),))


# -- recurrent layers -------------------------------------------------------------------------------


def recurrent_parameters(gates: int, layers: int, directions: int) -> list[Any]:
    """Weights and biases of layers with four inputs and states of six."""
    found = []
    for layer in range(layers):
        for _ in range(directions):
            size = 6 * directions if layer else 4
            shapes = (6 * gates, size), (6 * gates, 6), (6 * gates,), (6 * gates,)
            found += [tengen.randn(shape) * 0.3 for shape in shapes]
    return found


@pytest.mark.parametrize(
    ("mode", "gates", "node"),
    [("lstm", 4, "LSTM"), ("gru", 3, "GRU"), ("rnn_tanh", 1, "RNN"), ("rnn_relu", 1, "RNN")],
)
def test_recurrent_layers(mode: str, gates: int, node: str) -> None:
    """Two layers in both directions are four nodes, padded (the batch is dynamic) and packed."""
    tengen.manual_seed(0)
    layer, parameters = getattr(tengen, mode), recurrent_parameters(gates, 2, 2)

    def states(batch: int) -> Any:
        h = tengen.linspace(-1, 1, 4).view(4, 1, 1).expand(4, batch, 6)
        return (h, -h) if mode == "lstm" else h

    def padded(x: Any) -> Any:
        return layer(x, states(x.shape[0]), parameters, True, 2, 0.0, False, True, True)

    def packed(x: Any) -> Any:
        sizes = tengen.tensor([3, 2, 2, 1])
        return layer(x, sizes, states(3), parameters, True, 2, 0.0, False, True)

    model = export(padded, (tengen.randn(3, 5, 4),), input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    assert [n.op_type for n in model.graph.node].count(node) == 4
    agree(model, padded, tengen.randn(7, 5, 4))
    x = tengen.randn(8, 4)
    agree(export(packed, (x,)), packed, x)


def test_a_projection_is_not_exported() -> None:
    x, states = tengen.randn(2, 3, 4), (tengen.zeros(1, 3, 2), tengen.zeros(1, 3, 6))
    shapes = (24, 4), (24, 2), (24,), (24,), (2, 6)
    weights = [tengen.randn(shape) for shape in shapes]
    with pytest.raises(UnsupportedOperatorError, match="projection"):
        export(lambda x: tengen.lstm(x, states, weights, True, 1, 0.0, False, False, False), (x,))
