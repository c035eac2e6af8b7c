"""Shapes of products of vectors and matrices, whose errors are PyTorch's; the vector product and the trace.

Operands have one dtype (float16 and bfloat16 arrive as float32). Integers wrap around as C's do.
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .dims import wrap_dim
from .layout import expanded
from .linalg_checks import broadcast_batches

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Shape = tuple[int, ...]


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
