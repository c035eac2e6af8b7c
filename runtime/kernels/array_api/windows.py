"""Windows over images: convolution, pooling and resizing, by places that depend on shapes alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..index_checks import all_in_range
from ..nn import conv as host_conv, max_windows as host_max, pooling as host_pool, resize as host_resize
from ..nn.common import with_dims
from .common import Array, as_array, flat, is_complex, is_integral, is_real
from .pointwise import div_rounded

Shape = Sequence[int]
Gradients = tuple[Array | None, Array | None, Array | None]


# -- convolution ----------------------------------------------------------------------------------


def _taps(spatial: Shape, kernel: Shape, out: Shape, geometry: Any) -> Any:
    """For each tap and each place of the result the flat place in the padded input, (taps, places)."""
    places: Any = np.zeros((1,) * (2 * len(kernel)), np.int64)
    for d, (n, k, o) in enumerate(zip(spatial, kernel, out, strict=True)):
        own = np.arange(k)[:, None] * geometry.dilation[d] + np.arange(o) * geometry.stride[d]
        shape = [1] * (2 * len(kernel))
        shape[d], shape[len(kernel) + d] = k, o
        places = places * (n + 2 * geometry.padding[d]) + own.reshape(shape)
    return places.reshape(prod(kernel), prod(out))


def _padded(xp: Any, x: Array, padding: Shape) -> Array:
    for d, p in enumerate(padding):
        if p:
            axis = x.ndim - len(padding) + d
            zeros = xp.zeros((*x.shape[:axis], p, *x.shape[axis + 1 :]), dtype=x.dtype)
            x = xp.concat([zeros, x, zeros], axis=axis)
    return x


def _columns(xp: Any, x: Array, kernel: Shape, out: Shape, geometry: Any) -> Array:
    """What each tap sees: (batch, groups, channels of a group * taps, places)."""
    batch, channels = x.shape[:2]
    places = _taps(x.shape[2:], kernel, out, geometry)
    padded = _padded(xp, x, geometry.padding)
    rows = xp.reshape(padded, (batch, channels, -1))
    seen = xp.take(rows, xp.constant(places.reshape(-1)), axis=2)
    groups = geometry.groups
    return xp.reshape(seen, (batch, groups, channels // groups * places.shape[0], places.shape[1]))


def _correlate(xp: Any, x: Array, weight: Array, geometry: Any) -> Array:
    kernel = tuple(weight.shape[2:])
    out = geometry.out(tuple(x.shape[2:]), kernel)
    columns = _columns(xp, x, kernel, out, geometry)
    groups = geometry.groups
    rows = xp.reshape(weight, (groups, weight.shape[0] // groups, -1))
    return xp.reshape(xp.matmul(rows, columns), (x.shape[0], weight.shape[0], *out))


def _correlate_input(xp: Any, grad: Array, weight: Array, spatial: Shape, geometry: Any) -> Array:
    """The transpose of ``_correlate``: what the taps see, added up where they see it."""
    kernel, out, groups = tuple(weight.shape[2:]), tuple(grad.shape[2:]), geometry.groups
    batch, channels = grad.shape[0], weight.shape[1] * groups
    rows = xp.reshape(weight, (groups, weight.shape[0] // groups, -1))
    values = xp.reshape(grad, (batch, groups, weight.shape[0] // groups, prod(out)))
    columns = xp.reshape(xp.matmul(xp.matrix_transpose(rows), values), (batch * channels, -1))
    reach = [
        max(n + 2 * p, (o - 1) * s + d * (k - 1) + 1)
        for n, p, o, s, d, k in zip(
            spatial, geometry.padding, out, geometry.stride, geometry.dilation, kernel, strict=True
        )
    ]
    inner = [n - 2 * p for n, p in zip(reach, geometry.padding, strict=True)]
    places = _taps(inner, kernel, out, geometry).reshape(-1)
    total = prod(reach)
    every = (np.arange(batch * channels)[:, None] * total + places).reshape(-1)
    zeros = xp.zeros((batch * channels * total,), dtype=grad.dtype)
    summed = xp.scatter(zeros, xp.constant(every), flat(xp, columns), "add")
    image = xp.reshape(summed, (batch, channels, *reach))
    inside = [slice(p, p + n) for p, n in zip(geometry.padding, spatial, strict=True)]
    return image[(slice(None), slice(None), *inside)]


def _correlate_weight(xp: Any, grad: Array, x: Array, kernel: Shape, geometry: Any) -> Array:
    out, groups = tuple(grad.shape[2:]), geometry.groups
    columns = _columns(xp, x, kernel, out, geometry)
    values = xp.reshape(grad, (grad.shape[0], groups, grad.shape[1] // groups, prod(out)))
    found = xp.sum(xp.matmul(values, xp.matrix_transpose(columns)), axis=0)
    return xp.reshape(found, (grad.shape[1], x.shape[1] // groups, *kernel))


def _conj(xp: Any, x: Array) -> Array:
    return xp.conj(x) if is_complex(xp, x) else x


def _with_bias(xp: Any, out: Array, bias: Array | None) -> Array:
    return out if bias is None else out + xp.reshape(bias, (-1, *[1] * (out.ndim - 2)))


def _batched(xp: Any, x: Array, weight: Array) -> Array:
    return x if x.ndim == weight.ndim else xp.expand_dims(x, axis=0)


def _bias_gradient(xp: Any, grad: Array) -> Array:
    return xp.sum(grad, axis=(0, *range(2, grad.ndim)), dtype=grad.dtype)


def convolution(
    xp: Any,
    input: Array,
    weight: Array,
    bias: Array | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Array:
    """The cross-correlation with ``weight``, or its transpose, plus ``bias`` for each channel."""
    given = (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    geometry, size = host_conv.conv_geometry(*given)
    x = _batched(xp, input, weight)
    if transposed:
        found = _correlate_input(xp, x, weight, size, geometry)
    else:
        found = _correlate(xp, x, weight, geometry)
    out = _with_bias(xp, found, bias)
    return out if input.ndim == weight.ndim else out[0, ...]


def convolution_backward(
    xp: Any,
    grad_output: Array,
    input: Array,
    weight: Array,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    output_mask: Sequence[bool],
) -> Gradients:
    """Gradients of input, weight and bias; None for those that the mask does not ask for."""
    given = (input, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups)
    geometry, _ = host_conv.conv_geometry(*given)
    grad, x = _batched(xp, grad_output, weight), _batched(xp, input, weight)
    for_input = for_weight = None
    if output_mask[0]:
        conjugate = _conj(xp, weight)
        if transposed:
            cut = (slice(None), slice(None), *[slice(n) for n in x.shape[2:]])
            found = _correlate(xp, grad, conjugate, geometry)[cut]
        else:
            found = _correlate_input(xp, grad, conjugate, tuple(x.shape[2:]), geometry)
        for_input = xp.reshape(found, input.shape)
    if output_mask[1]:
        seen = (_conj(xp, x), grad) if transposed else (grad, _conj(xp, x))
        for_weight = _correlate_weight(xp, *seen, tuple(weight.shape[2:]), geometry)
    return for_input, for_weight, _bias_gradient(xp, grad) if output_mask[2] else None


# -- pooling --------------------------------------------------------------------------------------


def _pool_places(window: Any) -> tuple[Any, Any]:
    """Flat places in the input of each tap of each window, (places, taps), and which lie inside."""
    offsets, base = host_pool.window_places(window)
    inside: Any = np.ones((1,) * (2 * len(window.kernel)), np.bool_)
    for d, (n, k) in enumerate(zip(window.spatial, window.kernel, strict=True)):
        own = window.starts(d)[:, None] + np.arange(k) * window.dilation[d]
        shape = [1] * (2 * len(window.kernel))
        shape[d], shape[len(window.kernel) + d] = own.shape
        inside = inside & ((own >= 0) & (own < n)).reshape(shape)
    inside = np.broadcast_to(inside, (*window.out, *window.kernel)).reshape(prod(window.out), -1)
    places = base.reshape(-1, 1) + offsets
    return np.where(inside, places, 0), inside


def _seen(xp: Any, self: Array, window: Any) -> tuple[Array, Any, Any]:
    """What the windows see, (planes, places, taps), with the places and which lie inside."""
    places, inside = _pool_places(window)
    planes = xp.reshape(self, (-1, prod(window.spatial)))
    found = xp.take(planes, xp.constant(places.reshape(-1)), axis=1)
    return xp.reshape(found, (planes.shape[0], *places.shape)), places, inside


def _least(xp: Any, self: Array) -> Any:
    return float("-inf") if is_real(xp, self) else int(xp.iinfo(self.dtype).min)


def _chosen(xp: Any, seen: Array, places: Array) -> tuple[Array, Array]:
    """The maximum along the last dimension, the first of equal ones or NaN, and which place it is at."""
    key = seen
    if is_real(xp, seen):
        key = xp.where(seen != seen, as_array(xp, float("inf"), seen), seen)
        unknown = xp.astype(seen != seen, xp.uint8)
        first = xp.argmax(unknown, axis=-1, keepdims=True)
        some = xp.any(unknown != 0, axis=-1, keepdims=True)
        tap = xp.where(some, first, xp.argmax(key, axis=-1, keepdims=True))
    else:
        tap = xp.argmax(key, axis=-1, keepdims=True)
    tap = xp.astype(tap, xp.int64)
    best = xp.squeeze(xp.take_along_axis(seen, tap, axis=-1), axis=-1)
    where = xp.squeeze(xp.take_along_axis(xp.broadcast_to(places, seen.shape), tap, axis=-1), axis=-1)
    return best, where


def _max_pool(
    xp: Any,
    self: Array,
    dims: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
) -> tuple[Array, Array]:
    window = host_pool.pool_window(self, dims, kernel_size, stride, padding, dilation, ceil_mode)
    shape = (*self.shape[:-dims], *window.out)
    if not self.size:
        return xp.zeros(shape, dtype=self.dtype), xp.zeros(shape, dtype=xp.int64)
    seen, places, inside = _seen(xp, self, window)
    # What lies outside stands for the first tap inside: it is never greater, and never first.
    first = places[np.arange(len(places)), inside.argmax(1)]
    seen = xp.where(xp.from_host(inside), seen, as_array(xp, _least(xp, self), self))
    best, where = _chosen(xp, seen, xp.from_host(np.where(inside, places, first[:, None])))
    return xp.reshape(best, shape), xp.reshape(where, shape)


def _check_places(size: int, indices: Any) -> None:
    if not all_in_range(indices, size):
        raise RuntimeError(f"indices must be between 0 and {size - 1}, the elements of a plane of self")


def _max_pool_gradient(
    xp: Any,
    grad_output: Array,
    self: Array,
    dims: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: Array,
) -> Array:
    window = host_pool.pool_window(self, dims, kernel_size, stride, padding, dilation, ceil_mode)
    zeros = xp.zeros((self.size,), dtype=grad_output.dtype)
    if not self.size:
        return xp.reshape(zeros, self.shape)
    size = prod(window.spatial)
    indices = xp.checked(indices, partial(_check_places, size))
    planes = xp.from_host(np.arange(self.size // size, dtype=np.int64)[:, None] * size)
    places = xp.reshape(indices, (self.size // size, -1)) + planes
    return xp.reshape(xp.scatter(zeros, flat(xp, places), flat(xp, grad_output), "add"), self.shape)


def _avg_pool(
    xp: Any,
    self: Array,
    dims: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Array:
    given = (kernel_size, stride, padding, ceil_mode)
    window = host_pool.avg_pool_window(self, dims, *given, divisor_override)
    shape = (*self.shape[:-dims], *window.out)
    if not self.size:
        return xp.zeros(shape, dtype=self.dtype)
    seen, _, inside = _seen(xp, self, window)
    total = xp.sum(xp.where(xp.from_host(inside), seen, xp.zeros_like(seen)), axis=-1, dtype=self.dtype)
    divisors = _divisors(xp, window, count_include_pad, divisor_override, self)
    found = div_rounded(xp, total, divisors, "trunc") if is_integral(xp, self) else total / divisors
    return xp.reshape(found, shape)


def _divisors(xp: Any, window: Any, count_include_pad: bool, override: int | None, like: Array) -> Array:
    found = host_pool.window_divisors(window, count_include_pad, override)
    every = np.broadcast_to(np.asarray(found), window.out).reshape(-1)
    return xp.astype(xp.from_host(every), like.dtype)


def _avg_pool_gradient(
    xp: Any,
    grad_output: Array,
    self: Array,
    dims: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None = None,
) -> Array:
    given = (kernel_size, stride, padding, ceil_mode)
    window = host_pool.avg_pool_window(self, dims, *given, divisor_override)
    zeros = xp.zeros((self.size,), dtype=grad_output.dtype)
    if not self.size:
        return xp.reshape(zeros, self.shape)
    places, inside = _pool_places(window)
    planes = self.size // prod(window.spatial)
    share = xp.reshape(grad_output, (planes, -1)) / _divisors(
        xp, window, count_include_pad, divisor_override, grad_output
    )
    used, tap = np.nonzero(inside)
    values = xp.take(share, xp.constant(used), axis=1)
    every = np.arange(planes)[:, None] * prod(window.spatial) + places[used, tap]
    summed = xp.scatter(zeros, xp.constant(every.reshape(-1)), flat(xp, values), "add")
    return xp.reshape(summed, self.shape)


max_pool1d_forward = with_dims(_max_pool, 1, 2)
max_pool2d_forward = with_dims(_max_pool, 2, 2)
max_pool3d_forward = with_dims(_max_pool, 3, 2)
max_pool1d_backward = with_dims(_max_pool_gradient, 1, 3)
max_pool2d_backward = with_dims(_max_pool_gradient, 2, 3)
max_pool3d_backward = with_dims(_max_pool_gradient, 3, 3)
avg_pool1d_forward = with_dims(_avg_pool, 1, 2)
avg_pool2d_forward = with_dims(_avg_pool, 2, 2)
avg_pool3d_forward = with_dims(_avg_pool, 3, 2)
avg_pool1d_backward = with_dims(_avg_pool_gradient, 1, 3)
avg_pool2d_backward = with_dims(_avg_pool_gradient, 2, 3)
avg_pool3d_backward = with_dims(_avg_pool_gradient, 3, 3)


# -- along one dimension after the other, by matrices ----------------------------------------------


def _along(xp: Any, x: Array, axis: int, matrix: Any) -> Array:
    """The elements along an axis, combined by the rows of a matrix of NumPy's."""
    order = [d for d in range(x.ndim) if d != axis]
    rows = xp.permute_dims(x, (*order, axis))
    factors = xp.astype(xp.from_host(np.ascontiguousarray(matrix.T)), x.dtype)
    back = np.argsort([*order, axis])
    return xp.permute_dims(xp.matmul(rows, factors), tuple(int(d) for d in back))


