"""The kernels of pooling against PyTorch's functions and their gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nn_oracle import check, check_gradients, leaf, rand

from tengen.kernels.nn import (
    pooling,
)

torch = pytest.importorskip("torch")
F = torch.nn.functional
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore::RuntimeWarning")]


MAX_POOLS = [
    # input, kernel, stride, padding, dilation, ceil_mode
    ((2, 3, 8, 7), (2, 2), (), (0, 0), (1, 1), False),
    ((2, 3, 8, 7), (2, 2), (), (0, 0), (1, 1), True),
    ((3, 8, 7), (3, 2), (2, 1), (1, 1), (1, 1), False),
    ((2, 3, 8, 7), (3, 3), (2, 2), (1, 1), (2, 2), True),
    ((1, 2, 9), (3,), (2,), (1,), (1,), True),
    ((1, 2, 5, 6, 4), (2, 3, 2), (), (1, 1, 0), (1, 1, 1), True),
    ((0, 3, 8, 7), (2, 2), (), (0, 0), (1, 1), False),
]


def test_max_pool_of_many_taps() -> None:
    """More taps than a byte numbers; equal maxima in other rows and columns."""
    for kernel, shape in (((20, 17), (2, 3, 45, 40)), ((16, 16), (1, 2, 33, 34))):
        x = np.round(rand(*shape))
        out, indices = F.max_pool2d(torch.tensor(x), kernel, 3, (5, 2), 1, False, True)
        ours, our_indices = pooling.max_pool2d_forward(x, kernel, 3, (5, 2), 1, False)
        check(ours, out)
        check(our_indices, indices)


def test_both_forms_of_max_pool_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    """A native kernel for few elements, and passes over the image for many."""
    rng = np.random.default_rng(8)
    for shape, *geometry in (
        ((2, 3, 8, 9), (3, 2), (2, 1), (1, 1), (2, 1), True),
        ((2, 9), 3, 2, 1, 1, False),
        ((3, 1, 1), 2, 1, 1, 2, False),  # windows that see nothing
    ):
        dims = 2 if len(shape) > 2 else 1
        x = rng.integers(-2, 3, shape).astype("float32")
        x[..., 0] = np.nan
        few = getattr(pooling, f"max_pool{dims}d_forward")(x, *geometry)
        with monkeypatch.context() as patch:
            patch.setattr(pooling, "WINDOWS_FEW", 0)
            many = getattr(pooling, f"max_pool{dims}d_forward")(x, *geometry)
        for a, b in zip(few, many, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def named(name: str) -> tuple[Any, Any, Any]:
    """Our forward and backward kernels, and PyTorch's function."""
    return getattr(pooling, f"{name}_forward"), getattr(pooling, f"{name}_backward"), getattr(F, name)


@pytest.mark.parametrize("case", MAX_POOLS, ids=str)
def test_max_pool(case: Any) -> None:
    shape, kernel, stride, *rest = case
    dims = len(kernel)
    forward, backward, function = named(f"max_pool{dims}d")
    x = rand(*shape)
    tied = np.round(x)
    extreme = x.copy()
    extreme.reshape(-1)[1::3] = np.nan
    extreme.reshape(-1)[::4] = -np.inf
    low = np.full(shape, -np.inf)
    for values in (
        x,
        tied,
        extreme,
        low,
        x.astype(np.float32),
        (x * 10).astype(np.int64),
        (x * 10).astype(np.uint8),
    ):
        t = torch.tensor(values, requires_grad=values.dtype.kind == "f")
        padding_, dilation, ceil_mode = rest
        out, indices = function(t, kernel, stride or None, padding_, dilation, ceil_mode, True)
        ours, our_indices = forward(values, kernel, stride, *rest)
        check(ours, out)
        check(our_indices, indices)
        if values.dtype.kind == "f":
            grad = rand(*out.shape, dtype=values.dtype)
            check_gradients([backward(grad, values, kernel, stride, *rest, our_indices)], out, [t], grad)


AVG_POOLS = [
    ((2, 3, 8, 7), (2, 2), (), (0, 0), False, True, None),
    ((2, 3, 8, 7), (3, 2), (2, 1), (1, 1), False, True, None),
    ((2, 3, 8, 7), (3, 3), (2, 2), (1, 1), True, True, None),
    ((3, 8, 7), (3, 3), (2, 2), (1, 1), True, False, None),
    ((2, 3, 8, 7), (3, 3), (2, 2), (1, 1), True, False, 5),
    ((2, 3, 8, 7), (2, 2), (3, 3), (1, 1), True, True, -2),
    ((1, 2, 5, 6, 4), (2, 3, 2), (), (1, 1, 0), True, False, None),
]


@pytest.mark.parametrize("case", AVG_POOLS, ids=str)
def test_avg_pool(case: Any) -> None:
    shape, kernel, stride, *rest = case
    dims = len(kernel)
    forward, backward, function = named(f"avg_pool{dims}d")
    for x in (rand(*shape), rand(*shape, dtype=np.float32)):
        t = leaf(x)
        out = function(t, kernel, stride or None, *rest)
        check(forward(x, kernel, stride, *rest), out)
        grad = rand(*out.shape, dtype=x.dtype)
        check_gradients([backward(grad, x, kernel, stride, *rest)], out, [t], grad)
    if dims == 2:
        whole = (rand(*shape) * 10).astype(np.int64)
        check(
            forward(whole, kernel, stride, *rest),
            function(torch.tensor(whole), kernel, stride or None, *rest),
        )


@pytest.mark.parametrize("shape", [(2, 3, 8, 7), (3, 5, 4)])
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (8, 7), (11, 5), (3, 1), (0, 2)])
def test_adaptive_avg_pool(shape: Any, size: Any) -> None:
    x = rand(*shape)
    t = leaf(x)
    out = F.adaptive_avg_pool2d(t, size)
    check(pooling.adaptive_avg_pool2d_forward(x, size), out)
    if not out.numel():
        assert not pooling.adaptive_avg_pool2d_backward(out.detach().numpy(), x, size).any()
        return
    grad = rand(*out.shape)
    check_gradients([pooling.adaptive_avg_pool2d_backward(grad, x, size)], out, [t], grad)


@pytest.mark.parametrize(
    ("shape", "args"),
    [
        ((1, 3, 4, 4), ((2, 2), (0, 0), (0, 0), (1, 1), False)),
        ((1, 3, 4, 4), ((2, 2), (), (2, 2), (1, 1), False)),
        ((4, 4), ((2, 2), (), (0, 0), (1, 1), False)),
        ((1, 3, 4, 4), ((5, 5), (), (0, 0), (1, 1), False)),
        ((1, 3, 4, 4), ((2, 2, 2), (), (0, 0), (1, 1), False)),
        ((1, 3, 4, 4), ((2, 2), (), (0, 0), (0, 1), False)),
        ((1, 0, 4, 4), ((2, 2), (), (0, 0), (1, 1), False)),
    ],
)
def test_pool_errors(shape: Any, args: Any) -> None:
    with pytest.raises(RuntimeError):
        torch.ops.aten.max_pool2d_with_indices(torch.tensor(rand(*shape)), *args)
    with pytest.raises(RuntimeError):
        pooling.max_pool2d_forward(rand(*shape), *args)
