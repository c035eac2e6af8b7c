"""``jit.trace``: what is recorded, how it prints, that it runs and is differentiable."""

from __future__ import annotations

import textwrap
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

import tengen
from tengen.core.interception import active
from tengen.jit import TracerWarning
from tengen.nn import functional as F


@pytest.fixture(autouse=True)
def nothing_stays_active() -> Iterator[None]:
    yield
    assert not active
    active.clear()


def line(function: Any, text: str) -> int:
    """The line of this file in which a function has this text."""
    import inspect

    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, found in enumerate(lines) if text in found)


def dedented(text: str) -> str:
    return textwrap.dedent(text).lstrip("\n")


# -- the same programs in torch ---------------------------------------------------------------------


def two_layers(m: Any) -> Any:
    return lambda x, w: m.softmax(m.relu(x @ w) * 2 + 1, 1)


def branches(m: Any) -> Any:
    return lambda x, w: (x if x.shape[0] > 1 else -x).sum() + w.mean()


def writes(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        y = x @ w
        y[0] = 1.0
        y[:, 1:].mul_(3)
        return y.relu_().t()

    return f


def in_place(m: Any) -> Any:
    def f(x: Any, w: Any) -> Any:
        y = x @ w
        y.select(0, 0).fill_(1.0)
        y.unsqueeze(1).transpose(0, 1).mul_(3)
        return y.relu_().t()

    return f


def containers(m: Any) -> Any:
    return lambda x, w: (x.exp(), [w.sin(), w.cos()])


@pytest.mark.parametrize("program", [two_layers, branches, writes, containers])
def test_a_traced_function_gives_what_the_function_gives(m: Any, program: Any) -> None:
    f = program(m)
    x = m.arange(6.0).reshape(2, 3) / 7
    w = m.arange(12.0).reshape(3, 4) / 5 - 1
    traced = m.jit.trace(f, (x, w), check_trace=True)
    for a in (x, -x, x + 3):
        found, expected = traced(a, w), f(a, w)
        for one, other in zip(flat(found), flat(expected), strict=True):
            assert bool((one == other).all())


def flat(value: Any) -> list[Any]:
    return [t for v in value for t in flat(v)] if isinstance(value, (list, tuple)) else [value]


def test_gradients_flow_through_a_traced_function(m: Any) -> None:
    f = two_layers(m)
    x, w = m.ones(2, 3), (m.arange(12.0).reshape(3, 4) / 12).requires_grad_()
    traced = m.jit.trace(f, (x, w))
    (found,) = m.autograd.grad(traced(x, w)[0, 0], w)
    (expected,) = m.autograd.grad(f(x, w)[0, 0], w)
    assert bool((found == expected).all()) and bool((expected != 0).any())


def test_detached_values_stay_detached(m: Any) -> None:
    def f(x: Any) -> Any:
        return x * x.detach()

    x = m.tensor([3.0], requires_grad=True)
    traced = m.jit.trace(f, (m.tensor([1.0]),))
    (found,) = m.autograd.grad(traced(x).sum(), x)
    assert found.tolist() == [3.0]


@pytest.mark.parametrize(
    ("convert", "what"),
    [
        (lambda x: bool(x.sum() > 0), "Python boolean"),
        (lambda x: float(x.sum()), "Python float"),
        (lambda x: int(x.sum()), "Python integer"),
        (lambda x: x.sum().item(), "Python number"),
        (lambda x: x.tolist(), "Python list"),
        (lambda x: x.detach().numpy(), "NumPy array"),
    ],
)
def test_what_becomes_pythons_is_warned_of(m: Any, convert: Any, what: str) -> None:
    def f(x: Any) -> Any:
        convert(x)
        return x * 2

    if what in ("Python number", "Python list") and m is not tengen:
        pytest.skip("torch names these otherwise")
    with pytest.warns(m.jit.TracerWarning, match=f"Converting a tensor to a {what} might cause the trace"):
        m.jit.trace(f, (m.ones(2),))


def test_random_operators_are_warned_of(m: Any) -> None:
    def f(x: Any) -> Any:
        return x + m.rand(2)

    with pytest.warns(m.jit.TracerWarning) as caught:
        m.jit.trace(f, (m.ones(2),))
    texts = [str(w.message) for w in caught]
    assert any("nondeterministic nodes" in t for t in texts)
    assert any("does not match the corresponding output" in t for t in texts)


def test_another_graph_each_time_is_an_error(m: Any) -> None:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return x * len(calls)

    with pytest.raises(m.jit.TracingCheckError, match="Graphs differed across invocations"):
        m.jit.trace(f, (m.ones(2),))


def test_results_must_be_tensors(m: Any) -> None:
    with pytest.raises(RuntimeError, match=r"[Oo]nly tensors"):
        m.jit.trace(lambda x: (x, 3), (m.ones(2),))


def test_computed_tensors_that_require_grad_are_no_constants(m: Any) -> None:
    w = m.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="Cannot insert a Tensor that requires grad as a constant"):
        m.jit.trace(lambda x: x * w, (m.ones(2),))


