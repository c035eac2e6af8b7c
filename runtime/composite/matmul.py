"""Products that are made of other operators: matmul of any rank, outer, inner, kron, tensordot, ..."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..core.memory_format import contiguous_format
from ..core.promotion import promote_types
from ..core.scalar_type import bool_
from ..core.user_stack import warn_old
from ..kernels.creation import as_number
from ..kernels.dims import wrap_dim

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def product(self: Tensor, other: Tensor) -> Tensor:
    """The product of what are not two matrices, over the last dimension of ``self`` and the last but one (or
    only) of ``other``. RuntimeError where these sizes differ, and for 0-d arguments."""
    shape, other_shape = self._array.shape, other._array.shape
    a, b = len(shape), len(other_shape)
    if a == 2 and b == 1:
        return self.mv(other)
    if a == 1 and b == 1:
        return self.dot(other)
    if a == 0 or b == 0:
        raise RuntimeError(
            f"matmul: both arguments to matmul need to be at least 1D, but they are {a}D and {b}D"
        )
    if b <= 2:
        if shape[-1] != other_shape[0]:
            left = f"{prod(shape[:-1])}x{shape[-1]}"
            right = "x".join(map(str, (*other_shape, 1)[:2]))
            raise RuntimeError(f"matmul: mat1 and mat2 shapes cannot be multiplied ({left} and {right})")
        # One matrix or vector for all the batches, which are but more rows of ``self``.
        return self.unsqueeze(0).mm(other).squeeze(0) if a == 1 else F.linear(self, other.t())
    if a == 1:
        if self.is_nested:
            raise RuntimeError("matmul: a nested tensor must be at least 3D, but self is 1D")
        return F._batched_matmul(self.unsqueeze(0), other).squeeze(-2)
    if a == 2 and self._type.backend is not other._type.backend and other._type.backend.is_strided:
        # A matrix of another layout for all the batches.
        if shape[1] != other_shape[-2]:
            left, right = "x".join(map(str, shape)), "x".join(map(str, other_shape[-2:]))
            raise RuntimeError(f"matmul: mat1 and mat2 shapes cannot be multiplied ({left} and {right})")
        return F.linear(other.mT, self).mT
    return F._batched_matmul(self, other)


def outer(self: Tensor, vec2: Tensor) -> Tensor:
    """All products of an element of ``self`` with one of ``vec2``. RuntimeError unless both are 1-d."""
    for name, vector in (("self", self), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"outer: Expected 1-D argument {name}, but got {vector.ndim}-D")
    return self.unsqueeze(1) * vec2


def inner(self: Tensor, other: Tensor) -> Tensor:
    """The sum of products over the last dimension of both; a 0-d argument scales the other. RuntimeError
    where it differs."""
    if self.ndim == 0 or other.ndim == 0:
        return self * other
    if self.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            "inner() the last dimension must match on both input tensors but got shapes "
            f"{list(self.shape)} and {list(other.shape)}"
        )
    return tensordot(self, other, [-1], [-1])


def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sum of products over ``dims_self`` of one and ``dims_other`` of the other, pairwise. RuntimeError
    for lists of other lengths, other sizes (but 1) or other dtypes; IndexError where dimensions of a 0-d
    argument are named."""
    if len(dims_self) != len(dims_other):
        raise RuntimeError("tensordot: both dimension lists should have same length")
    if self.dtype != other.dtype:
        raise RuntimeError(
            f"tensordot: both inputs should have same dtype, but got {self.dtype} and {other.dtype}"
        )
    if dims_self and not (self.ndim and other.ndim):
        raise IndexError(f"tensordot: dimension specified as {dims_self[0]}, but a tensor has no dimensions")
    ours = _distinct([wrap_dim(d, self.ndim) for d in dims_self])
    theirs = _distinct([wrap_dim(d, other.ndim) for d in dims_other])
    for d, e in zip(ours, theirs, strict=True):
        n, m = self.shape[d], other.shape[e]
        if n == m:
            continue
        if m == 1:  # a dimension of size 1 broadcasts: sum the other one alone
            self = self.sum(d, keepdim=True, dtype=self.dtype)
        elif n == 1:
            other = other.sum(e, keepdim=True, dtype=other.dtype)
        else:
            raise RuntimeError(
                f"tensordot: contracted dimensions need to match, but first has size {n} in dim {d} "
                f"and second has size {m} in dim {e}"
            )
    rows = [d for d in range(self.ndim) if d not in ours]
    columns = [d for d in range(other.ndim) if d not in theirs]
    shape = [self.shape[d] for d in rows] + [other.shape[d] for d in columns]
    inner_size = prod([self.shape[d] for d in ours])
    left = self.permute(rows + ours).reshape(prod(shape[: len(rows)]), inner_size)
    right = other.permute(theirs + columns).reshape(inner_size, prod(shape[len(rows) :]))
    return left.mm(right).reshape(shape)


