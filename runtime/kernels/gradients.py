"""Functions that derivative formulas call, over real floating-point arrays.

Each is the function of ``runtime/formulas`` that has its name, for Nodes that apply formulas to arrays.
There nothing is differentiated again, so that a gradient may be computed in one's own memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .dims import wrap_dim
from .moments import centred
from .reductions import count, restore_dims
from .views import split_sizes

Array = Any
Shape = tuple[int, ...]
Dims = int | Sequence[int] | None
Number = int | float


def _listed(dim: Dims) -> tuple[int, ...] | None:
    return (dim,) if isinstance(dim, int) else None if dim is None else tuple(dim)


# -- extrema -----------------------------------------------------------------------------------


def share_among_equals(grad: Array, self: Array, result: Array, dim: Dims, keepdim: bool) -> Array:
    """The gradient in equal parts to the elements that are equal to the result."""
    dims = _listed(dim)
    mask = np.equal(self, restore_dims(result, dims, keepdim, self.ndim))
    shares = np.add.reduce(mask, dims or None if self.ndim else None, np.intp, keepdims=True)
    return np.multiply(restore_dims(grad, dims, keepdim, self.ndim) / shares.astype(grad.dtype), mask)


# -- moments -----------------------------------------------------------------------------------


def var_backward(grad: Array, self: Array, dim: Dims, correction: Number | None, keepdim: bool) -> Array:
    """grad * 2 (x - mean) / (n - correction)."""
    dims = _listed(dim)
    free = count(self, dims) - (1 if correction is None else correction)
    factor = restore_dims(grad, dims, keepdim, self.ndim) * (2 / free if free > 0 else np.inf)
    return centred(self, dims) * factor


def std_backward(
    grad: Array, self: Array, result: Array, dim: Dims, correction: Number | None, keepdim: bool
) -> Array:
    """grad * (x - mean) / (std (n - correction)), 0 where std is 0."""
    through = np.asarray(np.where(np.equal(result, 0), 0, grad / 2 / result))
    return var_backward(through, self, dim, correction, keepdim)


def logsumexp_backward(grad: Array, self: Array, result: Array, dim: Dims, keepdim: bool) -> Array:
    """grad * exp(x - logsumexp(x)), 0 where all are -inf."""
    dims = _listed(dim)
    result = np.where(np.equal(result, -np.inf), 0, result)
    out = np.asarray(np.subtract(self, restore_dims(result, dims, keepdim, self.ndim)))
    np.exp(out, out=out)
    out *= restore_dims(grad, dims, keepdim, self.ndim)
    return out


# -- shapes ------------------------------------------------------------------------------------


def cat_backward(grad: Array, shapes: Sequence[Shape], dim: int) -> tuple[Array, ...]:
    """The part of ``grad`` that belongs to each of the tensors; empty 1-d ones have none."""
    lead = (slice(None),) * wrap_dim(dim, grad.ndim)
    parts: list[Array] = []
    begin = 0
    for shape in shapes:
        if shape == (0,):
            parts.append(np.zeros((0,), grad.dtype))
            continue
        end = begin + shape[len(lead)]
        parts.append(grad[(*lead, slice(begin, end))])
        begin = end
    return tuple(parts)


def split_with_sizes_backward(
    grads: Sequence[Array | None], sizes: Sequence[int], dim: int, shape: Shape
) -> Array:
    """The gradients of the pieces one behind the other, zeros for those that have none."""
    d = wrap_dim(dim, len(shape))
    out = _space(grads, shape)
    lead = (slice(None),) * d
    begin = 0
    for grad, size in zip(grads, sizes, strict=True):
        out[(*lead, slice(begin, begin + size))] = 0 if grad is None else grad
        begin += size
    return out


def split_backward(grads: Sequence[Array | None], split_size: int, dim: int, shape: Shape) -> Array:
    """As ``split_with_sizes_backward``, for pieces of one size, the last of which may be less."""
    return split_with_sizes_backward(grads, split_sizes(shape[dim], split_size), dim, shape)


def unbind_backward(grads: Sequence[Array | None], dim: int, shape: Shape) -> Array:
    """The gradients of the slices side by side, zeros for those that have none."""
    lead = (slice(None),) * wrap_dim(dim, len(shape))
    out = _space(grads, shape)
    for i, grad in enumerate(grads):
        out[(*lead, i)] = 0 if grad is None else grad
    return out


def _space(grads: Sequence[Array | None], shape: Shape) -> Array:
    """A new array of the dtype of those gradients that are there."""
    return np.empty(shape, next((g.dtype for g in grads if g is not None), np.float32))