@pytest.mark.oracle
def test_the_same_operators_are_recorded_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    for program in (two_layers, branches, in_place):
        recorded = {}
        for m in (tengen, torch):
            x, w = m.ones(2, 3), m.ones(3, 4)
            graph = m.jit.trace(program(m), (x, w), check_trace=False).graph
            lines = str(graph).splitlines()
            names = [x.split("::")[1].split("(")[0] for x in lines if "::" in x and "prim::" not in x]
            recorded[m] = names
        assert recorded[tengen] == recorded[torch]


# -- the text ---------------------------------------------------------------------------------------


def layer(x: Any, w: Any) -> Any:
    y = x @ w
    a, b = y.split(2, 1)
    y = a.add(b, alpha=2)
    return F.softmax(y, dim=-1)


def test_graph_text() -> None:
    traced = tengen.jit.trace(layer, (tengen.ones(2, 3), tengen.ones(3, 4)))
    at = {name: line(layer, name) for name in ("x @ w", "split", "add", "softmax")}
    assert str(traced.graph) == dedented(f"""
        graph(%x : Float(2, 3),
              %w : Float(3, 4)):
          %0 : Float(2, 4) = tengen::matmul(%x, %w) # test_trace.py:{at["x @ w"]}
          %1 : Float(2, 2), %2 : Float(2, 2) = tengen::split(%0, 2, 1) # test_trace.py:{at["split"]}
          %3 : Float(2, 2) = tengen::add(%1, %2, alpha=2) # test_trace.py:{at["add"]}
          %4 : Float(2, 2) = tengen::softmax(%3, -1) # test_trace.py:{at["softmax"]}
          return (%4)
    """)


def test_writes_into_a_list_are_recorded_one_by_one() -> None:
    def parts(x: Any) -> Any:
        a, b = tengen.zeros(2, 2), tengen.zeros(1, 2)
        assert tengen.split_copy(x, 2, out=[a, b]) is None
        return a + b

    x = tengen.arange(6.0).reshape(3, 2)
    traced = tengen.jit.trace(parts, (x,))
    assert str(traced.graph).count("copy_(") == 2
    assert traced(x * 3).tolist() == parts(x * 3).tolist() == [[12.0, 18.0], [18.0, 24.0]]


def test_the_graph_of_the_parts() -> None:
    traced = tengen.jit.trace(layer, (tengen.ones(2, 3), tengen.ones(3, 4)))
    names = [node.operator.name for node in traced.inlined_graph.nodes]
    assert names == ["mm", "split.Tensor", "add.Tensor", "_softmax"]
    assert [n.operator.name for n in traced.graph.walk()][:2] == ["matmul", "mm"]


