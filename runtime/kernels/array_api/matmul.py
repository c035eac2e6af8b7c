"""Products of vectors and matrices; shapes are checked as ``kernels.matmul`` does."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .. import matmul as host
from ..dims import wrap_dim
from .common import Array, is_bool, is_complex, is_integral, moved, number_of

Number = bool | int | float | complex


def _shapes(*arrays: Array) -> list[tuple[int, ...]]:
    return [tuple(a.shape) for a in arrays]


def mm(xp: Any, self: Array, mat2: Array) -> Array:
    """The product of two matrices."""
    host.mm_shape(*_shapes(self, mat2))
    return xp.matmul(self, mat2)


def bmm(xp: Any, self: Array, mat2: Array) -> Array:
    """The products of matrices, one by one."""
    host.bmm_shape(*_shapes(self, mat2))
    return xp.matmul(self, mat2)


def batched_matmul(xp: Any, self: Array, other: Array) -> Array:
    """The products of matrices, of which the batches are broadcast."""
    host.batched_matmul_shape(*_shapes(self, other))
    return xp.matmul(self, other)


def mv(xp: Any, self: Array, vec: Array) -> Array:
    """A matrix times a vector."""
    host.mv_shape(*_shapes(self, vec))
    return xp.matmul(self, vec)


def dot(xp: Any, self: Array, tensor: Array) -> Array:
    """The sum of products; nothing is conjugated."""
    host.dot_shape(*_shapes(self, tensor))
    return xp.matmul(self, tensor)


def vdot(xp: Any, self: Array, other: Array) -> Array:
    """``dot`` with the first operand conjugated."""
    return dot(xp, xp.conj(self) if is_complex(xp, self) else self, other)


def _combined(xp: Any, self: Array, product: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * product``; with a beta of 0 nothing of ``self`` counts, NaN neither."""
    if is_integral(xp, product) or is_bool(xp, product):
        alpha, beta = number_of(alpha, product.dtype, xp), number_of(beta, product.dtype, xp)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    return product + (self if beta == 1 else self * beta)


def addmm(xp: Any, self: Array, mat1: Array, mat2: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * mat1 @ mat2``."""
    host.addmm_shape(*_shapes(self, mat1, mat2))
    return _combined(xp, self, xp.matmul(mat1, mat2), beta, alpha)


def addmv(xp: Any, self: Array, mat: Array, vec: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * mat @ vec``."""
    host.addmv_shape(*_shapes(self, mat, vec))
    return _combined(xp, self, xp.matmul(mat, vec), beta, alpha)


def baddbmm(xp: Any, self: Array, batch1: Array, batch2: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * batch1 @ batch2``."""
    host.baddbmm_shape(*_shapes(self, batch1, batch2))
    return _combined(xp, self, xp.matmul(batch1, batch2), beta, alpha)


def addbmm(xp: Any, self: Array, batch1: Array, batch2: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha *`` the sum of the products of the batches."""
    host.addbmm_shape(*_shapes(self, batch1, batch2))
    return _combined(xp, self, xp.sum(xp.matmul(batch1, batch2), axis=0, dtype=self.dtype), beta, alpha)


def linear(xp: Any, input: Array, weight: Array, bias: Array | None) -> Array:
    """``input @ weight.T + bias``."""
    host.linear_shape(tuple(input.shape), tuple(weight.shape), None if bias is None else tuple(bias.shape))
    result = xp.matmul(input, xp.permute_dims(weight, (1, 0)) if weight.ndim == 2 else weight)
    return result if bias is None else result + bias


def linear_input_backward(xp: Any, grad_output: Array, weight: Array) -> Array:
    """The gradient of ``linear`` by its input."""
    host.linear_input_shape(*_shapes(grad_output, weight))
    if weight.ndim == 1:
        return xp.reshape(grad_output, (*grad_output.shape, 1)) * weight
    return xp.matmul(grad_output, weight)


def linear_weight_backward(xp: Any, grad_output: Array, input: Array) -> Array:
    """The gradient of ``linear`` by its weight."""
    host.linear_weight_shape(*_shapes(grad_output, input))
    count = prod(input.shape[:-1])
    if grad_output.ndim < input.ndim:  # of a weight that is a vector
        return xp.matmul(xp.reshape(grad_output, (count,)), xp.reshape(input, (count, input.shape[-1])))
    rows = xp.reshape(grad_output, (count, grad_output.shape[-1]))
    return xp.matmul(xp.permute_dims(rows, (1, 0)), xp.reshape(input, (count, input.shape[-1])))


def linalg_cross(xp: Any, self: Array, other: Array, dim: int) -> Array:
    """The vector product along ``dim``."""
    host.cross_shape(tuple(self.shape), tuple(other.shape), dim)
    self, other = xp.broadcast_arrays(self, other)
    d = wrap_dim(dim, self.ndim)
    a, b = ([x[(*(slice(None),) * d, i, ...)] for i in range(3)] for x in (self, other))
    parts = [a[i] * b[j] - a[j] * b[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    return xp.stack(parts, axis=d)


def trace(xp: Any, self: Array) -> Array:
    """The sum of a matrix's diagonal; of integers in int64."""
    from .reductions import sum_dim

    host.trace_shape(tuple(self.shape))
    return sum_dim(xp, moved(xp, np.diagonal, self), None, False, None)
