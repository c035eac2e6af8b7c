"""Resizing, unpooling, sampling on grids and convolution over time: operators made of others."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.memory_format import channels_last
from ..core.scalar_type import int64
from ..kernels.layout import stands_channels_last
from ..kernels.nn.grid_taps import BICUBIC, BILINEAR, BORDER, NEAREST, REFLECTION, ZEROS

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def upsampled(
    self: Tensor,
    mode: str,
    output_size: Sequence[int],
    align_corners: bool,
    scales: Sequence[float | None],
) -> Tensor:
    """The last dims resized; RuntimeError for other ranks than (N, C, ...) and for empty sizes."""
    dims = len(scales)
    if len(output_size) != dims:
        raise RuntimeError(f"It is expected output_size equals to {dims}, but got size {len(output_size)}")
    if self.ndim != dims + 2 or 0 in self.shape[1:]:
        raise RuntimeError(
            f"Non-empty {dims + 2}D data tensor expected but got a tensor with sizes {list(self.shape)}"
        )
    given = None if all([s is None for s in scales]) else [0.0 if s is None else s for s in scales]
    return F._upsample(self, mode, output_size, align_corners, given)


def upsampled_by(
    input: Tensor,
    mode: str,
    output_size: Sequence[int] | None,
    align_corners: bool,
    scale_factors: Sequence[float] | None,
    dims: int,
) -> Tensor:
    """As ``upsampled``, to a size or by factors; RuntimeError unless there is one of these."""
    if (output_size is None) is (scale_factors is None):
        raise RuntimeError("Must specify exactly one of output_size and scale_factors")
    if scale_factors is None:
        return upsampled(input, mode, output_size or (), align_corners, (None,) * dims)
    sizes = [int(n * f) for n, f in zip(input.shape[2:], scale_factors, strict=False)]
    return upsampled(input, mode, sizes, align_corners, scale_factors)


def max_unpool(self: Tensor, indices: Tensor, output_size: Sequence[int], channels: int) -> Tensor:
    """Zeros, and each element where its index says; ``channels`` is the number of dims from the channels on.

    Raises RuntimeError for shapes that do not fit and indices that are out of range.
    """
    dims = channels - 1
    if indices.dtype is not int64:
        raise RuntimeError(f"elements in indices should be type int64 but got: {indices.dtype}")
    if len(output_size) != dims:
        raise RuntimeError(
            f"There should be exactly {dims} elements in output_size, but got {len(output_size)}"
        )
    if self.ndim not in (channels, channels + 1) or self.shape != indices.shape:
        raise RuntimeError(
            f"max_unpooling{dims}d: Input should be a {channels}d or {channels + 1}d tensor of the shape "
            f"of indices, but got {list(self.shape)} and {list(indices.shape)}"
        )
    if 0 in self.shape[1:]:
        raise RuntimeError(
            f"max_unpooling{dims}d: Expected input to have non-zero size for non-batch dimensions, but got "
            f"{list(self.shape)}"
        )
    if not self.is_floating_point():
        raise NotImplementedError(f"max_unpooling{dims}d: not implemented for {self.dtype}")
    count = prod(output_size)
    outer = self.shape[:-dims]
    zeros = self.new_zeros((*outer, count))
    places = indices.reshape((*outer, prod(self.shape[-dims:])))
    out = zeros.scatter(-1, places, self.reshape(places.shape)).reshape((*outer, *output_size))
    innermost = dims == 2 and stands_channels_last(self.shape, self.stride())
    return out.contiguous(memory_format=channels_last) if innermost and out.ndim == 4 else out


def max_unpool3d(
    self: Tensor,
    indices: Tensor,
    output_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
) -> Tensor:
    """Zeros, and each element where its index says; RuntimeError for strides that are not positive."""
    if len(stride) != 3 or len(padding) != 3 or min(stride) <= 0:
        raise RuntimeError(
            f"strides should be three numbers greater than zero, but got stride: {list(stride)} padding: "
            f"{list(padding)}"
        )
    return max_unpool(self, indices, output_size, 4)


def conv_tbc(self: Tensor, weight: Tensor, bias: Tensor, pad: int) -> Tensor:
    """The convolution over time of (T, B, I) with (K, I, O); RuntimeError for shapes that do not fit."""
    if self.ndim != 3 or weight.ndim != 3 or bias.ndim != 1:
        raise RuntimeError(
            "conv_tbc: Input must be (time, batch, in_channels), weight (kernel_width, in_channels, "
            f"out_channels), bias 1-d, but got {list(self.shape)}, {list(weight.shape)} and "
            f"{list(bias.shape)}"
        )
    (steps, batch, channels), (width, inputs, outputs) = self.shape, weight.shape
    count = steps + 2 * pad - width + 1
    if channels != inputs or bias.shape[0] != outputs or pad < 0 or not width or count <= 0:
        raise RuntimeError(
            f"conv_tbc: an input of {list(self.shape)} with a padding of {pad} does not fit a weight of "
            f"{list(weight.shape)} and a bias of {list(bias.shape)}"
        )
    wide = self.dtype.opmath
    out = bias.to(wide).expand(count, batch, outputs)
    for k in range(width):
        # Steps beyond the ends have no part in it: a weight that is NaN is not multiplied with zeros.
        first, last = max(pad - k, 0), min(steps + pad - k, count)
        if first < last:
            product = self[first + k - pad : last + k - pad].to(wide) @ weight[k].to(wide)
            out = out + F.constant_pad_nd(product, (0, 0, 0, 0, first, count - last))
    return out.to(self.dtype)


# ------------------------------------------------------------------------------------ grids


def _linspace(like: Tensor, steps: int, align_corners: bool) -> Tensor:
    if steps <= 1:
        return like.new_zeros((steps,))
    wide = like.dtype if like.is_floating_point() or like.is_complex() else None
    line = F.linspace(-1, 1, steps, dtype=wide, device=like.device)
    return (line if align_corners else line * (steps - 1) / steps).to(like.dtype)


def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The points that affine maps bring a regular grid to; RuntimeError for sizes that do not fit."""
    if len(size) not in (4, 5):
        raise RuntimeError(
            f"AffineGridGenerator needs 4d (spatial) or 5d (volumetric) size, but got {list(size)}"
        )
    spatial = size[2:]
    dims = len(spatial)
    if tuple(theta.shape) != (size[0], dims, dims + 1):
        raise RuntimeError(
            f"affine_grid_generator: Expected a batch of affine matrices of shape "
            f"{[size[0], dims, dims + 1]} for size {list(size)}"
            f", but got {list(theta.shape)}"
        )
    points = affine_grid_base(theta, size, align_corners).bmm(theta.transpose(1, 2))
    return F._unsafe_view(points, (size[0], *spatial, dims))