def test_code_is_python() -> None:
    weight = tengen.tensor([[1.0, 2.0], [3.0, -4.0]])
    x = tengen.tensor([[1.0, -2.0]])

    def f(x: Any) -> Any:
        y = (x @ weight).clamp(min=0, max=3)
        y[0, 0] = 7
        top, where = y.sort(descending=True)
        return F.gelu(top, approximate="tanh"), where.to(tengen.int32), y.sum(dim=(0,), dtype=tengen.float64)

    traced = tengen.jit.trace(f, (x,), parameters={"weight": weight})
    scope: dict[str, Any] = {
        "tengen": tengen,
        "functions": __import__("tengen.generated.functions", fromlist=["x"]),
    }
    exec(traced.code, scope)
    constants = {n: c.tensor for c, n in ((c, identifier(traced, c)) for c in traced.graph.constants)}
    found = scope["forward"](x, **constants)
    for a, b in zip(found, f(x), strict=True):
        assert a.dtype is b.dtype and bool((a == b).all())
    assert "def forward(x, *, weight" in traced.code and "tengen.matmul(x, weight)" in traced.code


def identifier(traced: Any, constant: Any) -> str:
    name = traced.graph.names()[constant.value]
    return f"t{name}" if name[0].isdigit() else name


def test_names_of_inputs_and_constants() -> None:
    table = tengen.ones(3)

    def f(params: dict[str, Any], *xs: Any, scale: Any) -> Any:
        return params["w"] * xs[0] + xs[1] * table * scale + 2.0 * params["b"][0]

    one = tengen.ones(3)
    traced = tengen.jit.trace(
        f,
        ({"w": one, "b": [one]}, tengen.ones(3), tengen.ones(3)),
        example_kwarg_inputs={"scale": tengen.ones(())},
        parameters={"table": table},
    )
    names = [v.name for v in traced.graph.inputs]
    assert names == ["params.w", "params.b.0", "input1", "input2", "scale"]
    assert [c.value.name for c in traced.graph.constants] == ["table"]
    assert traced({"w": one, "b": [one]}, one, one, scale=tengen.tensor(2.0)).tolist() == [5.0] * 3


# -- calling ----------------------------------------------------------------------------------------


def test_one_tensor_may_be_given_twice() -> None:
    x = tengen.tensor([2.0])
    traced = tengen.jit.trace(lambda a, b: a * 3 + b, (x, x))
    assert traced(tengen.tensor([1.0]), tengen.tensor([10.0])).tolist() == [13.0]


def test_other_structures_and_plain_values_are_refused() -> None:
    traced = tengen.jit.trace(lambda x, n: x * n, (tengen.ones(2), 3))
    assert traced(tengen.ones(2), 3).tolist() == [3.0, 3.0]
    with pytest.raises(ValueError, match="input 1 was 3 when it was traced"):
        traced(tengen.ones(2), 4)
    with pytest.raises(TypeError, match="structure"):
        traced(tengen.ones(2))
    with pytest.raises(TypeError, match="input 0 must be a Tensor, but got float"):
        traced(1.0, 3)


def test_parameters_must_be_tensors() -> None:
    with pytest.raises(TypeError, match="parameter 'w' must be a Tensor, not float"):
        tengen.jit.trace(lambda x: x, (tengen.ones(2),), parameters={"w": 1.0})  # type: ignore[dict-item]


def test_an_error_leaves_nothing_active() -> None:
    def f(x: Any) -> Any:
        x.exp()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        tengen.jit.trace(f, (tengen.ones(2),))
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        tengen.jit.trace(lambda x: x @ x, (tengen.ones(2, 3),))


