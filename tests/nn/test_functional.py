"""tengen.nn.functional, called as torch.nn.functional is, against it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.nn import functional as F

torch = pytest.importorskip("torch")
TF = torch.nn.functional
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


class Case:
    """A call of one function in both libraries: arrays become tensors, floating ones require grad."""

    def __init__(self, name: str, *args: Any, plain: tuple[str | int, ...] = (), **kwargs: Any) -> None:
        self.name, self.args, self.kwargs, self.plain = name, args, kwargs, plain

    def __repr__(self) -> str:
        return self.name

    def run(self, library: Any, functions: Any) -> tuple[Any, list[Any]]:
        """The result, and the tensors that require grad."""
        leaves: list[Any] = []

        def tensor(value: Any, key: str | int) -> Any:
            if not isinstance(value, np.ndarray):
                return value
            made = library.tensor(value.tolist(), dtype=getattr(library, str(value.dtype)))
            if value.dtype.kind == "f" and key not in self.plain:
                made.requires_grad_()
                leaves.append(made)
            return made

        args = [tensor(v, i) for i, v in enumerate(self.args)]
        kwargs = {k: tensor(v, k) for k, v in self.kwargs.items()}
        return getattr(functions, self.name)(*args, **kwargs), leaves


def rand(*shape: int, low: float = -2.0, high: float = 2.0, seed: int = 0) -> Any:
    return np.asarray(np.random.default_rng(sum(shape) + seed).uniform(low, high, shape))


def ints(*shape: int, high: int) -> Any:
    return np.asarray(np.random.default_rng(sum(shape)).integers(0, high, shape))


def unit(*shape: int, seed: int = 0) -> Any:
    return rand(*shape, low=0.05, high=0.95, seed=seed)


X, Y = rand(3, 4), rand(3, 4, seed=1)
IMAGE, VOLUME, LINE = rand(2, 4, 6, 5), rand(1, 2, 4, 3, 4), rand(2, 4, 7)
CASES = [
    Case("relu", X),
    Case("relu6", X * 5),
    Case("leaky_relu", X, 0.2),
    Case("leaky_relu", X, negative_slope=0.2),
    Case("elu", X, 0.7),
    Case("selu", X),
    Case("celu", X, 0.5),
    Case("gelu", X),
    Case("gelu", X, approximate="tanh"),
    Case("silu", X),
    Case("mish", X),
    Case("hardtanh", X, -0.5, 0.7),
    Case("hardswish", X * 3),
    Case("hardsigmoid", X * 3),
    Case("softplus", X, 2, 1),
    Case("logsigmoid", X),
    Case("threshold", X, 0.3, 1.5),
    Case("prelu", LINE, rand(4)),
    Case("prelu", X, rand(1)),
    Case("glu", X),
    Case("glu", LINE, 1),
    Case("softsign", X),
    Case("tanhshrink", X),
    Case("tanh", X),
    Case("sigmoid", X),
    Case("softmax", X, 1),
    Case("softmax", X, dim=0),
    Case("softmax", LINE),
    Case("log_softmax", X, -1),
    Case("softmin", X, 1),
    Case("dropout", X, 0.5, False),
    Case("dropout", X, 0.0),
    Case("dropout", X, 1.0),
    Case("alpha_dropout", X, 0.5),
    Case("dropout2d", IMAGE, 0.5, False),
    Case("mse_loss", X, Y),
    Case("mse_loss", X, Y, reduction="sum"),
    Case("mse_loss", X, rand(4)),
    Case("mse_loss", X, Y, None, False),
    Case("mse_loss", X, Y, weight=unit(3, 4)),
    Case("l1_loss", X, Y, reduction="none"),
    Case("smooth_l1_loss", X, Y, beta=0.5),
    Case("huber_loss", X, Y, reduction="sum", delta=0.5),
    Case("kl_div", np.log(unit(3, 4)), unit(3, 4, seed=1), reduction="batchmean"),
    Case("kl_div", X, Y, log_target=True),
    Case("binary_cross_entropy", unit(3, 4), unit(3, 4, seed=1)),
    Case("binary_cross_entropy", unit(3, 4), unit(3, 4, seed=1), unit(4), plain=(2,)),
    Case("binary_cross_entropy_with_logits", X * 9, unit(3, 4)),
    Case(
        "binary_cross_entropy_with_logits",
        X,
        unit(3, 4),
        unit(4),
        reduction="sum",
        pos_weight=unit(4) * 3,
        plain=(2, "pos_weight"),
    ),
    Case("nll_loss", X, ints(3, high=4)),
    Case("nll_loss", LINE, ints(2, 7, high=4), unit(4), ignore_index=1, plain=(2,)),
    Case("nll_loss", IMAGE, ints(2, 6, 5, high=4), reduction="none"),
    Case("nll_loss", rand(4), ints(high=4)),
    Case("cross_entropy", X, ints(3, high=4)),
    Case("cross_entropy", X, ints(3, high=4), unit(4), ignore_index=2, plain=(2,)),
    Case("cross_entropy", X, ints(3, high=4), reduction="sum", label_smoothing=0.2),
    Case("cross_entropy", X, ints(3, high=4), unit(4), ignore_index=2, label_smoothing=0.2, plain=(2,)),
    Case("cross_entropy", IMAGE, ints(2, 6, 5, high=4), reduction="none", label_smoothing=0.1),
    Case("cross_entropy", X, unit(3, 4), unit(4), label_smoothing=0.1, plain=(2,)),
    Case("cross_entropy", LINE, unit(2, 4, 7), reduction="sum"),
    Case("cross_entropy", rand(4), ints(high=4), unit(4), label_smoothing=0.1, plain=(2,)),
    Case("margin_ranking_loss", rand(5), rand(5, seed=1), np.array([1, -1, 1, 1, -1]), 0.3),
    Case("cosine_embedding_loss", X, Y, np.array([1, -1, 1]), 0.1),
    Case("conv1d", LINE, rand(6, 2, 3), rand(6), 2, 1, 2, 2),
    Case("conv2d", IMAGE, rand(3, 4, 3, 2), rand(3), (2, 1), (1, 0)),
    Case("conv2d", IMAGE, rand(4, 1, 3, 3), None, 1, "same", 1, 4),
    Case("conv2d", IMAGE, rand(2, 4, 2, 2), padding="valid"),
    Case("conv3d", VOLUME, rand(3, 2, 2, 2, 2), rand(3), padding=1),
    Case("conv_transpose1d", LINE, rand(4, 3, 3), rand(6), 2, 1, 1, 2),
    Case("conv_transpose2d", IMAGE, rand(4, 2, 3, 3), rand(2), stride=2, output_padding=1),
    Case("max_pool1d", LINE, 2),
    Case("max_pool2d", IMAGE, 2),
    Case("max_pool2d", IMAGE, (3, 2), None, 1, 1, True),
    Case("max_pool3d", VOLUME, 2, 1),
    Case("avg_pool1d", LINE, 3, 2, 1, True),
    Case("avg_pool2d", IMAGE, 3, 2, 1, True, False),
    Case("avg_pool2d", IMAGE, (2, 3), divisor_override=4),
    Case("avg_pool3d", VOLUME, 2),
    Case("adaptive_avg_pool1d", LINE, 3),
    Case("adaptive_avg_pool2d", IMAGE, (4, 2)),
    Case("adaptive_avg_pool2d", IMAGE, (None, 2)),
    Case("adaptive_avg_pool2d", IMAGE, 1),
    Case("batch_norm", IMAGE, None, None, training=True),
    Case("batch_norm", X, unit(4), unit(4, seed=1), rand(4), rand(4), False, 0.1, 1e-3, plain=(1, 2)),
    Case("instance_norm", IMAGE),
    Case("instance_norm", IMAGE, unit(4), unit(4), rand(4), rand(4), False, plain=(1, 2)),
    Case("layer_norm", X, (4,), rand(4), rand(4)),
    Case("layer_norm", IMAGE, [6, 5]),
    Case("rms_norm", X, (4,), rand(4)),
    Case("group_norm", IMAGE, 2, rand(4), rand(4), 1e-3),
    Case("normalize", X),
    Case("normalize", LINE, 1.0, 2),
    Case("cosine_similarity", X, Y),
    Case("pairwise_distance", X, Y, 1.0),
    Case("embedding", ints(2, 3, high=5), rand(5, 3)),
    Case("embedding", ints(2, 3, high=5), rand(5, 3), -2, scale_grad_by_freq=True),
    Case("linear", X, rand(5, 4), rand(5)),
    Case("one_hot", ints(3, high=4), 5),
    Case("pad", X, (1, 2), value=0.5),
    Case("pad", IMAGE, (1, 2, 0, 1), mode="reflect"),
    Case("pad", IMAGE, (1, 2, 0, 1), "replicate"),
    Case("pad", LINE, (3, 2), mode="circular"),
    Case("pixel_shuffle", IMAGE, 2),
    Case("pixel_unshuffle", rand(1, 2, 4, 6), 2),
    Case("interpolate", IMAGE, scale_factor=2),
    Case("interpolate", IMAGE, (4, 9)),
    Case("interpolate", LINE, scale_factor=1.7, mode="nearest-exact"),
    Case("interpolate", IMAGE, scale_factor=(1.5, 0.7)),
    Case("interpolate", IMAGE, size=3, mode="area"),
    Case("scaled_dot_product_attention", rand(2, 3, 4), rand(2, 5, 4), rand(2, 5, 6)),
    Case("scaled_dot_product_attention", rand(2, 3, 4), rand(2, 5, 4), rand(2, 5, 6), rand(3, 5)),
    Case("scaled_dot_product_attention", rand(3, 4), rand(3, 4), rand(3, 2), is_causal=True, scale=0.3),
]


def same(ours: Any, theirs: Any) -> None:
    ours, theirs = ours.detach().numpy(), theirs.detach().numpy()
    assert ours.shape == theirs.shape
    assert ours.dtype == theirs.dtype
    # Some of torch's constants (the sixth of hardsigmoid) have float32's precision.
    np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_value_and_gradient(case: Case) -> None:
    ours, leaves = case.run(tengen, F)
    theirs, their_leaves = case.run(torch, TF)
    same(ours, theirs)
    assert ours.requires_grad is theirs.requires_grad
    if not theirs.requires_grad:
        return
    weight = np.random.default_rng(9).uniform(-1, 1, theirs.shape)
    gradients = tengen.autograd.grad(ours, leaves, tengen.tensor(weight), allow_unused=True)
    expected = torch.autograd.grad(theirs, their_leaves, torch.tensor(weight), allow_unused=True)
    for a, b in zip(gradients, expected, strict=True):
        same(a, b)


INPLACE = [
    Case("relu", X),
    Case("relu6", X),
    Case("leaky_relu", X, 0.2),
    Case("elu", X),
    Case("selu", X),
    Case("celu", X, 0.5),
    Case("silu", X),
    Case("mish", X),
    Case("hardtanh", X),
    Case("hardswish", X),
    Case("hardsigmoid", X),
    Case("threshold", X, 0.3, 1.5),
    Case("dropout", X, 0.0),
]


@pytest.mark.parametrize("case", INPLACE, ids=str)
def test_inplace(case: Case) -> None:
    results = []
    for library, functions in ((tengen, F), (torch, TF)):
        leaf = library.tensor(X.tolist(), dtype=library.float64, requires_grad=True)
        x = leaf * 1.5
        out = getattr(functions, case.name)(x, *case.args[1:], inplace=True)
        assert out is x
        (out * out).sum().backward()
        results.append((x, leaf.grad))
    for a, b in zip(*results, strict=True):
        same(a, b)


def both(call: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    return call(tengen, F), call(torch, TF)


def test_max_pool_indices() -> None:
    for shape, name in ((LINE, "max_pool1d"), (IMAGE, "max_pool2d"), (VOLUME, "max_pool3d")):
        for suffix, keywords in (("", {"return_indices": True}), ("_with_indices", {})):
            ours, theirs = both(
                lambda lib, fun, n=name + suffix, s=shape, k=keywords: getattr(fun, n)(
                    lib.tensor(s.tolist()), 2, **k
                )
            )
            assert type(ours) is tuple
            for a, b in zip(ours, theirs, strict=True):
                assert a.dtype is not None and a.numpy().dtype == b.numpy().dtype
                np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_running_statistics() -> None:
    def run(library: Any, functions: Any) -> Any:
        mean, var = library.zeros(4), library.ones(4)
        x = library.tensor(IMAGE.tolist(), dtype=library.float32, requires_grad=True)
        out = functions.batch_norm(x, mean, var, training=True, momentum=0.3)
        (out * out * out).sum().backward()
        functions.instance_norm(x, mean, var, momentum=0.2)
        return mean, var, x.grad

    for a, b in zip(*both(run), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-5)


def test_embedding_max_norm() -> None:
    def run(library: Any, functions: Any) -> Any:
        weight = library.tensor(rand(5, 3).tolist())
        out = functions.embedding(library.tensor([0, 3, 3]), weight, max_norm=1.0)
        return out, weight

    for a, b in zip(*both(run), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)


@pytest.mark.parametrize("dims", [2, 3])
def test_fractional_pools_of_no_windows_and_wrong_arguments(dims: int) -> None:
    def run(library: Any, functions: Any) -> Any:
        pool = getattr(functions, f"fractional_max_pool{dims}d")
        x = library.ones((1, 2) + (5,) * dims, requires_grad=True)
        samples = library.full((1, 2, dims), 0.5)
        sizes = [0, (0,) + (2,) * (dims - 1), (3,) * (dims - 1) + (0,)]
        empty = [pool(x, 2, output_size=size, _random_samples=samples) for size in sizes]
        sum([y.sum() for y in empty]).backward()
        refused = [
            (x, (2,) * (dims + 1), 2, samples),
            (x, 2, (2,) * (dims + 1), samples),
            (x, 2, -1, samples),
            (x, 5, 3, samples),
            (x, 2, 2, samples.double()),
            (x, 2, 2, samples[..., 1:]),
            (x, 2, 2, samples[:, :1]),
            (x, 2, 2, samples[0]),
        ]
        for given, kernel, size, drawn in refused:
            with pytest.raises(RuntimeError):
                pool(given, kernel, output_size=size, _random_samples=drawn)
        return [tuple(y.shape) for y in empty], x.grad.sum().item()

    ours, theirs = both(run)
    assert ours == theirs and ours[1] == 0


def test_scaling_rows_down_is_no_part_of_derivatives() -> None:
    """Gradients and tangents are those of the rows as they are afterwards."""
    indices = tengen.tensor([[1, 2, 1]])
    for function, used in ((F.embedding, [0.0, 2.0, 1.0, 0.0]), (F.embedding_bag, [0.0, 2.0, 1.0, 0.0])):

        def total(weight: Any, function: Any = function) -> Any:
            return function(indices, weight, max_norm=1.0).sum() * (3 if function is F.embedding_bag else 1)

        weight = tengen.full((4, 2), 2.0, requires_grad=True)
        total(weight).backward()
        assert weight.grad is not None and weight.grad[:, 0].tolist() == used
        with tengen.autograd.forward_ad.dual_level() as level:
            start = tengen.full((4, 2), 2.0)
            dual = tengen.autograd.forward_ad.make_dual(start, tengen.ones(4, 2))
            tangent = tengen.autograd.forward_ad.unpack_dual(total(dual), level=level).tangent
            assert tangent is not None and tangent.item() == 6.0
            kept = tengen.autograd.forward_ad.unpack_dual(dual, level=level).tangent
            assert kept is not None and kept.tolist() == [[1.0, 1.0]] * 4
        assert start.tolist() == weight.tolist()
        assert tengen.func.jacfwd(total)(tengen.full((4, 2), 2.0))[:, 0].tolist() == used


def test_masked_attention() -> None:
    mask = np.array([[True, False, True], [False, False, False]])

    def run(library: Any, functions: Any) -> Any:
        q, k, v = (library.tensor(rand(n, 4, seed=n).tolist(), requires_grad=True) for n in (2, 3, 3))
        out = functions.scaled_dot_product_attention(q, k, v, attn_mask=library.tensor(mask.tolist()))
        out.sum().backward()
        return out.detach(), v.grad, q.grad

    ours, theirs = both(run)
    for a, b in zip(ours[:2], theirs[:2], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert not ours[0].numpy()[1].any()
    assert np.isfinite(ours[2].numpy()).all()


ERRORS: list[tuple[str, Callable[[Any, Any], Any]]] = [
    ("reduction", lambda t, f: f.mse_loss(t.ones(3), t.ones(3), reduction="max")),
    ("hardtanh", lambda t, f: f.hardtanh(t.ones(3), 2.0, 1.0)),
    ("dropout", lambda t, f: f.dropout(t.ones(3), 1.5)),
    ("dropout1d", lambda t, f: f.dropout1d(t.ones(3), 0.5)),
    ("sizes", lambda t, f: f.binary_cross_entropy(t.ones(3), t.ones(2))),
    ("logits", lambda t, f: f.binary_cross_entropy_with_logits(t.ones(3), t.ones(2))),
    ("probability", lambda t, f: f.binary_cross_entropy(t.ones(3) * 2, t.ones(3))),
    ("class", lambda t, f: f.cross_entropy(t.ones(3, 2), t.tensor([0, 1, 2]))),
    ("batch", lambda t, f: f.cross_entropy(t.ones(3, 2), t.tensor([0, 1]))),
    ("smoothing", lambda t, f: f.cross_entropy(t.ones(3, 2), t.tensor([0, 1, 1]), label_smoothing=2.0)),
    ("one value", lambda t, f: f.batch_norm(t.ones(1, 3), None, None, training=True)),
    ("one place", lambda t, f: f.instance_norm(t.ones(2, 3, 1))),
    ("one group", lambda t, f: f.group_norm(t.ones(1, 2), 2)),
    ("groups", lambda t, f: f.group_norm(t.ones(2, 4), 3)),
    ("statistics", lambda t, f: f.batch_norm(t.ones(2, 3), None, None)),
    ("padding_idx", lambda t, f: f.embedding(t.tensor([1]), t.ones(3, 2), 3)),
    ("index", lambda t, f: f.embedding(t.tensor([3]), t.ones(3, 2))),
    ("mode", lambda t, f: f.pad(t.ones(2, 2), (1, 1), mode="mirror")),
    ("reflect", lambda t, f: f.pad(t.ones(2, 2), (2, 2), mode="reflect")),
    ("channels", lambda t, f: f.conv2d(t.ones(1, 3, 4, 4), t.ones(1, 2, 2, 2))),
    ("strided same", lambda t, f: f.conv2d(t.ones(1, 2, 4, 4), t.ones(1, 2, 2, 2), stride=2, padding="same")),
    ("pool pad", lambda t, f: f.max_pool2d(t.ones(1, 2, 4, 4), 2, padding=2)),
    (
        "causal",
        lambda t, f: f.scaled_dot_product_attention(*[t.ones(2, 2)] * 3, t.ones(2, 2), is_causal=True),
    ),
    ("one-hot", lambda t, f: f.one_hot(t.tensor([3]), 2)),
    ("scale", lambda t, f: f.interpolate(t.ones(1, 1, 2), size=3, scale_factor=2)),
    ("softmax of integers", lambda t, f: f.softmax(t.tensor([1, 2]), 0)),
    ("softmax dim", lambda t, f: f.softmax(t.ones(2), 1)),
    ("dtypes", lambda t, f: f.conv2d(t.ones(1, 1, 2, 2), t.ones(1, 1, 2, 2, dtype=t.float64))),
    ("celu", lambda t, f: f.celu(t.ones(2), 0.0)),
]


@pytest.mark.parametrize("call", [c for _, c in ERRORS], ids=[n for n, _ in ERRORS])
def test_errors(call: Callable[[Any, Any], Any]) -> None:
    with pytest.raises(Exception) as theirs:
        call(torch, TF)
    with pytest.raises(theirs.type):
        call(tengen, F)


def test_warnings() -> None:
    for call in (
        lambda: F.mse_loss(tengen.ones(3, 1), tengen.ones(3)),
        lambda: F.softmax(tengen.ones(3)),
        lambda: F.kl_div(tengen.ones(3), tengen.ones(3)),
        lambda: F.mse_loss(tengen.ones(3), tengen.ones(3), size_average=False),
    ):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call()
        assert len(caught) == 1 and caught[0].filename == __file__


def test_reduced_precision() -> None:
    for dtype in ("float16", "bfloat16"):

        def run(library: Any, functions: Any, dtype: str = dtype) -> Any:
            kind = getattr(library, dtype)
            x = library.tensor(IMAGE.tolist(), dtype=kind, requires_grad=True)
            w = library.tensor((rand(3, 4, 3, 3) / 4).tolist(), dtype=kind, requires_grad=True)
            out = functions.max_pool2d(functions.gelu(functions.conv2d(x, w, padding=1)), 2)
            loss = functions.cross_entropy(out.flatten(1), library.tensor([0, 1]))
            loss.backward()
            return out.detach(), loss.detach(), x.grad, w.grad

        for a, b in zip(*both(run), strict=True):
            assert str(a.dtype).split(".")[-1] == dtype
            np.testing.assert_allclose(a.to(tengen.float32).numpy(), b.float().numpy(), rtol=0.02, atol=0.01)
