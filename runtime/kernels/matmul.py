"""Products of vectors and matrices: mm, bmm, mv, dot, the addmm family, linear, cross, trace.

Operands have one dtype (float16 and bfloat16 arrive as float32). Integers wrap around as C's do.
The ``*_shape`` functions check the shapes and are shared with the Meta device.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..core.costs import LINEAR_FEW_ROWS, LINEAR_LEAST
from . import sums
from .blas import touch_for, untouched
from .creation import as_number
from .dims import wrap_dim
from .layout import expanded
from .linalg_checks import broadcast_batches

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Shape = tuple[int, ...]
Number = bool | int | float | complex


# ----------------------------------------------------------------------------- shape checks


def mm_shape(self: Shape, mat2: Shape) -> Shape:
    """``(n, m) x (m, p) -> (n, p)``; RuntimeError for anything else."""
    if len(self) != 2:
        raise RuntimeError("self must be a matrix")
    if len(mat2) != 2:
        raise RuntimeError("mat2 must be a matrix")
    if self[1] != mat2[0]:
        raise RuntimeError(_cannot_multiply(self, mat2))
    return self[0], mat2[1]


def bmm_shape(batch1: Shape, batch2: Shape) -> Shape:
    """``(b, n, m) x (b, m, p) -> (b, n, p)``; RuntimeError for anything else."""
    for name, shape in (("batch1", batch1), ("batch2", batch2)):
        if len(shape) != 3:
            raise RuntimeError(f"{name} must be a 3D tensor, but it is {len(shape)}D")
    if batch1[0] != batch2[0] or batch1[2] != batch2[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{batch1[0]}, {batch1[2]}] "
            f"but got: [{batch2[0]}, {batch2[1]}]."
        )
    return batch1[0], batch1[1], batch2[2]


def batched_matmul_shape(self: Shape, other: Shape) -> Shape:
    """``(*, n, m) x (+, m, p)``: matrices of which there are the broadcast batches. RuntimeError for vectors,
    for other inner sizes, and for batches that do not broadcast."""
    if len(self) < 2 or len(other) < 2:
        raise RuntimeError(f"matrices expected, got {len(self)}D and {len(other)}D tensors")
    if self[-1] != other[-2]:
        count = prod(other[:-2])
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{count}, {self[-1]}] "
            f"but got: [{count}, {other[-2]}]."
        )
    return (*broadcast_batches(self[:-2], other[:-2]), self[-2], other[-1])


def mv_shape(mat: Shape, vec: Shape) -> Shape:
    """``(n, m) x (m,) -> (n,)``; RuntimeError for anything else."""
    if len(mat) != 2 or len(vec) != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {len(mat)}, {len(vec)}")
    if mat[1] != vec[0]:
        raise RuntimeError(f"size mismatch, got input ({mat[0]}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})")
    return (mat[0],)


def dot_shape(self: Shape, tensor: Shape) -> Shape:
    """``(n,) x (n,) -> ()``; RuntimeError for anything else."""
    if len(self) != 1 or len(tensor) != 1:
        raise RuntimeError(f"1D tensors expected, but got {len(self)}D and {len(tensor)}D tensors")
    if self != tensor:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{self[0]}] and src [{tensor[0]}] to have the same "
            f"number of elements, but got {self[0]} and {tensor[0]} elements respectively"
        )
    return ()


def addmm_shape(self: Shape, mat1: Shape, mat2: Shape) -> Shape:
    """The shape of ``mat1 @ mat2``, to which ``self`` must expand. RuntimeError for what is no matrix, does
    not fit or does not expand."""
    for name, shape in (("mat1", mat1), ("mat2", mat2)):
        if len(shape) != 2:
            raise RuntimeError(f"{name} must be a matrix, got {len(shape)}-D tensor")
    if mat1[1] != mat2[0]:
        raise RuntimeError(_cannot_multiply(mat1, mat2))
    return _expands(self, (mat1[0], mat2[1]))


def addmv_shape(self: Shape, mat: Shape, vec: Shape) -> Shape:
    """The shape of ``mat @ vec``, to which ``self`` must expand. RuntimeError for other numbers of dimensions
    and for sizes that differ."""
    if len(mat) != 2 or len(vec) != 1 or len(self) > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {len(self)}, {len(mat)}, {len(vec)}")
    if mat[1] != vec[0] or (self and self[0] not in (1, mat[0])):
        size = self[0] if self else mat[0]
        raise RuntimeError(f"size mismatch, got input ({size}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})")
    return (mat[0],)


def baddbmm_shape(self: Shape, batch1: Shape, batch2: Shape) -> Shape:
    """The shape of ``bmm(batch1, batch2)``, to which ``self`` must expand."""
    return _expands(self, bmm_shape(batch1, batch2))


def addbmm_shape(self: Shape, batch1: Shape, batch2: Shape) -> Shape:
    """The shape of ``bmm(batch1, batch2).sum(0)``, to which ``self`` must expand."""
    return _expands(self, bmm_shape(batch1, batch2)[1:])


def linear_shape(input: Shape, weight: Shape, bias: Shape | None) -> Shape:
    """``(*, in) x (out, in) -> (*, out)``, or ``(*, in) x (in,) -> (*)`` without a bias. RuntimeError for 0-d
    arguments, a weight of more than two dimensions, another inner size, or a bias that does not expand."""
    if not input or not weight:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {len(input)}D and {len(weight)}D"
        )
    if len(weight) > 2 or (len(weight) == 1 and bias is not None and len(input) > 1):
        raise RuntimeError(f"weight must be a matrix, got {len(weight)}-D tensor")
    if input[-1] != weight[-1]:
        raise RuntimeError(_cannot_multiply((prod(input[:-1]), input[-1]), weight[::-1]))
    result = input[:-1] + weight[:-1]
    return result if bias is None else _expands(bias, result)


def linear_input_shape(grad_output: Shape, weight: Shape) -> Shape:
    """The shape of the input of ``linear``, from those of its result and its weight. RuntimeError where their
    last and first size differ."""
    if len(weight) == 1:
        return grad_output + weight
    if len(weight) != 2 or not grad_output or grad_output[-1] != weight[0]:
        raise RuntimeError(f"a gradient of shape {list(grad_output)} does not fit a weight of {list(weight)}")
    return grad_output[:-1] + weight[1:]


def linear_weight_shape(grad_output: Shape, input: Shape) -> Shape:
    """The shape of the weight of ``linear``, from those of its result and its input. RuntimeError where they
    differ before the last."""
    if grad_output == input[:-1]:
        return input[-1:]
    if not input or grad_output[:-1] != input[:-1]:
        raise RuntimeError(f"a gradient of shape {list(grad_output)} does not fit an input of {list(input)}")
    return grad_output[-1:] + input[-1:]


def cross_shape(self: Shape, other: Shape, dim: int) -> Shape:
    """The broadcast shape; ``dim`` must have size 3 in both. RuntimeError for another, IndexError for 0-d
    arguments."""
    if len(self) != len(other):
        raise RuntimeError("inputs must have the same number of dimensions.")
    if not self:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    at = wrap_dim(dim, len(self))
    if self[at] != 3 or other[at] != 3:
        raise RuntimeError(f"inputs dimension {dim} must have length 3. Got {self[at]} and {other[at]}")
    return broadcast_batches(self, other)


def trace_shape(self: Shape) -> Shape:
    """``(n, m) -> ()``. RuntimeError for anything but one matrix."""
    if len(self) != 2:
        raise RuntimeError(f"expected a matrix, but got tensor with dim {len(self)}")
    return ()


def _cannot_multiply(a: Shape, b: Shape) -> str:
    return f"mat1 and mat2 shapes cannot be multiplied ({'x'.join(map(str, a))} and {'x'.join(map(str, b))})"


def _expands(shape: Shape, target: Shape) -> Shape:
    """``target``; RuntimeError when ``shape`` does not expand to it."""
    expanded(shape, shape, target)
    return target


# --------------------------------------------------------------------------------- kernels


def mm(self: Array, mat2: Array) -> Array:
    """The matrix product ``(n, m) x (m, p) -> (n, p)``. RuntimeError for shapes that ``mm_shape`` refuses."""
    if self.ndim == 2 and mat2.ndim == 2:
        if untouched:
            touch_for(mat2)
        try:
            return self.dot(mat2)  # less than half of np.matmul's overhead and the same for matrices
        except ValueError:
            pass  # it is said below what is wrong
    mm_shape(self.shape, mat2.shape)
    raise AssertionError("mm_shape accepts no other shapes")


def bmm(self: Array, mat2: Array) -> Array:
    """The matrix products of a batch, ``(b, n, m) x (b, m, p) -> (b, n, p)``."""
    bmm_shape(self.shape, mat2.shape)
    return batched_product(self, mat2)


def batched_matmul(self: Array, other: Array) -> Array:
    """The matrix products of batches that broadcast."""
    batched_matmul_shape(self.shape, other.shape)
    return batched_product(self, other)


def batched_product(self: Array, other: Array) -> Array:
    """As np.matmul, which for columns with rows calls BLAS for each pair, and takes several times as long."""
    if untouched:
        touch_for(other)
    return np.multiply(self, other, order="C") if self.shape[-1] == 1 else np.matmul(self, other)


def mv(self: Array, vec: Array) -> Array:
    """Matrix times vector, ``(n, m) x (m,) -> (n,)``. RuntimeError for shapes that ``mv_shape`` refuses."""
    if self.ndim == 2 and vec.ndim == 1:
        try:
            return self.dot(vec)
        except ValueError:
            pass  # it is said below what is wrong
    mv_shape(self.shape, vec.shape)
    raise AssertionError("mv_shape accepts no other shapes")


def dot(self: Array, tensor: Array) -> Array:
    """The sum of products of two vectors, without conjugation."""
    dot_shape(self.shape, tensor.shape)
    return sums.blocked_dot(self, tensor) if self.dtype.char in "fd" else self.dot(tensor)


def vdot(self: Array, other: Array) -> Any:
    """The sum of products of two vectors, the first conjugated."""
    dot_shape(self.shape, other.shape)
    return np.vdot(self, other)


def addmm(self: Array, mat1: Array, mat2: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * mat1 @ mat2``; with ``beta == 0`` what is in ``self`` does not matter."""
    shape = addmm_shape(self.shape, mat1.shape, mat2.shape)
    if untouched:
        touch_for(mat2)
    return accumulate(self, mat1.dot(mat2) if alpha != 0 else None, shape, beta, alpha)


