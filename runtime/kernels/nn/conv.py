"""Convolutions in any number of dimensions, as matrix products over columns.

Arrays are (batch, channels, *spatial), weights (out, in / groups, *kernel), or (in, out / groups,
*kernel) for the transposed ones; an input without a batch is taken as a batch of one. Three
routines do all the work, and each is a gradient of the others: ``_correlate`` (the convolution),
``_correlate_input`` (its transpose) and ``_correlate_weight``. A block of samples at a time is
copied to columns (one row for each channel and kernel tap, through a strided view), so that the
product is BLAS's and the columns stay in the cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from ...core.costs import COLUMNS_CHANNELS, COLUMNS_CHUNK, COLUMNS_LEAST
from ..contractions import batched_product
from ..native_kernels import kernel_of_floats
from ..parallel import items_of_block
from .common import Array, Shape, expand
from .conv_windows import (
    Geometry,
    column_filler,
    tap_slices,
    windows_of,
    windows_with_channels_last,
    with_padding,
)

Gradients = tuple[Array | None, Array | None, Array | None]


# ------------------------------------------------------------------------------ the checks


def conv_geometry(
    input: Array,
    weight: Array,
    bias: Array | Shape | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> tuple[Geometry, Shape]:
    """The geometry, checked against the shapes, and the spatial size of the result.

    It reads no data: Meta shares it. Of ``bias`` the sizes do. Raises RuntimeError for whatever does not fit.
    """
    of_bias = bias if bias is None or isinstance(bias, tuple) else tuple(bias.shape)
    shapes = tuple(input.shape), tuple(weight.shape), of_bias
    return _conv_geometry(*shapes, stride, padding, dilation, transposed, output_padding, groups)


@lru_cache(256)
def _conv_geometry(
    input: Shape,
    weight: Shape,
    bias: Shape | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> tuple[Geometry, Shape]:
    """As ``conv_geometry``, of shapes."""
    dims = len(weight) - 2
    if dims < 1:
        raise RuntimeError(f"weight should have at least three dimensions, but got {list(weight)}")
    geometry = Geometry(
        expand(stride, dims, "stride"),
        expand(padding, dims, "padding"),
        expand(dilation, dims, "dilation"),
        groups,
    )
    extra = expand(output_padding, dims, "output_padding")
    if groups <= 0:
        raise RuntimeError("non-positive groups is not supported")
    if min(geometry.padding) < 0:
        raise RuntimeError("negative padding is not supported")
    if min(extra) < 0:
        raise RuntimeError("negative output_padding is not supported")
    if min(geometry.stride) <= 0:
        raise RuntimeError("non-positive stride is not supported")
    if min(geometry.dilation) <= 0:
        raise RuntimeError("dilation should be greater than zero")
    if len(input) not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Expected {dims + 1}D (unbatched) or {dims + 2}D (batched) input to conv{dims}d, "
            f"but got input of size: {list(input)}"
        )
    _check_channels(input, weight, bias, groups, transposed)
    if transposed:
        return geometry, _transposed_size(input[-dims:], weight[2:], geometry, extra)
    _check_kernel_fits(input[-dims:], weight[2:], geometry)
    return geometry, geometry.out(input[-dims:], weight[2:])


def _check_channels(input: Shape, weight: Shape, bias: Shape | None, groups: int, transposed: bool) -> None:
    dims = len(weight) - 2
    channels = input[-dims - 1]
    first, second = weight[:2]
    expected = first if transposed else second * groups
    if first < groups or first % groups:
        raise RuntimeError(
            f"Given groups={groups}, expected weight to be at least {groups} at dimension 0 "
            f"and divisible by it, but got weight of size {list(weight)} instead"
        )
    if channels != expected:
        raise RuntimeError(
            f"Given groups={groups}, weight of size {list(weight)}, expected input{list(input)} "
            f"to have {expected} channels, but got {channels} channels instead"
        )
    out = second * groups if transposed else first
    if bias is not None and bias != (out,):
        raise RuntimeError(
            f"Given weight of size {list(weight)}, expected bias to be 1-dimensional "
            f"with {out} elements, but got bias of size {list(bias)} instead"
        )


def _check_kernel_fits(spatial: Shape, kernel: Shape, geometry: Geometry) -> None:
    if 0 in kernel:
        raise RuntimeError(f"kernel size should be greater than zero, but got {list(kernel)}")
    padded = [n + 2 * p for n, p in zip(spatial, geometry.padding, strict=True)]
    covered = [d * (k - 1) + 1 for k, d in zip(kernel, geometry.dilation, strict=True)]
    if any([n < k for n, k in zip(padded, covered, strict=True)]):
        have, want = (" x ".join([str(n) for n in sizes]) for sizes in (padded, covered))
        raise RuntimeError(
            f"Calculated padded input size per channel: ({have}). Kernel size: ({want}). "
            "Kernel size can't be greater than actual input size"
        )


def _transposed_size(spatial: Shape, kernel: Shape, geometry: Geometry, extra: Shape) -> Shape:
    """The spatial size of a transposed convolution's result, ``extra`` being the output padding."""
    for o, s, d in zip(extra, geometry.stride, geometry.dilation, strict=True):
        if o >= s and o >= d:
            raise RuntimeError(
                "output padding must be smaller than either stride or dilation, but got "
                f"output_padding: {list(extra)}, stride: {list(geometry.stride)}, "
                f"dilation: {list(geometry.dilation)}"
            )
    out = geometry.transposed_out(spatial, kernel, extra)
    if min(out) <= 0:
        raise RuntimeError(
            f"Given input size per channel: {list(spatial)}. "
            f"Calculated output size per channel: {list(out)}. Output size is too small"
        )
    return out


