"""Pooling and resizing as ``torch.nn.functional`` has them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import floor
from typing import Any, Literal, overload

import numpy as np

from tengen.generated import functions as F

from ..core.errors import explain
from ..native.layout import check_bytes
from ..tensors.creation import tensor
from ..tensors.tensor import Tensor

Sizes = int | Sequence[int]
Pooled = Any  # a Tensor, or with return_indices two; as a union it would help no caller


def _strides(stride: Sizes | None) -> Sizes:
    """None is an empty list to operators: the kernel's size."""
    return () if stride is None else stride


# ------------------------------------------------------------------------------- maximum


def _max_pool(
    plain: Callable[..., Any], with_indices: Callable[..., Any], return_indices: bool, *args: Any
) -> Any:
    input, kernel_size, stride, *rest = args
    return (with_indices if return_indices else plain)(input, kernel_size, _strides(stride), *rest)


@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool1d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The maxima of windows of the last dim; with ``return_indices`` also where they are.

    ``input`` has the shape (N, C, L) or (C, L); the result has an element for each window, and the same
    dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    args = (input, kernel_size, stride, padding, dilation, ceil_mode)
    out: Pooled = _max_pool(F.max_pool1d, F.max_pool1d_with_indices, return_indices, *args)
    return out


@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool2d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The maxima of windows of the last two dims; with ``return_indices`` also where they are.

    ``input`` has the shape (N, C, H, W) or (C, H, W); the result has an element for each window, and the
    same dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    args = (input, kernel_size, stride, padding, dilation, ceil_mode)
    out: Pooled = _max_pool(F.max_pool2d, F.max_pool2d_with_indices, return_indices, *args)
    return out