def test_other_threads_are_not_recorded() -> None:
    started, done = threading.Event(), threading.Event()

    def work() -> None:
        started.wait()
        tengen.ones(3).cos()
        done.set()

    thread = threading.Thread(target=work)
    thread.start()

    def f(x: Any) -> Any:
        started.set()
        done.wait()
        return x.sin()

    traced = tengen.jit.trace(f, (tengen.ones(2),), check_trace=False)
    thread.join()
    assert [n.operator.name for n in traced.graph.nodes] == ["sin"]


def test_deep_graphs() -> None:
    def f(x: Any) -> Any:
        for _ in range(3000):
            x = x + 1
        return x

    traced = tengen.jit.trace(f, (tengen.zeros(()),), check_trace=False)
    assert traced(tengen.tensor(1.0)).item() == 3001 and str(traced.graph).count("\n") == 3002


def test_an_input_may_be_an_output() -> None:
    traced = tengen.jit.trace(lambda x: (x, x.flatten()), (tengen.ones(3),))
    given = tengen.tensor([1.0, 2.0])
    first, second = traced(given)
    assert first is given and second.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("shape", [(), (0, 3), (2, 1, 3)])
@pytest.mark.parametrize("dtype", [tengen.float64, tengen.int32, tengen.bool, tengen.complex64])
def test_shapes_and_dtypes(shape: tuple[int, ...], dtype: Any) -> None:
    x = tengen.ones(shape).to(dtype)
    traced = tengen.jit.trace(lambda x: (x.mul(x), x.unsqueeze(0)), (x,))
    first, second = traced(x)
    assert first.dtype is dtype and second.shape == (1, *shape)
    assert traced.graph.inputs[0].shape == shape and traced.graph.inputs[0].dtype is dtype