def _mean_matrix(n: int, out: int) -> Any:
    starts, ends = host_pool.adaptive_bounds(n, out)
    place = np.arange(n)
    inside = (place >= starts[:, None]) & (place < ends[:, None])
    return inside / (ends - starts)[:, None]


def _adaptive_avg_pool(xp: Any, self: Array, dims: int, output_size: Shape) -> Array:
    out = host_pool.adaptive_out(self, dims, tuple(output_size))
    if 0 in out or not self.size:
        return xp.zeros((*self.shape[:-dims], *out), dtype=self.dtype)
    for d, size in enumerate(out):
        axis = self.ndim - dims + d
        self = _along(xp, self, axis, _mean_matrix(self.shape[axis], size))
    return self


def _adaptive_avg_pool_gradient(
    xp: Any, grad_output: Array, self: Array, dims: int, output_size: Shape
) -> Array:
    if not grad_output.size:
        return xp.zeros(self.shape, dtype=grad_output.dtype)
    for d in range(dims):
        axis = self.ndim - dims + d
        matrix = _mean_matrix(self.shape[axis], grad_output.shape[axis]).T
        grad_output = _along(xp, grad_output, axis, matrix)
    return grad_output


adaptive_avg_pool1d_forward = with_dims(_adaptive_avg_pool, 1, 2)
adaptive_avg_pool2d_forward = with_dims(_adaptive_avg_pool, 2, 2)
adaptive_avg_pool3d_forward = with_dims(_adaptive_avg_pool, 3, 2)
adaptive_avg_pool1d_backward = with_dims(_adaptive_avg_pool_gradient, 1, 3)
adaptive_avg_pool2d_backward = with_dims(_adaptive_avg_pool_gradient, 2, 3)
adaptive_avg_pool3d_backward = with_dims(_adaptive_avg_pool_gradient, 3, 3)


