"""Windows over images: convolution, by places that depend on shapes alone, and windows at random places."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from ..nn import conv as host_conv, max_windows as host_max
from .common import Array, flat, is_complex

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
    seen = xp.at(rows, xp.constant(places), 2)
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


def fractional_max_pool(
    xp: Any, self: Array, kernel_size: Shape, output_size: Shape, random_samples: Array
) -> tuple[Array, Array]:
    """The maxima of windows that begin at random places, and where they are in the flattened image."""
    shape = host_max.fractional_shape(self, kernel_size, output_size, random_samples)
    like = [(tuple(shape), xp.numpy_dtype(self.dtype)), (tuple(shape), np.dtype("int64"))]
    given = (self, kernel_size, output_size, random_samples)
    best, where = xp.on_host(host_max.fractional_max_pool, like, *given)
    return best, where