def addmv(self: Array, mat: Array, vec: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * mat @ vec``."""
    shape = addmv_shape(self.shape, mat.shape, vec.shape)
    return accumulate(self, mat.dot(vec) if alpha != 0 else None, shape, beta, alpha)


def baddbmm(self: Array, batch1: Array, batch2: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * bmm(batch1, batch2)``."""
    shape = baddbmm_shape(self.shape, batch1.shape, batch2.shape)
    return accumulate(self, np.matmul(batch1, batch2) if alpha != 0 else None, shape, beta, alpha)


def addbmm(self: Array, batch1: Array, batch2: Array, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * bmm(batch1, batch2).sum(0)``, as one product of long matrices."""
    shape = addbmm_shape(self.shape, batch1.shape, batch2.shape)
    if alpha == 0:
        return accumulate(self, None, shape, beta, alpha)
    # sum_b A_b B_b = [A_1 A_2 ...] [B_1; B_2; ...]
    inner = batch1.shape[0] * batch1.shape[2]
    wide = batch1.transpose(1, 0, 2).reshape(shape[0], inner)
    return accumulate(self, wide.dot(batch2.reshape(inner, shape[1])), shape, beta, alpha)


def linear(input: Array, weight: Array, bias: Array | None) -> Array:
    """``input @ weight.T + bias`` over the last dimension of ``input``. RuntimeError for shapes that
    ``linear_shape`` refuses."""
    if input.ndim != 2 or weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
        return _linear_general(input, weight, bias)
    if input.shape[1] != weight.shape[1]:
        raise RuntimeError(_cannot_multiply(input.shape, weight.shape[::-1]))
    return _rows_by_weight(input, weight, bias)


def _rows_by_weight(rows: Array, weight: Array, bias: Array | None) -> Array:
    """``rows @ weight.T + bias`` of a matrix, contiguous."""
    if untouched:
        touch_for(weight)
    if is_few_rows(len(rows), weight):
        turned = weight.dot(rows.T).T
        return np.ascontiguousarray(turned) if bias is None else np.add(turned, bias, order="C")
    result = rows.dot(weight.T)
    return result if bias is None else np.add(result, bias, out=result)


def is_few_rows(rows: int, weight: Array) -> bool:
    """Whether BLAS should have the weight as the first factor, or as a contiguous second one."""
    return 1 < rows <= LINEAR_FEW_ROWS and rows * weight.size >= LINEAR_LEAST


def _linear_general(input: Array, weight: Array, bias: Array | None) -> Array:
    """``linear`` for an input of any rank, a weight that is a vector, or a bias that broadcasts."""
    shape = linear_shape(input.shape, weight.shape, None if bias is None else bias.shape)
    rows = input.reshape(prod(input.shape[:-1]), input.shape[-1])
    if bias is not None and bias.ndim == 1 and bias.shape == weight.shape[:1]:
        return _rows_by_weight(rows, weight, bias).reshape(shape)
    result = _rows_by_weight(rows, weight, None).reshape(shape)
    return result if bias is None else np.add(result, bias, out=result)


def linear_input_backward(grad_output: Array, weight: Array) -> Array:
    """The gradient of ``linear`` for its input: ``(*, out) -> (*, in)``, or ``(*) -> (*, in)``."""
    shape = linear_input_shape(grad_output.shape, weight.shape)
    if grad_output.ndim == 2 and weight.ndim == 2:
        return grad_output.dot(weight.conj())
    matrix = weight.reshape(prod(weight.shape[:-1]), weight.shape[-1])
    rows = grad_output.reshape(prod(shape[:-1]), matrix.shape[0])
    return rows.dot(matrix.conj()).reshape(shape)


def linear_weight_backward(grad_output: Array, input: Array) -> Array:
    """The gradient of ``linear`` for its weight: ``(*, out) x (*, in) -> (out, in)``, or ``(in,)``."""
    shape = linear_weight_shape(grad_output.shape, input.shape)
    if grad_output.ndim == 2 and input.ndim == 2:
        return grad_output.T.dot(input.conj())
    rows = prod(input.shape[:-1])
    columns = grad_output.reshape(rows, prod(shape[:-1])).T
    return columns.dot(input.reshape(rows, shape[-1]).conj()).reshape(shape)


def linalg_cross(self: Array, other: Array, dim: int) -> Array:
    """The vector product along ``dim``, of size 3; the other dimensions broadcast."""
    shape = cross_shape(self.shape, other.shape, dim)
    a0, a1, a2 = np.moveaxis(self, dim, 0)
    b0, b1, b2 = np.moveaxis(other, dim, 0)
    result = np.empty(shape, self.dtype)
    r = np.moveaxis(result, dim, 0)
    # As ufuncs, which do not warn of integers that wrap around where operators on scalars do.
    for i, (p, q, u, v) in enumerate(((a1, b2, a2, b1), (a2, b0, a0, b2), (a0, b1, a1, b0))):
        r[i] = np.subtract(np.multiply(p, q), np.multiply(u, v))
    return result


def trace(self: Array) -> Any:
    """The sum of the main diagonal, in int64 for integers."""
    trace_shape(self.shape)
    return np.trace(self, dtype=np.int64 if self.dtype.kind in "iu" else None)


def accumulate(self: Array, product: Array | None, shape: Shape, beta: Number, alpha: Number) -> Array:
    """``beta * self + alpha * product`` in the dtype of ``self``; product None stands for zeros."""
    dtype = self.dtype
    if product is None:
        product = np.zeros(shape, dtype)
    elif alpha != 1:
        product = np.multiply(product, _factor(alpha, dtype), out=product)
    if beta == 0:
        return product
    return np.add(product, self if beta == 1 else self * _factor(beta, dtype), out=product)


def _factor(value: Number, dtype: np.dtype[Any]) -> Number:
    """A scale factor in the array's dtype. Raises RuntimeError where an integral one cannot hold it."""
    return as_number(value, dtype) if dtype.kind != "b" else value