def _adaptive_max_pool(xp: Any, self: Array, dims: int, output_size: Shape) -> tuple[Array, Array]:
    """The maxima of windows of as equal a size as possible, and where they are in the flattened image."""
    out = host_pool.adaptive_out(self, dims, tuple(output_size))
    shape = (*self.shape[:-dims], *out)
    if 0 in out or not self.size:
        return xp.zeros(shape, dtype=self.dtype), xp.zeros(shape, dtype=xp.int64)
    sizes = tuple(self.shape[-dims:])
    numbers = np.broadcast_to(np.arange(prod(sizes)).reshape(sizes), self.shape).astype(np.int64)
    best, where = self, xp.from_host(numbers)
    for axis in reversed(range(self.ndim - dims, self.ndim)):
        n, size = self.shape[axis], out[axis - self.ndim + dims]
        starts, ends = host_pool.adaptive_bounds(n, size)
        taps = np.minimum(starts[:, None] + np.arange((ends - starts).max()), ends[:, None] - 1)
        parts = [_windows(xp, a, axis, taps) for a in (best, where)]
        best, where = _chosen(xp, *parts)
    return best, where


adaptive_max_pool1d = with_dims(_adaptive_max_pool, 1, 2)
adaptive_max_pool2d = with_dims(_adaptive_max_pool, 2, 2)
adaptive_max_pool3d = with_dims(_adaptive_max_pool, 3, 2)


