"""The nn kernels, arrays in and arrays out, against PyTorch's functions and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nn_oracle import check, check_gradients, leaf, rand

import tengen
from tengen.kernels import scatter
from tengen.kernels.nn import (
    activation,
    batch_norm,
    dropout,
    embedding,
    loss,
    normalization,
)

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


ACTIVATIONS = [
    ("gelu", {"approximate": "none"}, lambda x: F.gelu(x)),
    ("gelu", {"approximate": "tanh"}, lambda x: F.gelu(x, approximate="tanh")),
    ("leaky_relu", (0.1,), lambda x: F.leaky_relu(x, 0.1)),
    ("leaky_relu", (2.0,), lambda x: F.leaky_relu(x, 2.0)),
    ("leaky_relu", (-1.0,), lambda x: F.leaky_relu(x, -1.0)),
    ("hardtanh", (-0.5, 1.0), lambda x: F.hardtanh(x, -0.5, 1.0)),
    ("softplus", (2.0, 1.0), lambda x: F.softplus(x, 2.0, 1.0)),
    ("elu", (1.5, 2.0, 0.5), lambda x: torch._C._nn.elu(x, 1.5, 2.0, 0.5)),
    ("silu", (), F.silu),
    ("mish", (), F.mish),
    ("log_sigmoid", (), F.logsigmoid),
    ("glu", (1,), lambda x: F.glu(x, 1)),
    ("glu", (-3,), lambda x: F.glu(x, 0)),
]
EXTREMES = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, 100.0, -100.0, 1e4, -1e4])


def kernel(name: str, suffix: str) -> Any:
    """A kernel over arrays: the function of its name, or what the operator computes whose entry has it."""
    written = getattr(activation, name + suffix, None)
    operator = getattr(tengen.ops.aten, name + suffix.removeprefix("_forward"))

    def called(*given: Any) -> Any:
        tensors = [tengen.tensor(x) if isinstance(x, np.ndarray) else x for x in given]
        named = tensors.pop() if tensors[-1].__class__ is dict else {}
        return operator(*tensors, **named).numpy()

    return written or called


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("name", "args", "function"), ACTIVATIONS)
def test_activation(name: str, args: Any, function: Any, dtype: Any) -> None:
    forward, backward = kernel(name, "_forward"), kernel(name, "_backward")
    samples = [rand(4, 6, 3, dtype=dtype), rand(2, 6, 1, dtype=dtype)]
    if name != "glu":
        # torch's vectorised gelu, silu and mish give NaN at infinity
        extremes = EXTREMES[~np.isinf(EXTREMES)] if name in ("gelu", "silu", "mish") else EXTREMES
        if name in ("elu", "hardtanh"):  # their gradients at NaN depend on where in the array it stands
            extremes = EXTREMES[~np.isnan(EXTREMES)]
        samples += [rand(dtype=dtype), rand(0, 3, dtype=dtype), extremes.astype(dtype)]
    given = (args,) if args.__class__ is dict else args
    for x in samples:
        t = leaf(x)
        out = function(t)
        with np.errstate(all="ignore"):
            check(forward(x, *given), out)
            grad = rand(*out.shape, dtype=dtype)
            check_gradients([backward(grad, x, *given)], out, [t], grad)


def test_loss_errors() -> None:
    x = tengen.tensor([0.5, 0.25])
    for given, text in (
        ((x * 3, x), "all elements of input should be between 0 and 1"),
        ((x, -x), "all elements of target should be between 0 and 1"),
        ((x, x[:1]), "different to the input size"),
    ):
        with pytest.raises(RuntimeError, match=text):
            tengen.ops.aten.binary_cross_entropy(*given)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("weighted", [False, True])
def test_binary_cross_entropy(reduction: str, weighted: bool) -> None:
    """Its values, gradients, and what these move by."""
    x, y, w = rand(3, 4, low=0.05, high=0.95), rand(3, 4, low=0, high=1), rand(4, low=0, high=2)

    def found(m: Any) -> list[Any]:
        given = [m.tensor(a, requires_grad=True) for a in (x, y)]
        weight = m.tensor(w) if weighted else None
        out = m.nn.functional.binary_cross_entropy(*given, weight, reduction=reduction)
        first = m.autograd.grad((out * out).sum(), given, create_graph=True)
        second = m.autograd.grad((first[0] * first[0]).sum() + first[1].sum(), given)
        return [out.detach(), *[g.detach() for g in first], *second]

    for ours, theirs in zip(found(tengen), found(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-9)  # torch adds 1e-12 to x and 1 - x


def test_binary_cross_entropy_at_the_ends() -> None:
    x, y = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 1.0, 0.0, 1.0])

    def found(m: Any) -> list[Any]:
        given = m.tensor(x, requires_grad=True)
        out = m.nn.functional.binary_cross_entropy(given, m.tensor(y), reduction="none")
        return [out.detach(), *m.autograd.grad(out, given, m.ones(4, dtype=m.float64))]

    for ours, theirs in zip(found(tengen), found(torch), strict=True):
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-7)  # the floor is a float32 constant


def test_binary_cross_entropy_with_logits() -> None:
    x, y, w, p = rand(3, 4) * 20, rand(3, 4, low=0, high=1), rand(4, low=0, high=2), rand(3, 1, low=0, high=3)
    for weight in (None, w):
        for pos_weight in (None, p):
            for reduction in (0, 1, 2):
                args = [None if a is None else torch.tensor(a) for a in (weight, pos_weight)]
                theirs = torch.binary_cross_entropy_with_logits(
                    torch.tensor(x), torch.tensor(y), *args, reduction
                )
                given = [None if a is None else tengen.tensor(a) for a in (x, y, weight, pos_weight)]
                check(tengen.binary_cross_entropy_with_logits(*given, reduction).numpy(), theirs)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_nll_loss(reduction: int, weighted: bool) -> None:
    weight = rand(4, low=0, high=2) if weighted else None
    w = None if weight is None else torch.tensor(weight)
    for x, target in (
        (rand(5, 4), np.array([0, 3, 1, -1, 2])),
        (rand(4), np.array(2)),
        (rand(4), np.array([2])),
        (rand(2, 4), np.array([-1, -1])),
        (rand(0, 4), np.zeros(0, np.int64)),
    ):
        s = leaf(x)
        out, total = torch.ops.aten.nll_loss_forward(s, torch.tensor(target), w, reduction, -1)
        ours, our_total = loss.nll_forward(loss.checked_nll(x, target, weight), target, weight, reduction, -1)
        check(ours, out)
        check(our_total, total)
        if x.ndim == target.ndim:  # torch's backward refuses what its forward took
            continue
        grad = rand(*out.shape)
        check_gradients(
            [loss.nll_backward(grad, x, target, weight, reduction, -1, our_total)], out, [s], grad
        )


@pytest.mark.parametrize("reduction", [0, 1, 2])
def test_nll_loss2d(reduction: int) -> None:
    x, target = rand(2, 4, 3, 2), np.random.default_rng(0).integers(0, 4, (2, 3, 2))
    weight = rand(4, low=0, high=2)
    s = leaf(x)
    out = torch._C._nn.nll_loss2d(s, torch.tensor(target), torch.tensor(weight), reduction, 2)
    ours, total = loss.nll_forward(loss.checked_nll2d(x, target, weight), target, weight, reduction, 2)
    check(ours, out)
    grad = rand(*out.shape)
    check_gradients([loss.nll_backward(grad, x, target, weight, reduction, 2, total)], out, [s], grad)


def test_nll_errors() -> None:
    x = rand(3, 4)
    for target, error in (
        (np.array([0, 4, 0]), IndexError),
        (np.array([0, -2, 0]), IndexError),
        (np.array([0.0, 1, 0]), RuntimeError),
        (np.array([0, 1]), RuntimeError),
        (np.array([[0, 1, 1]]), RuntimeError),
    ):
        with pytest.raises(error):
            loss.nll_forward(loss.checked_nll(x, target, None), target, None, 1, -100)
    with pytest.raises(RuntimeError, match="all 4 classes"):
        loss.checked_nll(x, np.array([0, 1, 1]), rand(3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_softmax(dtype: Any) -> None:
    for x, dim in ((rand(3, 4, dtype=dtype), 1), (rand(3, 4, 2, dtype=dtype), -2), (rand(dtype=dtype), 0)):
        for ours, gradient, theirs in (
            (tengen._softmax, tengen._softmax_backward_data, torch.softmax),
            (tengen._log_softmax, tengen._log_softmax_backward_data, torch.log_softmax),
        ):
            t = leaf(x * 50)
            out = theirs(t, dim)
            result = ours(tengen.from_numpy(np.asarray(x * 50)), dim, False).numpy()
            check(result, out)
            grad = rand(*x.shape, dtype=dtype)
            given = [tengen.from_numpy(np.asarray(a)) for a in (grad, result)]
            check_gradients([gradient(*given, dim, given[0].dtype).numpy()], out, [t], grad)
    assert tengen.rand(0, 3).softmax(0).shape == (0, 3)
    with pytest.raises(IndexError):
        tengen.rand(3).softmax(1)


def test_layer_norm() -> None:
    for x, shape in ((rand(3, 4), (4,)), (rand(2, 3, 4), (3, 4)), (rand(0, 4), (4,))):
        w, b = rand(*shape), rand(*shape) / 2
        for weight, bias in ((w, b), (None, b), (w, None), (None, None)):
            s = leaf(x)
            t, u = (None if a is None else leaf(a) for a in (weight, bias))
            out, mean, rstd = torch.native_layer_norm(s, shape, t, u, 1e-5)
            given = [None if a is None else tengen.from_numpy(a) for a in (x, weight, bias)]
            normal = tengen.native_layer_norm(given[0], shape, *given[1:], 1e-5)
            ours, our_mean, our_rstd = [t.numpy() for t in normal]
            check(ours, out)
            check(our_mean, mean)
            check(our_rstd, rstd)
            grad = rand(*x.shape)
            wanted = [(s, 0), *[(p, i + 1) for i, p in enumerate((t, u)) if p is not None]]
            given = [tengen.from_numpy(grad), given[0], shape, *normal[1:], *given[1:]]
            got = tengen.ops.aten.native_layer_norm_backward(*given, [True] * 3)
            check_gradients([got[i].numpy() for _, i in wanted], out, [p for p, _ in wanted], grad)
    with pytest.raises(RuntimeError, match="expected input with shape"):
        tengen.native_layer_norm(tengen.rand(3, 4), (3,), None, None, 1e-5)


def test_group_norm() -> None:
    for x, groups in ((rand(2, 6, 3, 2), 3), (rand(3, 4), 2), (rand(2, 4, 5), 1)):
        w, b = rand(x.shape[1]), rand(x.shape[1]) / 2
        places = int(np.prod(x.shape[2:]))
        s, t, u = leaf(x), leaf(w), leaf(b)
        sizes = (*x.shape[:2], places, groups)
        out, mean, rstd = torch.native_group_norm(s, t, u, *sizes, 1e-5)
        ours, our_mean, our_rstd = normalization.native_group_norm(x, w, b, *sizes, 1e-5)
        check(ours, out)
        check(our_mean, mean)
        check(our_rstd, rstd)
        grad = rand(*x.shape)
        got = normalization.native_group_norm_backward(grad, x, our_mean, our_rstd, w, *sizes, [True] * 3)
        check_gradients(got, out, [s, t, u], grad)


@pytest.mark.parametrize("training", [False, True])
def test_batch_norm(training: bool) -> None:
    for x in (rand(4, 3), rand(2, 3, 4, 2), rand(2, 3, 5)):
        w, b, running_mean, running_var = rand(3), rand(3) / 2, rand(3) / 3, rand(3, low=0.5)
        s, t, u = leaf(x), leaf(w), leaf(b)
        theirs_mean, theirs_var = torch.tensor(running_mean), torch.tensor(running_var)
        out = F.batch_norm(s, theirs_mean, theirs_var, t, u, training, 0.2, 1e-3)
        got = batch_norm.batch_norm_with_stats(x, w, b, running_mean, running_var, training, 1e-3)
        check(got[0], out)
        if training:
            check(running_mean * 0.8 + got[1] * 0.2, theirs_mean)
            check(running_var * 0.8 + got[3] * 0.2, theirs_var)
        grad = rand(*x.shape)
        gradients = batch_norm.native_batch_norm_backward(
            grad, x, w, running_mean, running_var, got[1], got[2], training, 1e-3, [True] * 3
        )
        check_gradients(gradients, out, [s, t, u], grad)
    with pytest.raises(RuntimeError, match="running_mean should contain 3 elements not 2"):
        batch_norm.batch_norm_with_stats(rand(4, 3), None, None, rand(2), None, True, 1e-5)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("padding_idx", [-1, 2])
def test_embedding(scale: bool, padding_idx: int) -> None:
    weight, indices = rand(6, 3), np.array([[1, 2, 2], [5, 1, 1]])
    t = leaf(weight)
    out = torch.embedding(t, torch.tensor(indices), padding_idx, scale)
    check(scatter.gather_slices(embedding.check_table, weight, 0, indices, True), out)
    grad = rand(*out.shape)
    added = (scatter.check_scatter_whole, np.zeros((6, 3)), 0, indices, grad, "sum", True, True, 1)
    got = scatter.scatter_slices(*added, scale, padding_idx)
    check_gradients([got], out, [t], grad)


def test_embedding_errors() -> None:
    for index, error in ((3, IndexError), (-1, IndexError), (1.0, RuntimeError)):
        with pytest.raises(error):
            scatter.gather_slices(embedding.check_table, rand(3, 2), 0, np.array([index]), True)
    with pytest.raises(RuntimeError, match="2-D"):
        scatter.gather_slices(embedding.check_table, rand(3), 0, np.array([1]), True)


def test_dropout() -> None:
    x = np.ones((200, 200), np.float32)
    out, kept = dropout.native_dropout(x, 0.25, True)
    assert out.dtype == np.float32 and abs(kept.mean() - 0.75) < 0.02
    np.testing.assert_allclose(out, kept / np.float32(0.75), rtol=1e-6)
    back = tengen.ops.aten.native_dropout_backward(tengen.tensor(x), tengen.tensor(kept), 1 / 0.75)
    np.testing.assert_allclose(back.numpy(), out, rtol=1e-6)
    assert (dropout.native_dropout(x, 0.5, False)[0] == x).all()
    assert not dropout.native_dropout(x, 1.0, True)[0].any()
    with pytest.raises(RuntimeError):
        dropout.native_dropout(x, 1.5, True)
