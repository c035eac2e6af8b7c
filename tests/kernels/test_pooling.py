"""The kernels of pooling against PyTorch's functions and their gradients."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from nn_oracle import check, check_gradients, leaf, rand

import tengen
from tengen.generated import moves as forms
from tengen.kernels import window_maxima as maxima, window_sums as sums
from tengen.kernels.meta import windows as meta
from tengen.kernels.meta.array import MetaArray

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
        ours, our_indices = maxima.maxima_of_windows(forms.max_pool2d_forward, x, kernel, 3, (5, 2), 1, False)
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
        forward, _, _ = named(f"max_pool{dims}d")
        few = forward(x, *geometry)
        with monkeypatch.context() as patch:
            patch.setattr(maxima, "WINDOWS_FEW", 0)
            many = forward(x, *geometry)
        for a, b in zip(few, many, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


def named(name: str) -> tuple[Any, Any, Any]:
    """Our forward and backward kernels, and PyTorch's function."""
    form = getattr(forms, f"{name}_forward", None) or getattr(forms, name)
    kernels = maxima if "max" in name else sums
    which = "maxima" if "max" in name else "sums"
    forward, backward = [getattr(kernels, f"{which}_of_windows{suffix}") for suffix in ("", "_back")]

    def back(grad: Any, x: Any, *arguments: Any) -> Any:
        *others, last = arguments  # indices come last in operators
        given = (last, *others) if kernels is maxima else arguments
        return backward(form, grad, x.shape, *given)

    return partial(forward, form), back, getattr(F, name)


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
@pytest.mark.parametrize("size", [(1, 1), (2, 3), (8, 7), (11, 5), (3, 1), (4, 2), (0, 2)])
def test_adaptive_pools(shape: Any, size: Any) -> None:
    """Windows that are alike, and windows that differ."""
    x = rand(*shape)
    t = leaf(x)
    forward, backward, function = named("adaptive_avg_pool2d")
    out = function(t, size)
    check(forward(x, size), out)
    largest, _, function = named("adaptive_max_pool2d")
    tied = np.round(x)
    tied[..., 0, 1] = np.nan
    for values in (x, tied):
        for ours, theirs in zip(
            largest(values, size), function(torch.tensor(values), size, True), strict=True
        ):
            check(ours, theirs)
    if not out.numel():
        assert not backward(out.detach().numpy(), x, size).any()
        return
    grad = rand(*out.shape)
    check_gradients([backward(grad, x, size)], out, [t], grad)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_maxima_of_all_floating_types(dtype: str) -> None:
    """NaN is the greatest, and the last one counts; the least number is above the padding."""
    x = rand(2, 3, 9, 8)
    x.reshape(-1)[::7] = np.nan
    x.reshape(-1)[::5] = -np.inf
    ours = tengen.tensor(x.tolist(), dtype=getattr(tengen, dtype))
    theirs = torch.tensor(x, dtype=getattr(torch, dtype))
    for name, arguments in (
        ("max_pool2d", {"kernel_size": 3, "stride": 2, "padding": 1}),
        ("max_pool2d", {"kernel_size": 2}),
        ("adaptive_max_pool2d", {"output_size": 3}),
        ("adaptive_max_pool2d", {"output_size": 4}),
    ):
        found = getattr(tengen.nn.functional, name)(ours, **arguments, return_indices=True)
        wanted = getattr(F, name)(theirs, **arguments, return_indices=True)
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a.double().numpy(), b.double().numpy())


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
        named("max_pool2d")[0](rand(*shape), *args)
    with pytest.raises(RuntimeError):
        meta.maxima_of_windows(forms.max_pool2d_forward, MetaArray(shape, np.dtype(float)), *args)