def _distinct(dims: list[int]) -> list[int]:
    for i, d in enumerate(dims):
        if d in dims[:i]:
            raise RuntimeError(f"tensordot: dim {d} appears multiple times in the list of dims")
    return dims


def kron(self: Tensor, other: Tensor) -> Tensor:
    """The Kronecker product: each element of ``self`` times all of ``other``, block by block."""
    ndim = max(self.ndim, other.ndim)
    a = (1,) * (ndim - self.ndim) + tuple(self.shape)
    b = (1,) * (ndim - other.ndim) + tuple(other.shape)
    left = self.reshape([n for size in a for n in (size, 1)])
    right = other.reshape([n for size in b for n in (1, size)])
    left = left.expand([n for pair in zip(a, b, strict=True) for n in pair])
    return (left * right).reshape([n * m for n, m in zip(a, b, strict=True)])


def addr(self: Tensor, vec1: Tensor, vec2: Tensor, beta: Number = 1, alpha: Number = 1) -> Tensor:
    """``beta * self + alpha * outer(vec1, vec2)``; with ``beta == 0`` what is in ``self`` does not matter.
    RuntimeError for vectors that are not 1-d, and for factors that the dtype of the sum does not hold:
    complex or floating-point ones."""
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if vector.ndim != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {vector.ndim}-D")
    shape = (vec1.shape[0], vec2.shape[0])
    if self.shape != shape:
        self = self.expand(shape)
    product = vec1.unsqueeze(1) * vec2
    dtype = promote_types(self.dtype, product.dtype)
    for name, factor in (("beta", beta), ("alpha", alpha)):
        if isinstance(factor, complex) and not dtype.is_complex:
            raise RuntimeError(
                f"addr: For non-complex input tensors, argument {name} must not be a complex number."
            )
        if isinstance(factor, float) and not dtype.is_inexact:
            raise RuntimeError(
                f"addr: For integral input tensors, argument {name} must not be a floating point number."
            )
    if dtype is bool_:  # a sum of truth values is their disjunction
        terms = [t for t, factor in ((self, beta), (product, alpha)) if factor]
        return terms[0].logical_or(terms[-1]) if terms else F.zeros_like(product)
    if alpha != 1:
        product = product * as_number(alpha, dtype.array_dtype)
    if beta == 0:
        return product.to(dtype)
    return (self if beta == 1 else self * as_number(beta, dtype.array_dtype)) + product


