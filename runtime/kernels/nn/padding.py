"""Padding: constant values, reflections, and repetitions of the border."""

from __future__ import annotations

import numpy as np

from ..creation import held
from ..layout import check_bytes
from ..reduced import converted, upcast
from .common import Array, Number, Shape

Pairs = list[tuple[int, int]]


def pad_pairs(pad: Shape, ndim: int) -> Pairs:
    """(before, after) for each dim in order, of a list that begins with the last dim. Meta shares it.

    Raises RuntimeError for an odd length or more pairs than dims.
    """
    if len(pad) % 2:
        raise RuntimeError(f"Length of pad must be even but instead it equals {len(pad)}")
    if len(pad) // 2 > ndim:
        raise RuntimeError(
            "Length of pad should be no more than twice the number of dimensions of the input. "
            f"Pad length is {len(pad)} while the input has {ndim} dimensions."
        )
    pairs = list(zip(pad[::2], pad[1::2], strict=True))[::-1]
    return [(0, 0)] * (ndim - len(pairs)) + pairs


def padded_shape(shape: Shape, pairs: Pairs) -> Shape:
    """The shape with the pads added; RuntimeError when a negative one leaves less than nothing."""
    out = tuple([n + before + after for n, (before, after) in zip(shape, pairs, strict=True)])
    for n, size, (before, after) in zip(shape, out, pairs, strict=True):
        if size < 0:
            raise RuntimeError(
                f"The input size {n}, plus negative padding {before} and {after} resulted in a negative "
                "output size, which is invalid."
            )
    return out


def constant_pad_nd(self: Array, pad: Shape, value: Number) -> Array:
    """``value`` around the last dims; negative pads cut off.

    ``pad`` is (before, after) of the last dim, then of the one before it, and so on. Raises RuntimeError for
    a value that the dtype cannot hold.
    """
    pairs = pad_pairs(pad, self.ndim)
    out = np.empty(padded_shape(self.shape, pairs), self.dtype)
    out[...] = held(value, self.dtype)
    source = tuple([slice(max(-b, 0), n - max(-a, 0)) for n, (b, a) in zip(self.shape, pairs, strict=True)])
    target = tuple([slice(max(b, 0), n - max(a, 0)) for n, (b, a) in zip(out.shape, pairs, strict=True)])
    out[target] = self[source]
    return out


def mirror_shape(self: Array, padding: Shape, reflect: bool) -> Shape:
    """The shape after reflecting or replicating the last ``len(padding) / 2`` dims. Meta shares it.

    Raises RuntimeError for inputs of other dimensions and reflections wider than the input.
    """
    dims = len(padding) // 2
    if self.ndim not in (dims + 1, dims + 2) or 0 in self.shape[-dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size and other "
            f"non-zero dimensions for input, but got: {list(self.shape)}"
        )
    pairs = pad_pairs(padding, self.ndim)
    if reflect:
        for dim in range(self.ndim - dims, self.ndim):
            n, (before, after) = self.shape[dim], pairs[dim]
            if before >= n or after >= n:
                raise RuntimeError(
                    "Padding size should be less than the corresponding input dimension, but got: "
                    f"padding ({before}, {after}) at dimension {dim} of input {list(self.shape)}"
                )
    shape = tuple([n + before + after for n, (before, after) in zip(self.shape, pairs, strict=True)])
    # As PyTorch: all is an error, some may be empty.
    if max(shape[-dims:]) < 1 or min(shape[-dims:]) < 0:
        raise RuntimeError(f"input {list(self.shape)} is too small for padding {list(padding)}")
    check_bytes(shape, self.dtype.itemsize)
    return shape


def _sources(n: int, before: int, after: int, reflect: bool) -> Array:
    """For each place of the padded dim the place of the input that it shows."""
    place = np.arange(-before, n + after)
    if reflect:
        place = np.abs(place)
        return np.where(place >= n, 2 * (n - 1) - place, place)
    return np.clip(place, 0, n - 1)


def _mirrored(self: Array, padding: Shape, reflect: bool) -> Array:
    mirror_shape(self, padding, reflect)
    out = self
    for dim, (before, after) in enumerate(pad_pairs(padding, self.ndim)):
        if before or after:
            out = out.take(_sources(self.shape[dim], before, after, reflect), dim)
    return out.copy() if out is self else out


def _mirrored_backward(grad_output: Array, self: Array, padding: Shape, reflect: bool) -> Array:
    """Every place's gradient added to the place that it showed."""
    mirror_shape(self, padding, reflect)
    out = upcast(grad_output)
    for dim, (before, after) in enumerate(pad_pairs(padding, self.ndim)):
        if before or after:
            out = _folded(out, dim, self.shape[dim], before, after, reflect)
    return grad_output.copy() if out is grad_output else converted(out, grad_output.dtype)


def _folded(grad: Array, dim: int, n: int, before: int, after: int, reflect: bool) -> Array:
    """One dim folded back to ``n`` places."""
    grad = np.moveaxis(grad, dim, 0)
    out = np.zeros((n, *grad.shape[1:]), grad.dtype)
    # What lies inside goes home in one piece; only the pads are added place by place.
    first = min(max(before, 0), len(grad))
    last = max(first, min(before + n, len(grad)))  # all may be cut off that lay inside
    start = first - before
    out[start : start + last - first] = grad[first:last]
    sources = _sources(n, before, after, reflect)
    for place in (*range(first), *range(last, len(grad))):
        out[sources[place]] += grad[place]
    return np.ascontiguousarray(np.moveaxis(out, 0, dim))


def reflection_pad_forward(self: Array, padding: Shape) -> Array:
    """The input mirrored at its borders, which are not repeated."""
    return _mirrored(self, padding, True)


def reflection_pad_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    return _mirrored_backward(grad_output, self, padding, True)


def replication_pad_forward(self: Array, padding: Shape) -> Array:
    """The border's values repeated outwards."""
    return _mirrored(self, padding, False)


def replication_pad_backward(grad_output: Array, self: Array, padding: Shape) -> Array:
    return _mirrored_backward(grad_output, self, padding, False)