def affine_grid_base(like: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The points of a regular grid, each with a 1 behind it, (N, points, d + 1), for sizes (N, C, ...)."""
    spatial = tuple(size[2:])
    dims = len(spatial)
    axes = [
        _linspace(like, n, align_corners).reshape([-1 if d == place else 1 for place in range(dims)])
        for d, n in enumerate(spatial)
    ]
    every = [axis.expand(spatial) for axis in axes[::-1]]
    base = F.stack([*every, F.ones_like(every[0])], -1).reshape((1, prod(spatial), dims + 1))
    return base.expand((size[0], -1, -1))


def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler_2d`` or ``grid_sampler_3d``, by the rank of the input. RuntimeError unless that is 4 or
    5."""
    if input.ndim not in (4, 5):
        raise RuntimeError(f"grid_sampler(): expected 4D or 5D input, but got {input.ndim}D")
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners, input.ndim - 2)


def grid_sampled(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool, dims: int
) -> Tensor:
    """The values of an image at the points of a grid; NotImplementedError for integers.

    Raises RuntimeError for shapes, dtypes and modes that do not fit.
    """
    return _sampled(input, grid, interpolation_mode, padding_mode, align_corners, dims)


def _check_grid(input: Tensor, grid: Tensor, mode: int, padding: int, dims: int) -> None:
    if not input.is_floating_point():
        raise NotImplementedError(f"grid_sampler_{dims}d: not implemented for {input.dtype}")
    if input.dtype is not grid.dtype:
        raise RuntimeError(
            f"grid_sampler(): expected input and grid to have same dtype, but input has {input.dtype} and "
            f"grid has {grid.dtype}"
        )
    if input.ndim != dims + 2 or grid.ndim != dims + 2:
        raise RuntimeError(
            f"grid_sampler(): expected {dims + 2}D input and grid with same number of dimensions, but got "
            f"input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.shape[0] != grid.shape[0] or grid.shape[-1] != dims:
        raise RuntimeError(
            f"grid_sampler(): expected grid and input to have same batch size and grid to have size {dims} "
            f"in last dimension, but got input with sizes {list(input.shape)} and grid with sizes "
            f"{list(grid.shape)}"
        )
    if 0 in input.shape[2:]:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.shape)}"
        )
    modes = (BILINEAR, NEAREST, BICUBIC) if dims == 2 else (BILINEAR, NEAREST)
    if mode not in modes or padding not in (ZEROS, BORDER, REFLECTION):
        raise RuntimeError(
            f"grid_sampler_{dims}d: expected an interpolation mode of {modes} and a padding mode from 0 to "
            f"2, but got {mode} and {padding}"
        )


def _sampled(input: Tensor, grid: Tensor, mode: int, padding: int, align_corners: bool, dims: int) -> Tensor:
    _check_grid(input, grid, mode, padding, dims)
    return F._grid_sample(input, grid, mode, padding, align_corners, (0,) * dims)