# ------------------------------------------------------------------------------ the blocks


def _is_matrix(kernel: Shape, geometry: Geometry) -> bool:
    """Whether the input already is its own columns: a 1x1 kernel at every place."""
    ones = (1,) * len(kernel)
    return kernel == ones and geometry.stride == ones and not any(geometry.padding)


def _blocks(batch: int, each: int) -> Iterator[slice]:
    """The batch in slices whose columns have about COLUMNS_CHUNK elements; ``each`` is one sample's."""
    size = items_of_block(COLUMNS_CHUNK, each)
    for start in range(0, batch, size):
        yield slice(start, min(start + size, batch))


# --------------------------------------------------------------------- the three products


class _Products(NamedTuple):
    """A convolution as products of matrices: their shapes, and the number of samples in a block."""

    out: Shape
    result: Shape
    empty: bool  # of no elements, or of no terms
    plain: bool  # the input already is its own columns
    matrix: Shape
    columns: Shape  # of a block
    windows: Shape  # of a block
    products: Shape
    block: int


@lru_cache(256)
def _products(x: Shape, weight: Shape, geometry: Geometry) -> _Products:
    """The products for arrays of these shapes."""
    kernel, groups, batch = weight[2:], geometry.groups, x[0]
    out = geometry.out(x[2:], kernel)
    places, rows = math.prod(out), math.prod(weight[1:])
    matrix = groups, weight[0] // groups, rows
    plain = _is_matrix(kernel, geometry)
    block = batch if plain else min(batch, items_of_block(COLUMNS_CHUNK, groups * rows * places))
    products = batch, *matrix[:2], places
    empty = 0 in products or not rows
    columns, windows = (block, groups, rows, places), (block, x[1], *kernel, *out)
    return _Products(out, (batch, weight[0], *out), empty, plain, matrix, columns, windows, products, block)


def _correlate(x: Array, weight: Array, geometry: Geometry, bias: Array | None = None) -> Array:
    """The convolution of a batch: (N, C, *S) with (O, C / groups, *K) to (N, O, *out), plus ``bias``.

    In one group the bias is one more column of the matrix, and 1 one more row of the columns.
    """
    plan = _products(x.shape, weight.shape, geometry)
    if plan.empty:
        return _add_bias(np.zeros(plan.result, x.dtype), bias)
    matrix = weight.reshape(plan.matrix)
    if plan.plain:
        return _add_bias(np.matmul(matrix, x.reshape(plan.columns)).reshape(plan.result), bias)
    fill = column_filler(x, weight.shape[2:], plan.out, geometry)
    _, groups, rows, places = plan.columns
    ones = 0 if bias is None or groups > 1 else 1
    columns = np.empty((plan.block, groups, rows + ones, places), x.dtype)
    if bias is not None and ones:
        columns[:, :, rows] = 1
        matrix, bias = np.concatenate((matrix, bias.reshape(1, -1, 1)), 2), None
    windows = columns[:, :, :rows].reshape(plan.windows)
    result = np.empty(plan.products, x.dtype)
    for start in range(0, len(x), plan.block):
        block = slice(start, start + plan.block)
        count = min(plan.block, len(x) - start)
        fill(block, windows[:count])
        np.matmul(matrix, columns[:count], out=result[block])
    return _add_bias(result.reshape(plan.result), bias)