def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The vector product along ``dim``, by default the first dimension of size 3. RuntimeError where there is
    none."""
    if dim is None:
        if 3 not in self.shape:
            raise RuntimeError("cross: no dimension of size 3 in input")
        dim = self.shape.index(3)
        warn_old("cross without dim", "tengen.linalg.cross, or give the dim,")
    return F.linalg_cross(self, other, dim=dim)


def linalg_vecdot(x: Tensor, y: Tensor, dim: int = -1) -> Tensor:
    """The sum of ``conj(x) * y`` along ``dim``; the other dimensions broadcast. RuntimeError for integers,
    and for dtypes that differ."""
    if not (x.is_floating_point() or x.is_complex()):
        raise RuntimeError(
            f"linalg.vecdot: Expected a floating point or complex tensor as input. Got {x.dtype}"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            f"linalg.vecdot: Expected x and y to have the same dtype, but found x of type {x.dtype} "
            f"and y of type {y.dtype} instead"
        )
    return (x.conj() * y).sum(dim)


def block_diag(tensors: Sequence[Tensor]) -> Tensor:
    """The matrices of ``tensors`` along the diagonal of one, zeros elsewhere; vectors count as rows.
    RuntimeError for more than two dimensions."""
    if not tensors:
        return F.empty((1, 0))
    dtype = tensors[0].dtype
    for i, t in enumerate(tensors):
        if t.ndim > 2:
            raise RuntimeError(
                f"block_diag: Input tensors must have 2 or fewer dimensions. Input {i} has {t.ndim}"
            )
        dtype = promote_types(dtype, t.dtype)
    matrices = [t.to(dtype).reshape((1,) * (2 - t.ndim) + tuple(t.shape)) for t in tensors]
    width = sum([m.shape[1] for m in matrices])
    rows, before = [], 0
    for m in matrices:
        after = width - before - m.shape[1]
        rows.append(F.cat([m.new_zeros((m.shape[0], before)), m, m.new_zeros((m.shape[0], after))], 1))
        before += m.shape[1]
    return F.cat(rows, 0)


def cartesian_prod(tensors: Sequence[Tensor]) -> Tensor:
    """Each way to take one element from each of the vectors, as rows. RuntimeError for what is not 1-d."""
    for t in tensors:
        if t.ndim != 1:
            raise RuntimeError(f"cartesian_prod: Expect a 1D vector, but got shape {list(t.shape)}")
    if len(tensors) == 1:
        return tensors[0]
    sizes = [t.shape[0] for t in tensors]
    columns = []
    for i, t in enumerate(tensors):
        shape = [1] * len(sizes)
        shape[i] = sizes[i]
        columns.append(t.reshape(shape).expand(sizes).reshape(-1))
    return F.stack(columns, 1)


def vander(x: Tensor, N: int | None, increasing: bool) -> Tensor:
    """The powers of each element of a vector as a row, of integers as int64. RuntimeError for an ``x`` that
    is not 1-d, and a negative ``N``."""
    if x.ndim != 1:
        raise RuntimeError(f"vander: x must be a one-dimensional tensor, but got {x.ndim} dimensions")
    count = x.shape[0] if N is None else N
    if count < 0:
        raise RuntimeError(f"vander: N must be non-negative, but got {count}")
    if x.dtype.category in ("bool", "integral"):
        x = x.long()
    powers = x.new_ones((x.shape[0], min(count, 1)))
    if count > 1:
        powers = F.cat([powers, x.unsqueeze(1).expand((-1, count - 1)).cumprod(1)], 1)
    return powers if increasing else powers.flip((1,))


def linalg_matrix_power(self: Tensor, n: int) -> Tensor:
    """The product of ``n`` copies of a square matrix, of its inverse when ``n`` is negative. RuntimeError for
    a matrix that is not square, even for a power of 0."""
    shape = self.shape
    if len(shape) < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if shape[-1] != shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, "
            f"but they are {shape[-2]} by {shape[-1]} matrices"
        )
    if n == 0:
        return self.clone(memory_format=contiguous_format).copy_(
            F.eye(shape[-1], dtype=self.dtype, device=self.device)
        )
    if n < 0:
        inverse = F.linalg_inv(self)
        return inverse if n == -1 else linalg_matrix_power(inverse, -n)
    if n == 1:
        return self.clone(memory_format=contiguous_format)
    result: Tensor | None = None
    square = self
    while True:  # binary powers: about log2(n) squarings
        if n & 1:
            result = square if result is None else result.matmul(square)
        n >>= 1
        if not n:
            assert result is not None
            return result
        square = square.matmul(square)


def linalg_multi_dot(tensors: Sequence[Tensor]) -> Tensor:
    """The product of two or more matrices in the order that costs the fewest multiplications.

    The first and the last may be vectors.
    Raises RuntimeError for less than two, for dtypes that differ, and for other dimensions or sizes that do
    not fit.
    """
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    first, last = tensors[0], tensors[-1]
    for name, t in (("first", first), ("last", last)):
        if t.ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {name} tensor must be 1D or 2D but got {t.ndim}D")
    for i, t in enumerate(tensors[1:-1], 1):
        if t.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {t.ndim}D")
    for i, t in enumerate(tensors):
        if t.dtype != first.dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{first.dtype} and tensor {i} {t.dtype}"
            )
    for i, (a, b) in enumerate(pairwise(tensors)):
        if a.shape[-1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} "
                "cannot be multiplied"
            )
    shape = [*first.shape[:-1], *last.shape[1:]]
    matrices = list(tensors)
    matrices[0] = first.unsqueeze(0) if first.ndim == 1 else first
    matrices[-1] = last.unsqueeze(1) if last.ndim == 1 else last
    split = _cheapest_splits([matrices[0].shape[0]] + [m.shape[1] for m in matrices])
    return _multiply_chain(matrices, split, 0, count - 1).reshape(shape)


def _cheapest_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Where to split each stretch of a chain of matrices, by dynamic programming over stretches.

    Matrix ``i`` has shape ``(sizes[i], sizes[i + 1])``; see Cormen et al., Introduction to
    Algorithms, section 15.2.
    """
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split: dict[tuple[int, int], int] = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            cost[i, j], split[i, j] = min(
                [
                    (cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                    for k in range(i, j)
                ]
            )
    return split


def _multiply_chain(matrices: Sequence[Tensor], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return matrices[i]
    k = split[i, j]
    return _multiply_chain(matrices, split, i, k).mm(_multiply_chain(matrices, split, k + 1, j))


def chain_matmul(matrices: Sequence[Tensor]) -> Tensor:
    """The product of one or more matrices in the order that costs the fewest multiplications. RuntimeError
    for none, and for what is no matrix."""
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for m in matrices:
        if m.ndim != 2:
            raise RuntimeError(f"chain_matmul(): Tensor dimension is {m.ndim}, expected 2 instead.")
    warn_old("chain_matmul", "tengen.linalg.multi_dot")
    return matrices[0].clone() if len(matrices) == 1 else linalg_multi_dot(matrices)