@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    *,
    return_indices: Literal[True],
) -> tuple[Tensor, Tensor]: ...
@overload
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: Literal[False] = False,
) -> Tensor: ...
def max_pool3d(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Pooled:
    """The maxima of windows of the last three dims; with ``return_indices`` also where they are.

    ``input`` has the shape (N, C, D, H, W) or (C, D, H, W); the result has an element for each window,
    and the same dtype. Indices are int64, and number the elements of the dimensions that the windows go
    over.
    """
    args = (input, kernel_size, stride, padding, dilation, ceil_mode)
    out: Pooled = _max_pool(F.max_pool3d, F.max_pool3d_with_indices, return_indices, *args)
    return out


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d`` with ``return_indices``.

    ``input`` has the shape (N, C, L) or (C, L); the result has an element for each window, and the same
    dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    return F.max_pool1d_with_indices(input, kernel_size, _strides(stride), padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d`` with ``return_indices``.

    ``input`` has the shape (N, C, H, W) or (C, H, W); the result has an element for each window, and the
    same dtype. Indices are int64, and number the elements of the dimensions that the windows go over.
    """
    return F.max_pool2d_with_indices(input, kernel_size, _strides(stride), padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Sizes,
    stride: Sizes | None = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool3d`` with ``return_indices``.

    ``input`` has the shape (N, C, D, H, W) or (C, D, H, W); the result has an element for each window,
    and the same dtype. Indices are int64, and number the elements of the dimensions that the windows go
    over.
    """
    return F.max_pool3d_with_indices(input, kernel_size, _strides(stride), padding, dilation, ceil_mode)


# ------------------------------------------------------------------------------ adaptive


def _sizes(input: Tensor, output_size: int | Sequence[int | None] | None, dims: int) -> list[int]:
    """One size for each of the last dims; None keeps the input's."""
    given = list(output_size) if isinstance(output_size, Sequence) else [output_size] * dims
    if isinstance(output_size, Sequence) and input.ndim <= len(given):
        raise ValueError(
            f"Input dimension should be at least {len(given) + 1} for that many sizes, but got {input.ndim}"
        )
    last = list(input.shape)[input.ndim - len(given) :]
    return [n if wanted is None else wanted for n, wanted in zip(last, given, strict=False)]


def adaptive_avg_pool2d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Means over windows of as equal a size as possible; None keeps the size of a dim."""
    return F.adaptive_avg_pool2d(input, _sizes(input, output_size, 2))


def adaptive_avg_pool3d(input: Tensor, output_size: int | Sequence[int | None] | None) -> Tensor:
    """Means over windows of as equal a size as possible; None keeps the size of a dim."""
    return F.adaptive_avg_pool3d(input, _sizes(input, output_size, 3))


# ------------------------------------------------------------------------------ resizing


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The dims after the second resized to ``size``, or by ``scale_factor``: nearest elements.

    Modes: ``'nearest'``, ``'nearest-exact'`` (from the places' middles) and ``'area'``. Raises
    ValueError unless one of size and scale_factor is given, TypeError for sizes that are no ints,
    RuntimeError for sizes that are not positive, NotImplementedError for other modes and fewer dims.
    """
    dims = input.ndim - 2
    if dims < 1:
        raise NotImplementedError(f"interpolate: Expected an input of at least 3 dims, but got {input.ndim}")
    if mode in ("nearest", "nearest-exact", "area") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
            "| trilinear"
        )
    if mode not in ("nearest", "nearest-exact", "area"):
        raise NotImplementedError(f"interpolate: mode '{mode}' is not implemented")
    if antialias:
        raise ValueError("Anti-alias option is only supported for bilinear and bicubic modes")
    sizes, scales = _output_sizes(input, dims, size, scale_factor, recompute_scale_factor)
    if min(*input.shape[2:], *sizes) <= 0:
        raise RuntimeError(
            "interpolate: Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape[2:])} and output {list(sizes)}"
        )
    if mode == "area":
        return (F.adaptive_avg_pool1d, F.adaptive_avg_pool2d, F.adaptive_avg_pool3d)[dims - 1](input, sizes)
    middle = 0.5 if mode == "nearest-exact" else 0.0
    try:
        check_bytes((*input.shape[:2], *sizes), input.element_size())
        places = [
            _nearest(n, wanted, n / wanted if scale is None else 1 / scale, middle)
            for n, wanted, scale in zip(input.shape[2:], sizes, scales, strict=True)
        ]
    except Exception as error:
        raise explain(error, "interpolate") from None
    out = input
    for dim, chosen in enumerate(places, 2):
        out = out.index_select(dim, tensor(chosen, device=input.device))
    return out


def _nearest(n: int, wanted: int, step: float, middle: float) -> np.ndarray[Any, Any]:
    """The place among ``n`` from which each of ``wanted`` elements comes."""
    places = np.floor((np.arange(wanted, dtype=np.float64) + middle) * step)
    return np.minimum(places, n - 1).astype(np.int64)


def _output_sizes(
    input: Tensor,
    dims: int,
    size: Sizes | None,
    scale_factor: float | Sequence[float] | None,
    recompute: bool | None,
) -> tuple[list[int], list[float | None]]:
    """The new sizes, and the scales where these and not the sizes decide on the step."""
    if (size is None) is (scale_factor is None):
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        sizes = [size] * dims if isinstance(size, int) else list(size)
        if not all([n.__class__ is int for n in sizes]):
            raise TypeError(f"interpolate(): argument 'size' must be int or tuple of ints, not {size!r}")
        if len(sizes) != dims:
            raise ValueError(
                f"Input and output must have the same number of spatial dimensions, but got {sizes}"
            )
        return sizes, [None] * dims
    assert scale_factor is not None
    factors = [float(scale_factor)] * dims if isinstance(scale_factor, (int, float)) else list(scale_factor)
    if len(factors) != dims:
        raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions: {factors}")
    wanted = [n * f for n, f in zip(input.shape[2:], factors, strict=True)]
    if not all([math.isfinite(n) for n in wanted]):
        raise RuntimeError(f"interpolate: the sizes that scale_factor {factors} asks for are not finite")
    sizes = [floor(n) for n in wanted]
    return sizes, [None] * dims if recompute else list(factors)