def _correlate_input(grad: Array, weight: Array, spatial: Shape, geometry: Geometry) -> Array:
    """The transpose of ``_correlate`` in its input: (N, O, *out) to (N, C, *spatial).

    Of strides of 1 it is a convolution, too, of the result with zeros around it. Its columns are those of
    the filters; where there are fewer channels than these, columns of the channels are added.
    """
    groups, kernel, out = geometry.groups, weight.shape[2:], grad.shape[2:]
    batch, places = grad.shape[0], math.prod(out)
    shape = batch, weight.shape[1] * groups, *spatial
    if not grad.size or not weight.size or max(geometry.stride) > 1:
        return _correlate_input_by_taps(grad, weight, spatial, geometry)
    matrix = weight.reshape(groups, -1, math.prod(weight.shape[1:])).swapaxes(1, 2)
    if _is_matrix(kernel, geometry) and spatial == out:
        return np.matmul(matrix, grad.reshape(batch, groups, -1, places)).reshape(shape)
    reach = _reach(kernel, geometry)
    if weight.shape[0] <= 2 * shape[1] and min(reach) >= 0 and geometry.out(spatial, kernel) == out:
        result: Array = _correlate(grad, _turned(weight, groups), geometry._replace(padding=reach))
    else:
        padded = tuple([n + 2 * p for n, p in zip(spatial, geometry.padding, strict=True)])
        result = np.empty(shape, grad.dtype)
        for block in _blocks(batch, grad.shape[1] * math.prod(padded)):
            result[block] = _correlate_input_in_line(grad[block], matrix, kernel, padded, geometry)
    if not np.isfinite(matrix.sum()):
        _mend(result, grad, weight, spatial, geometry)
    return result


def _reach(kernel: Shape, geometry: Geometry) -> Shape:
    """How many zeros around the result its taps see, from the places of the input."""
    sizes = zip(kernel, geometry.dilation, geometry.padding, strict=True)
    return tuple([d * (k - 1) - p for k, d, p in sizes])