def _windows(xp: Any, x: Array, axis: int, taps: Any) -> Array:
    """The elements of windows along an axis as the last dimension."""
    found = xp.take(x, xp.constant(taps.reshape(-1)), axis=axis)
    found = xp.reshape(found, (*x.shape[:axis], *taps.shape, *x.shape[axis + 1 :]))
    order = [d for d in range(found.ndim) if d != axis + 1]
    return xp.permute_dims(found, (*order, axis + 1))


def fractional_max_pool(
    xp: Any, self: Array, kernel_size: Shape, output_size: Shape, random_samples: Array
) -> tuple[Array, Array]:
    """The maxima of windows that begin at random places, and where they are in the flattened image."""
    shape = host_max.fractional_shape(self, kernel_size, output_size, random_samples)
    like = [(tuple(shape), xp.numpy_dtype(self.dtype)), (tuple(shape), np.dtype("int64"))]
    given = (self, kernel_size, output_size, random_samples)
    best, where = xp.on_host(host_max.fractional_max_pool, like, *given)
    return best, where


# -- resizing ---------------------------------------------------------------------------------------


def _resize_matrix(mode: str, n: int, new: int, align_corners: bool, scale: float | None) -> Any:
    places, weights = host_resize.taps_of(mode, n, new, align_corners, scale)
    matrix = np.zeros((new, n))
    np.add.at(matrix, (np.arange(new)[:, None], places), weights)
    return matrix