def test_constants_do_not_warn() -> None:
    limit = tengen.tensor(3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", TracerWarning)
        traced = tengen.jit.trace(lambda x: x * float(limit * 2), (tengen.ones(2),))
    assert traced(tengen.ones(2)).tolist() == [6.0, 6.0]


# -- gradients in graphs ----------------------------------------------------------------------------


def names(graph: Any) -> list[str]:
    return [node.operator.name for node in graph.nodes]


def test_the_backward_pass_is_recorded() -> None:
    def loss(w: Any, x: Any) -> Any:
        return (x @ w).tanh().pow(2).sum()

    def gradient(w: Any, x: Any) -> Any:
        w = w.detach().requires_grad_()
        return tengen.autograd.grad(loss(w, x), w)[0]

    w, x = tengen.randn(3, 2), tengen.randn(4, 3)
    traced = tengen.jit.trace(gradient, (w, x))
    assert "sum" in names(traced.graph) and names(traced.graph)[-1] == "mm"
    other = tengen.randn(3, 2)
    assert bool((traced(other, x) == gradient(other, x)).all())


PROGRAMS = {
    "broadcast": lambda w, x: (w + x.unsqueeze(0) * w.sum(0)).exp().sum(),
    "mixed dtypes": lambda w, x: (w.double() * x).sum() + (w * (x > 0)).sum(),
    "in place": lambda w, x: ((w * 2).mul_(x).sin_() * w).sum(),
    "in place, of what needs no gradient": lambda w, x: (x.expand(3, 3) * 1).mul_(w).exp_().sum(),
    "through a view": lambda w, x: written(w, x),
    "composites": lambda w, x: (
        F.cross_entropy(w @ w * x, tengen.tensor([0, 1, 1])) + F.layer_norm(w, (3,)).var()
    ),
    "indexing": lambda w, x: (w[tengen.tensor([0, 2])] * x[1:, None]).max(1).values.sum(),
    "convolution": lambda w, x: F.max_pool2d(F.conv2d(x.expand(1, 3, 3)[None], w[None, None]), 1).sum(),
}


def written(w: Any, x: Any) -> Any:
    y = w * 3
    y[1:] = y[1:] * x
    y[0, 0] = 2.0
    return (y * y).sum()


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_recorded_of(name: str) -> None:
    """A graph of a gradient gives the gradient also for other numbers: nothing in it is a constant."""
    program = PROGRAMS[name]

    def gradient(w: Any, x: Any) -> Any:
        w = w.detach().requires_grad_()
        return tengen.autograd.grad(program(w, x), w)[0]

    tengen.manual_seed(1)
    traced = tengen.jit.trace(gradient, (tengen.randn(3, 3), tengen.randn(3)))
    w, x = tengen.randn(3, 3), tengen.randn(3)
    assert bool(traced(w, x).isclose(gradient(w, x)).all())
    flat_found = traced.inlined_graph
    from tengen.jit.interpreter import run_graph

    assert bool(run_graph(flat_found, [w, x])[0].isclose(gradient(w, x)).all())


def test_tracing_a_function_transform() -> None:
    func = pytest.importorskip("tengen.func")
    if not hasattr(func, "grad") or not hasattr(func, "vmap"):
        pytest.skip("there are no transforms")
    traced = tengen.jit.trace(func.vmap(func.grad(lambda x: x.sin().sum())), (tengen.randn(4, 3),))
    x = tengen.randn(4, 3)
    assert bool(traced(x).isclose(x.cos()).all())
    assert "cos" in [n.operator.name for n in traced.graph.walk()]


def test_composites_under_vmap_are_recorded_by_their_parts() -> None:
    func = pytest.importorskip("tengen.func")
    if not hasattr(func, "vmap"):
        pytest.skip("there are no transforms")

    def f(a: Any) -> Any:
        return a.softmax(0) @ a + F.layer_norm(a, (3,)).flatten().sum()

    traced = tengen.jit.trace(func.vmap(f), (tengen.randn(4, 3),))
    x = tengen.randn(4, 3)
    assert bool(traced(x).isclose(func.vmap(f)(x)).all())
    inside = func.vmap(lambda a: tengen.jit.trace(lambda b: b.exp().flatten(), (a,), check_trace=False)(a))
    assert bool(inside(x).isclose(x.exp()).all())


def test_hessians_and_forward_mode_are_recorded() -> None:
    func = pytest.importorskip("tengen.func")
    if not hasattr(func, "hessian"):
        pytest.skip("there are no transforms")

    def f(x: Any) -> Any:
        return (x.sin() * x).sum()

    x, y = tengen.randn(3), tengen.randn(3)
    assert bool(tengen.jit.trace(func.hessian(f), (x,))(y).isclose(func.hessian(f)(y)).all())
    pushed = tengen.jit.trace(lambda x, v: func.jvp(f, (x,), (v,)), (x, y))
    for found, expected in zip(pushed(y, x), func.jvp(f, (y,), (x,)), strict=True):
        assert bool(found.isclose(expected))


def test_a_traced_function_under_transforms() -> None:
    func = pytest.importorskip("tengen.func")
    if not hasattr(func, "vmap"):
        pytest.skip("there are no transforms")
    traced = tengen.jit.trace(lambda x: x.exp().sum(), (tengen.randn(3),))
    x = tengen.randn(5, 3)
    assert bool(func.vmap(traced)(x).isclose(x.exp().sum(1)).all())


def test_a_trace_of_a_traced_function() -> None:
    inner = tengen.jit.trace(lambda x: x.exp() * 2, (tengen.ones(2),))
    outer = tengen.jit.trace(lambda x: inner(x) + 1, (tengen.ones(2),))
    assert names(outer.graph) == ["exp", "mul.Scalar", "add.Scalar"]


def test_a_default_that_is_handed_on_is_taken() -> None:
    """``contiguous`` has a default of a type that None is not of."""
    x = tengen.ones(2, 3)
    for function in (lambda x: x.t().contiguous(), lambda x: x.contiguous()):
        traced = tengen.jit.trace(function, (x,))
        assert tengen.equal(traced(x), function(x))
        assert tengen.func.vmap(function)(tengen.ones(4, 2, 3)).shape[0] == 4