def _turned(weight: Array, groups: int) -> Array:
    """The weight with channels in the place of filters, and its taps turned round."""
    filters, channels, *kernel = weight.shape
    taps = weight[(..., *[slice(None, None, -1)] * len(kernel))]
    by_group = taps.reshape(groups, filters // groups, channels, *kernel).swapaxes(1, 2)
    return by_group.reshape(groups * channels, filters // groups, *kernel)


def _mend(result: Array, grad: Array, weight: Array, spatial: Shape, geometry: Geometry) -> None:
    """Compute anew the groups whose weights are not finite, which zeros in between make NaN."""
    groups = geometry.groups
    into, grads = [a.reshape(len(a), groups, -1, *a.shape[2:]) for a in (result, grad)]
    weights = weight.reshape(groups, -1, *weight.shape[1:])
    alone = geometry._replace(groups=1)
    for group in np.flatnonzero(~np.isfinite(weights.reshape(groups, -1)).all(1)):
        into[:, group] = _correlate_input_by_taps(grads[:, group], weights[group], spatial, alone)


def _correlate_input_by_taps(grad: Array, weight: Array, spatial: Shape, geometry: Geometry) -> Array:
    """``_correlate_input`` for any strides and weights: the columns of each tap are added by themselves."""
    groups, kernel, out = geometry.groups, weight.shape[2:], grad.shape[2:]
    batch, places = grad.shape[0], math.prod(out)
    rows = math.prod(weight.shape[1:])
    channels = weight.shape[1] * groups
    matrix = weight.reshape(groups, weight.shape[0] // groups, rows).swapaxes(1, 2)
    flat = grad.reshape(batch, groups, weight.shape[0] // groups, places)
    padded = tuple([n + 2 * p for n, p in zip(spatial, geometry.padding, strict=True)])
    result: Array = np.zeros((batch, channels, *padded), grad.dtype)
    if flat.size and rows:
        for block in _blocks(batch, groups * rows * places):
            columns = batched_product(matrix, flat[block]).reshape(-1, channels, *kernel, *out)
            target = result[block]
            for tap, seen in tap_slices(kernel, out, geometry):
                view = target[(..., *seen)]
                view += columns[(slice(None), slice(None), *tap)]
    if any(geometry.padding):
        inner = [slice(p, p + n) for n, p in zip(spatial, geometry.padding, strict=True)]
        return np.ascontiguousarray(result[(..., *inner)])
    return result


def _correlate_input_in_line(
    grad: Array, matrix: Array, kernel: Shape, padded: Shape, geometry: Geometry
) -> Array:
    """``_correlate_input`` for strides of 1 and finite weights, ``matrix`` being (groups, rows, filters).

    The places of all padded samples stand in one line, where a tap is a distance. So its columns are
    added in one piece, and not row by row; between the rows of ``grad`` there are zeros.
    """
    groups, rows, filters = matrix.shape
    batch, out = grad.shape[0], grad.shape[2:]
    size = math.prod(padded)
    steps = [math.prod(padded[i + 1 :]) for i in range(len(padded))]
    distances = [
        sum([t * d * step for t, d, step in zip(tap, geometry.dilation, steps, strict=True)])
        for tap in product(*[range(k) for k in kernel])
    ]
    wide: Array = np.zeros((groups * filters, batch, *padded), grad.dtype)
    wide[(..., *[slice(n) for n in out])] = grad.swapaxes(0, 1)
    line = wide.reshape(groups, filters, batch * size)
    result: Array = np.zeros((groups, rows // len(distances), batch * size), grad.dtype)
    end = batch * size - distances[-1]
    count = max(items_of_block(COLUMNS_CHUNK, groups * rows), COLUMNS_LEAST)
    for start in range(0, end, count):
        part = line[:, :, start : min(start + count, end)]
        columns = batched_product(matrix, part).reshape(groups, -1, len(distances), part.shape[2])
        for tap, distance in enumerate(distances):
            seen = result[:, :, start + distance : start + distance + part.shape[2]]
            seen += columns[:, :, tap]
    inner = [slice(p, n - p) for n, p in zip(padded, geometry.padding, strict=True)]
    samples: Array = result.reshape(-1, batch, *padded).swapaxes(0, 1)[(..., *inner)]
    return samples


def _correlate_weight(grad: Array, x: Array, kernel: Shape, geometry: Geometry) -> Array:
    """The transpose of ``_correlate`` in its weight: to (O, C / groups, *kernel)."""
    groups, out = geometry.groups, grad.shape[2:]
    batch, filters, places = grad.shape[0], grad.shape[1], math.prod(out)
    rows = x.shape[1] // groups * math.prod(kernel)
    result = np.zeros((groups, filters // groups, rows), grad.dtype)
    if grad.size and groups == 1 and 0 < rows <= places:
        return _correlate_weight_by_samples(grad, x, kernel, geometry)
    if grad.size and rows:
        windows = windows_of(with_padding(x, geometry.padding), kernel, out, geometry)
        # Rows of one group, then samples: one product for the whole block.
        dims = len(kernel)
        order = (*range(1, dims + 2), 0, *range(dims + 2, 2 * dims + 2))
        flat = grad.reshape(batch, filters, places)
        for block in _blocks(batch, windows[0].size):
            columns = np.ascontiguousarray(windows[block].transpose(order)).reshape(groups, rows, -1)
            part = flat[block].swapaxes(0, 1).reshape(groups, filters // groups, -1)
            result += np.matmul(part, columns.swapaxes(1, 2))
    return result.reshape(filters, x.shape[1] // groups, *kernel)


def _correlate_weight_by_samples(grad: Array, x: Array, kernel: Shape, geometry: Geometry) -> Array:
    """The same of one group with more places than rows: a product for each sample, of matrices as they lie.

    Where there are some channels they stand last, so that what a window sees is in long pieces.
    """
    batch, filters, *out = grad.shape
    channels, flat = x.shape[1], grad.reshape(batch, filters, -1)
    last = channels >= COLUMNS_CHANNELS
    if last:
        windows = windows_with_channels_last(x, kernel, tuple(out), geometry)
        shape = flat.shape[2], channels * math.prod(kernel)
    else:
        windows = windows_of(with_padding(x, geometry.padding), kernel, tuple(out), geometry)
        shape = channels * math.prod(kernel), flat.shape[2]
    result: Array = np.zeros((filters, channels * math.prod(kernel)), grad.dtype)
    for block in _blocks(batch, windows[0].size):
        columns = windows[block].reshape(-1, *shape)
        result += np.add.reduce(np.matmul(flat[block], columns if last else columns.swapaxes(1, 2)), 0)
    if not last:
        return result.reshape(filters, channels, *kernel)
    return np.ascontiguousarray(np.moveaxis(result.reshape(filters, *kernel, channels), -1, 1))


# --------------------------------------------------------------------------- the kernels


def _conjugate(x: Array) -> Array:
    return x.conj() if x.dtype.kind == "c" else x


_ONES = (1,) * 64


def _add_bias(out: Array, bias: Array | None) -> Array:
    if bias is not None:
        out += bias.reshape(-1, *_ONES[: out.ndim - 2])
    return out


def convolution(
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> Array:
    """The cross-correlation of ``input`` with ``weight``, or its transpose, plus ``bias`` for each channel.

    Raises RuntimeError for shapes that do not fit.
    """
    geometry, size = conv_geometry(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    batched = input.ndim == weight.ndim
    x = input if batched else input[None]
    if transposed:
        out = _add_bias(_correlate_input(x, weight, size, geometry), bias)
    else:
        out = _correlate(x, weight, geometry, bias)
    return out if batched else out[0]


def convolution_backward(
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_sizes: Shape | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    """Gradients of input, weight and bias; None for those that the mask does not ask for.

    Raises RuntimeError for shapes that do not fit.
    """
    geometry, _ = conv_geometry(
        input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups
    )
    if transposed:  # the taps see the places of the input only, not those that output_padding added
        return _gradients(
            *(grad_output, input, weight, output_mask),
            lambda grad, x: _cropped(_correlate(grad, _conjugate(weight), geometry), x.shape[2:]),
            lambda grad, x: _correlate_weight(_conjugate(x), grad, weight.shape[2:], geometry),
        )
    return _gradients(
        *(grad_output, input, weight, output_mask),
        lambda grad, x: _correlate_input(grad, _conjugate(weight), x.shape[2:], geometry),
        lambda grad, x: _correlate_weight(grad, _conjugate(x), weight.shape[2:], geometry),
    )


def _gradients(
    grad_output: Array,
    input: Array,
    weight: Array,
    output_mask: Sequence[bool],
    of_input: Callable[[Array, Array], Array],
    of_weight: Callable[[Array, Array], Array],
) -> Gradients:
    """The gradients that are asked for. The functions get gradient and input as batches."""
    batched = input.ndim == weight.ndim
    grad, x = (grad_output, input) if batched else (grad_output[None], input[None])
    grad_input = of_input(grad, x) if output_mask[0] else None
    if grad_input is not None and not batched:
        grad_input = grad_input[0]
    grad_weight = of_weight(grad, x) if output_mask[1] else None
    grad_bias = _sum_of_channels(grad) if output_mask[2] else None
    return grad_input, grad_weight, grad_bias


def _sum_of_channels(grad: Array) -> Array:
    """The sum over samples and places."""
    kernel = kernel_of_floats("row_sum", grad.dtype)
    if kernel is None or not grad.size:
        return grad.sum((0, *range(2, grad.ndim)), dtype=grad.dtype)
    total: Array = np.add.reduce(kernel(grad.reshape(*grad.shape[:2], -1)), 0)
    return total


def _cropped(x: Array, spatial: Shape) -> Array:
    """The first ``spatial`` places: an output padding can make room for one place too many."""
    if x.shape[2:] == spatial:
        return x
    return np.ascontiguousarray(x[(..., *[slice(n) for n in spatial])])