def upsample(xp: Any, self: Array, mode: str, output_size: Shape, align_corners: bool, scales: Any) -> Array:
    """The last dims resized. Integers are rounded once, at the end."""
    host_resize.resized_shape(self, output_size)
    whole = is_integral(xp, self)
    out = self
    for number, new in enumerate(output_size):
        axis = self.ndim - len(output_size) + number
        given = (mode, self.shape[axis], new, align_corners, scales[number] if scales else None)
        places, weights = host_resize.taps_of(*given)
        if places.shape[1] == 1 and (weights == 1).all():
            out = xp.take(out, xp.constant(places[:, 0]), axis=axis)
            continue
        out = xp.astype(out, xp.float64) if whole and is_integral(xp, out) else out
        out = _along(xp, out, axis, _resize_matrix(*given))
    if whole and not is_integral(xp, out):
        bounds = xp.iinfo(self.dtype)
        out = xp.clip(xp.round(out), float(bounds.min), float(bounds.max))
        out = xp.astype(out, self.dtype)
    return out


def upsample_backward(
    xp: Any, grad_output: Array, mode: str, input_size: Shape, align_corners: bool, scales: Any
) -> Array:
    """What each new element was made of gets its share of the gradient."""
    for number, n in enumerate(input_size):
        axis = grad_output.ndim - len(input_size) + number
        scale = scales[number] if scales else None
        matrix = _resize_matrix(mode, n, grad_output.shape[axis], align_corners, scale)
        grad_output = _along(xp, grad_output, axis, matrix.T)
    return grad_output
