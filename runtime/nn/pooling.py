"""Adaptive, fractional and power-average pooling, and unpooling, as ``torch.nn.functional`` has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tengen.generated import functions as F

from ..autograd.rounding import rounded_once
from ..kernels.nn.common import expand
from ..tensors.tensor import Tensor
from .max_pooling import Pooled, Sizes, steps_of

Wanted = int | Sequence[int | None] | None

# ------------------------------------------------------------------------ adaptive


def _sizes(input: Tensor, output_size: Wanted, dims: int) -> list[int]:
    """One size for each of the last dims; None keeps the input's."""
    given = list(output_size) if isinstance(output_size, Sequence) else [output_size] * dims
    if isinstance(output_size, Sequence) and input.ndim <= len(given):
        raise ValueError(
            f"Input dimension should be at least {len(given) + 1} for that many sizes, but got {input.ndim}"
        )
    last = list(input.shape)[input.ndim - len(given) :]
    return [n if wanted is None else wanted for n, wanted in zip(last, given, strict=False)]


def adaptive_avg_pool2d(input: Tensor, output_size: Wanted) -> Tensor:
    """Means over windows of as equal a size as possible; None keeps the size of a dim."""
    return F.adaptive_avg_pool2d(input, _sizes(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: Wanted) -> Tensor:
    """Means over windows of as equal a size as possible; None keeps the size of a dim."""
    return F.adaptive_avg_pool3d(input, _sizes(input, output_size, 3))


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Sizes, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The maxima of windows of the last dim, and the places of these elements."""
    best, indices = F.adaptive_max_pool1d(input, output_size)
    return best, indices


def adaptive_max_pool1d(input: Tensor, output_size: Sizes, return_indices: bool = False) -> Pooled:
    """The maxima of windows of the last dim; with ``return_indices`` also where they are."""
    both = adaptive_max_pool1d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Wanted, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The maxima of windows of the last two dims, and the places of these elements."""
    best, indices = F.adaptive_max_pool2d(input, _sizes(input, output_size, 2))
    return best, indices


def adaptive_max_pool2d(input: Tensor, output_size: Wanted, return_indices: bool = False) -> Pooled:
    """The maxima of windows of the last two dims; with ``return_indices`` also where they are."""
    both = adaptive_max_pool2d_with_indices(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Wanted, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """The maxima of windows of the last three dims, and the places of these elements."""
    best, indices = F.adaptive_max_pool3d(input, _sizes(input, output_size, 3))
    return best, indices


def adaptive_max_pool3d(input: Tensor, output_size: Wanted, return_indices: bool = False) -> Pooled:
    """The maxima of windows of the last three dims; with ``return_indices`` also where they are."""
    both = adaptive_max_pool3d_with_indices(input, output_size)
    return both if return_indices else both[0]


# ------------------------------------------------------------------------ at random places


def _fractional(
    pool: Callable[..., Any],
    dims: int,
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None,
    output_ratio: float | Sequence[float] | None,
    random_samples: Tensor | None,
) -> tuple[Tensor, Tensor]:
    for name, sizes in (("kernel_size", kernel_size), ("output_size", output_size)):
        if isinstance(sizes, Sequence) and len(sizes) not in (1, dims):
            raise RuntimeError(
                f"fractional_max_pool{dims}d: {name} must be an int or a tuple of {dims}, but got {sizes}"
            )
    if output_size is None:
        if output_ratio is None:
            raise ValueError(
                f"fractional_max_pool{dims}d requires specifying either an output_size or an output_ratio"
            )
        ratios = [output_ratio] * dims if isinstance(output_ratio, (int, float)) else list(output_ratio)
        if len(ratios) != dims:
            raise ValueError(f"fractional_max_pool{dims}d requires {dims} output ratios, but got {ratios}")
        output_size = [int(n * ratio) for n, ratio in zip(input.shape[-dims:], ratios, strict=True)]
    if random_samples is None:
        if input.ndim <= dims:
            raise IndexError(
                f"fractional_max_pool{dims}d: expected an input of {dims + 1} or {dims + 2} dimensions, but "
                f"got one of size {list(input.shape)}"
            )
        batch = 1 if input.ndim == dims + 1 else input.shape[0]
        shape = (batch, input.shape[-dims - 1], dims)
        random_samples = F.rand(shape, dtype=input.dtype, device=input.device)
    best, indices = pool(input, kernel_size, output_size, random_samples)
    return best, indices


def fractional_max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows of the last 2 dims that begin at random places, and where they are.

    There are ``output_size`` of them, or ``output_ratio`` times the input's size. ValueError without both.
    """
    given = (input, kernel_size, output_size, output_ratio, _random_samples)
    return _fractional(F.fractional_max_pool2d, 2, *given)


def fractional_max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """The maxima of windows of the last 2 dims that begin at random places; ValueError without a size."""
    given = (input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
    both = fractional_max_pool2d_with_indices(*given)
    return both if return_indices else both[0]


def fractional_max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows of the last 3 dims that begin at random places, and where they are.

    There are ``output_size`` of them, or ``output_ratio`` times the input's size. ValueError without both.
    """
    given = (input, kernel_size, output_size, output_ratio, _random_samples)
    return _fractional(F.fractional_max_pool3d, 3, *given)


def fractional_max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Pooled:
    """The maxima of windows of the last 3 dims that begin at random places; ValueError without a size."""
    given = (input, kernel_size, output_size, output_ratio, return_indices, _random_samples)
    both = fractional_max_pool3d_with_indices(*given)
    return both if return_indices else both[0]


# -------------------------------------------------------------------------------- inverses


def _unpooled(
    dims: int,
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None,
    padding: Sizes,
    output_size: Sequence[int] | None,
) -> tuple[list[int], tuple[int, ...], tuple[int, ...]]:
    """The size of the result, the strides and the paddings. ValueError for a size that cannot be."""
    kernel, pads = expand(kernel_size, dims, "kernel_size"), expand(padding, dims, "padding")
    steps = kernel if stride is None else expand(stride, dims, "stride")
    default = [
        (n - 1) * s + k - 2 * p for n, s, k, p in zip(input.shape[-dims:], steps, kernel, pads, strict=True)
    ]
    if output_size is None:
        return default, steps, pads
    wanted = list(output_size)[-dims:] if len(output_size) == dims + 2 else list(output_size)
    if len(wanted) != dims:
        raise ValueError(
            f"output_size should be a sequence containing {dims} or {dims + 2} elements, but it has a length "
            f"of '{len(wanted)}'"
        )
    for d, (n, usual, s) in enumerate(zip(wanted, default, steps, strict=True)):
        if not usual - s < n < usual + s:
            raise ValueError(
                f'invalid output_size "{wanted}" (dim {d} must be between {usual - s} and {usual + s})'
            )
    return wanted, steps, pads


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros of a size (N, C, W), and the maxima where ``max_pool1d`` found them."""
    size, _, _ = _unpooled(1, input, kernel_size, stride, padding, output_size)
    return F.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [*size, 1]).squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros of a size (N, C, H, W), and the maxima where ``max_pool2d`` found them."""
    size, _, _ = _unpooled(2, input, kernel_size, stride, padding, output_size)
    return F.max_unpool2d(input, indices, size)


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    output_size: Sequence[int] | None = None,
) -> Tensor:
    """Zeros of a size (N, C, D, H, W), and the maxima where ``max_pool3d`` found them."""
    size, steps, pads = _unpooled(3, input, kernel_size, stride, padding, output_size)
    return F.max_unpool3d(input, indices, size, steps, pads)


# ------------------------------------------------------------------------------- of norms


def _norm_pool(
    dims: int,
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None,
    ceil_mode: bool,
) -> Tensor:
    steps = steps_of(stride)
    if abs(norm_type) == math.inf:
        largest: Any = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[dims - 1]
        sign = 1 if norm_type > 0 else -1
        extreme: Tensor = sign * largest(sign * input.abs(), kernel_size, steps, 0, 1, ceil_mode)
        return extreme
    mean: Any = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[dims - 1]
    out = mean(input.pow(norm_type), kernel_size, steps, 0, ceil_mode)
    count = math.prod(expand(kernel_size, dims, "kernel_size"))
    root: Tensor = (out.sign() * F.relu(out.abs()) * count).pow(1 / norm_type)
    return root


@rounded_once
def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms, p being ``norm_type``, of the elements of windows of the last dim."""
    return _norm_pool(1, input, norm_type, kernel_size, stride, ceil_mode)


@rounded_once
def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms, p being ``norm_type``, of the elements of windows of the last 2 dims."""
    return _norm_pool(2, input, norm_type, kernel_size, stride, ceil_mode)


@rounded_once
def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    """The p-norms, p being ``norm_type``, of the elements of windows of the last 3 dims."""
    return _norm_pool(3, input, norm_type, kernel_size, stride, ceil_mode)
