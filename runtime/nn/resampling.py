"""Resizing, sampling and windows of images as ``torch.nn.functional`` has them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from math import floor
from typing import Any

from tengen.generated import functions as F

from ..autograd.rounding import rounded_once
from ..core.errors import explain
from ..core.user_stack import program_stacklevel
from ..kernels.layout import check_bytes
from ..tensors.tensor import Tensor
from .max_pooling import Sizes

#: By mode and the number of dims, the operator.
_RESIZED: dict[tuple[str, int], Any] = {
    ("nearest", 1): F.upsample_nearest1d,
    ("nearest", 2): F.upsample_nearest2d,
    ("nearest", 3): F.upsample_nearest3d,
    ("nearest-exact", 1): F._upsample_nearest_exact1d,
    ("nearest-exact", 2): F._upsample_nearest_exact2d,
    ("nearest-exact", 3): F._upsample_nearest_exact3d,
    ("area", 1): F.adaptive_avg_pool1d,
    ("area", 2): F.adaptive_avg_pool2d,
    ("area", 3): F.adaptive_avg_pool3d,
    ("linear", 1): F.upsample_linear1d,
    ("bilinear", 2): F.upsample_bilinear2d,
    ("trilinear", 3): F.upsample_trilinear3d,
    ("bicubic", 2): F.upsample_bicubic2d,
}
_ANTIALIASED: dict[str, Any] = {
    "bilinear": F._upsample_bilinear2d_aa,
    "bicubic": F._upsample_bicubic2d_aa,
    "lanczos": F._upsample_lanczos2d_aa,
}
_PLAIN = ("nearest", "nearest-exact", "area")  # have no align_corners


def interpolate(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The dims after the second resized to ``size``, or by ``scale_factor``.

    Modes: ``'nearest'``, ``'nearest-exact'`` (from the places' middles), ``'area'`` (means), ``'linear'``
    of (N, C, W), ``'bilinear'``, ``'bicubic'`` and, with ``antialias``, ``'lanczos'`` of (N, C, H, W),
    ``'trilinear'`` of (N, C, D, H, W). With ``align_corners`` the middles of the outermost elements stay
    where they are. Raises ValueError unless one of size and scale_factor is given, and for options that a
    mode has not, TypeError for sizes that are no ints, RuntimeError for sizes that are not positive,
    NotImplementedError for a mode that there is not for so many dims.
    """
    dims = input.ndim - 2
    if mode in _PLAIN and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic "
            "| trilinear"
        )
    if dims < 1:
        raise NotImplementedError(f"interpolate: Expected an input of at least 3 dims, but got {input.ndim}")
    recompute = True if mode == "area" and size is None else recompute_scale_factor
    sizes, scales = _output_sizes(input, dims, size, scale_factor, recompute)
    if antialias and not (mode in _ANTIALIASED and dims == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D "
            "tensor as input"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ValueError("Lanczos mode requires antialias=True and does not support align_corners=True")
    resized = _ANTIALIASED[mode] if antialias else _RESIZED.get((mode, dims))
    if resized is None:
        raise NotImplementedError(f"interpolate: there is no mode {mode!r} for a {input.ndim}D input")
    if mode != "area" and min(*input.shape[2:], *sizes) <= 0:  # of pools may be none
        raise RuntimeError(
            "interpolate: Input and output sizes should be greater than 0, but got input "
            f"{list(input.shape[2:])} and output {list(sizes)}"
        )
    try:
        check_bytes((*input.shape[:2], *sizes), input.element_size())
    except Exception as error:
        raise explain(error, "interpolate") from None
    if mode == "area":
        out: Tensor = resized(input, sizes)
    elif mode in _PLAIN:
        out = resized(input, sizes, *scales)
    else:
        out = resized(input, sizes, bool(align_corners), *scales)
    return out


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


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=program_stacklevel(),
    )


def upsample(
    input: Tensor,
    size: Sizes | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """``interpolate``, its older name, to a size."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """``interpolate`` of (N, C, ...) by the nearest elements."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor)


def upsample_bilinear(
    input: Tensor, size: Sizes | None = None, scale_factor: float | Sequence[float] | None = None
) -> Tensor:
    """``interpolate`` to a size in mode ``'bilinear'`` with aligned corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, "bilinear", True)


# -------------------------------------------------------------------------------- sampling


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. "
            "Please specify align_corners=True if the old behavior is desired.",
            stacklevel=program_stacklevel(),
        )
    return bool(align_corners)


_INTERPOLATIONS = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    """The values of (N, C, ...) at the points of a grid, (N, ..., dims), which go from -1 to 1.

    Raises ValueError for other modes than ``'bilinear'``, ``'nearest'`` and ``'bicubic'``, and other
    padding modes than ``'zeros'``, ``'border'`` and ``'reflection'``, RuntimeError for shapes that do
    not fit.
    """
    for name, given, words in (("mode", mode, _INTERPOLATIONS), ("padding_mode", padding_mode, _PADDINGS)):
        if given not in words:
            raise ValueError(f"grid_sample(): expected {name} to be one of {list(words)}, but got {given!r}")
    numbers = _INTERPOLATIONS[mode], _PADDINGS[padding_mode]
    return F.grid_sampler(input, grid, *numbers, _aligned(align_corners))


def affine_grid(theta: Tensor, size: Sequence[int], align_corners: bool | None = None) -> Tensor:
    """The points that affine maps (N, d, d + 1) bring a regular grid of ``size`` (N, C, ...) to: (N, ..., d).

    Raises ValueError for shapes that do not fit and integers, NotImplementedError unless there are 4 or
    5 sizes.
    """
    align_corners = _aligned(align_corners)
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. "
            f"Got size {size}."
        )
    if theta.ndim != 3 or tuple(theta.shape[1:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of affine matrices of shape Nx{dims}x{dims + 1} for size {size}. "
            f"Got {theta.shape}."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return F.affine_grid_generator(theta, size, align_corners)


# --------------------------------------------------------------------------------- windows


def unfold(
    input: Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> Tensor:
    """Each window of (N, C, H, W) or (C, H, W) as a column, of the shape (N, C * kH * kW, windows)."""
    return F.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> Tensor:
    """Columns (N, C * kH * kW, windows) added up to images of the shape (N, C, *output_size)."""
    return F.col2im(input, output_size, kernel_size, dilation, padding, stride)


@rounded_once
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """``input / (k + alpha * mean)^beta`` of (N, C, ...), the mean over ``size`` channels of the squares.

    Raises ValueError for fewer than 3 dims.
    """
    if input.ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.ndim} dimensions)")
    if not input.numel():
        return input
    squares = (input * input).reshape((input.shape[0], 1, input.shape[1], -1))
    padded = F.constant_pad_nd(squares, (0, 0, size // 2, (size - 1) // 2))
    mean = F.avg_pool2d(padded, (size, 1), 1).reshape(input.shape)
    return input / (mean * alpha + k) ** beta
