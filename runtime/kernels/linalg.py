"""Inverses, systems of equations, determinants and vector norms, over batches of matrices.

NumPy's linear algebra does the work; where it refuses a whole batch for one singular matrix,
LAPACK is asked matrix by matrix through SciPy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.costs import SUM_WHOLE
from . import lapack
from .decompositions import linalg_eigh, linalg_svd
from .dims import reduce_dims, wrap_dims
from .dtypes import acc_dtype, is_complex, real_dtype
from .linalg_checks import (
    SINGULAR_INVERSE,
    SINGULAR_SOLVE,
    broadcast_batches,
    check_info,
    check_square,
    is_vector,
    solve_shape,
    triangular_shapes,
)
from .native_kernels import kernels, of_rows
from .reductions import count, reduced, sum_dim
from .rows import has_contiguous_rows
from .sums import blocked_dot

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Number = bool | int | float | complex


def linalg_inv_ex(A: Array, check_errors: bool) -> tuple[Array, Array]:
    """The inverses, and for each matrix 0 or the position of the pivot that is zero, from 1."""
    info = np.zeros(check_square(A.shape), np.int32)
    try:
        inverse = np.linalg.inv(A)
    except np.linalg.LinAlgError:
        inverse, info = lapack.solve(A, np.broadcast_to(np.eye(A.shape[-1], dtype=A.dtype), A.shape))
        lapack.apply_to_batch(np.linalg.inv, inverse, info, A)
    lapack.keep_nan(A, inverse, info)
    if check_errors:
        check_info(info, "", SINGULAR_INVERSE)
    return inverse, info


def linalg_solve_ex(A: Array, B: Array, left: bool, check_errors: bool) -> tuple[Array, Array]:
    """``X`` with ``A X = B`` (``X A = B`` when ``left`` is false), and what LAPACK said of each ``A``."""
    shape = solve_shape(A.shape, B.shape, left)
    if is_vector(A.shape, B.shape):
        right = B[..., None]
        batch = shape[:-1]
    else:
        right, batch = B, shape[:-2]
    if not left:
        A, right = A.swapaxes(-1, -2), right.swapaxes(-1, -2)
    info = np.zeros(A.shape[:-2], np.int32)
    try:
        result = np.linalg.solve(A, right)
    except np.linalg.LinAlgError:
        result, info = lapack.solve(A, np.broadcast_to(right, batch + right.shape[-2:]))
        lapack.apply_to_batch(np.linalg.solve, result, info, A, right)
    lapack.keep_nan(A, result, info)
    if check_errors:
        check_info(info, "", SINGULAR_SOLVE)
    if not left:
        result = result.swapaxes(-1, -2)
    return result.reshape(shape), info


def linalg_solve_triangular(A: Array, B: Array, upper: bool, left: bool, unitriangular: bool) -> Array:
    """``X`` with ``A X = B`` or ``X A = B`` for a triangular ``A``; its other half is not read."""
    a_shape, b_shape = triangular_shapes(A.shape, B.shape, left)
    if not left:
        A, B, upper = A.swapaxes(-1, -2), B.swapaxes(-1, -2), not upper
        a_shape, b_shape = a_shape[:-2] + a_shape[:-3:-1], b_shape[:-2] + b_shape[:-3:-1]
    result = lapack.solve_triangular(
        np.broadcast_to(A, a_shape), np.broadcast_to(B, b_shape), upper, unitriangular
    )
    return result if left else result.swapaxes(-1, -2)


def linalg_det(A: Array) -> Any:
    """The determinant of each matrix; 1 for a matrix of size 0."""
    check_square(A.shape)
    with np.errstate(invalid="ignore"):
        result = np.linalg.det(A)
        return _completed(A, result, result, lambda diagonal: diagonal.prod(-1))


def linalg_slogdet(A: Array) -> tuple[Any, Any]:
    """The sign (a phase, for complex matrices) and the logarithm of the size of the determinant.

    The sign of NaN is 0; of complex matrices it is NaN.
    """
    check_square(A.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        sign, logarithm = np.linalg.slogdet(A)
        logarithm = _completed(A, sign, logarithm, lambda diagonal: np.log(np.abs(diagonal)).sum(-1))
    undefined = sign.dtype.type(np.nan if A.dtype.kind == "c" else 0)
    return np.where(np.isnan(logarithm), undefined, sign), logarithm


def _completed(A: Array, result: Array, values: Array, product: Callable[[Array], Array]) -> Array:
    """``values``, made anew of the diagonal of LU where ``result`` is 0 and the matrix is not finite.

    NumPy stops at a pivot that is 0. What stands behind it may be NaN or infinite: then the product is NaN.
    """
    if np.all(result):
        return values
    doubtful = np.equal(result, 0) & ~np.isfinite(A).all((-2, -1))
    if not doubtful.any():
        return values
    values = np.array(values)
    values[doubtful] = product(np.diagonal(lapack.factor(A[doubtful])[0], axis1=-2, axis2=-1))
    return values


def linalg_matrix_exp(self: Array) -> Array:
    """The exponential of each matrix."""
    check_square(self.shape)
    if not self.size:
        return self.copy()
    from scipy.linalg import expm

    result: Array = expm(self)
    return result.astype(self.dtype, copy=False)


def linalg_pinv(self: Array, atol: Array | None, rtol: Array | None, hermitian: bool) -> Array:
    """The pseudo-inverse; singular values up to ``max(atol, rtol * the largest)`` count as 0.

    By default ``atol`` is 0, and ``rtol`` is 0 with a positive ``atol``, else eps times the
    larger size. Raises RuntimeError for complex tolerances, or such as do not broadcast to the batch.
    """
    shape = pinv_shape(self.shape, hermitian)
    for name, value in (("atol", atol), ("rtol", rtol)):
        if value is not None and value.dtype.kind == "c":
            raise RuntimeError(f"{name} tensor of complex type is not supported. Got {value.dtype}")
        if value is not None:
            broadcast_batches(shape[:-2], value.shape)
    if not self.size:
        return np.zeros(shape, self.dtype)
    if rtol is None:
        default = np.finfo(self.dtype).eps * max(self.shape[-2:])
        rtol = default if atol is None else np.where(atol > 0, 0, default)
    if hermitian:
        values, u = linalg_eigh(self, "L", True)
        vh = _transposed(u)
    else:
        u, values, vh = linalg_svd(self, False, True, None)
    sizes = np.abs(values)
    tolerance = np.maximum(0 if atol is None else atol, rtol * sizes.max(-1))
    keep = sizes > tolerance[..., None]
    inverse = np.where(keep, np.divide(1, np.where(keep, values, 1)), 0).astype(values.dtype)
    return np.matmul(_transposed(vh) * inverse[..., None, :], _transposed(u))


def pinv_shape(shape: tuple[int, ...], hermitian: bool) -> tuple[int, ...]:
    """The shape of the pseudo-inverse. RuntimeError for less than two dimensions, and for Hermitian matrices
    that are not square."""
    if len(shape) < 2:
        raise RuntimeError(f"expected a tensor with 2 or more dimensions, but got {list(shape)}")
    if hermitian:
        check_square(shape)
    return (*shape[:-2], shape[-1], shape[-2])


def _transposed(A: Array) -> Array:
    """The conjugate transpose of each matrix."""
    return A.conj().swapaxes(-1, -2)


# ----------------------------------------------------------------------------- vector norms


def linalg_vector_norm(
    self: Array, ord: Number, dim: Sequence[int] | None, keepdim: bool, dtype: np.dtype[Any] | None
) -> Any:
    """``(sum |x| ** ord) ** (1 / ord)`` over ``dim``, and its limits for 0, inf and -inf.

    The result is real. float16, bfloat16 and complex32 are summed in single precision.
    """
    if ord == 2 and not dim and not keepdim and dtype is None and self.dtype.char in "fd":
        flat = self.ravel()
        return np.abs(flat[0]) if flat.size == 1 else np.sqrt(blocked_dot(flat, flat))
    order, result_dtype = check_norm(self.shape, self.dtype, ord, dim, dtype)
    if dtype is not None:
        self = self.astype(dtype, copy=False)
    self = self.astype(acc_dtype(self.dtype), copy=False)
    # Without dims everything is reduced, which is faster over one axis.
    axes = wrap_dims(dim, self.ndim) if dim else None
    return np.asarray(_norm(self, order, axes or None, keepdim)).astype(result_dtype, copy=False)


def _native_norm(order: float) -> Any:
    """The kernel of a norm of rows; None where there is none."""
    if order == 2:
        return kernels.row_norm
    if order == 1:
        return kernels.row_norm1
    return kernels.row_norm_inf if order == np.inf else None


def _norm(x: Array, order: float, axes: tuple[int, ...] | None, keepdim: bool) -> Any:
    if order and count(x, axes) == 1:  # a power may be out of range, the size is not
        return reduce_dims(np.maximum, np.abs(x), axes, keepdim)
    if axes == (x.ndim - 1,) and x.size > SUM_WHOLE and has_contiguous_rows(x, axes[0]):
        kernel = _native_norm(order)
        if kernel is not None:
            return of_rows(kernel, x, keepdim)
    if order == 2:
        if x.dtype.kind == "c":
            squares = x.real * x.real + x.imag * x.imag
        elif axes is None and not keepdim and x.flags.c_contiguous:
            flat = x.ravel()
            return np.sqrt(blocked_dot(flat, flat))
        elif axes == (x.ndim - 1,):
            found = np.sqrt(np.vecdot(x, x))
            return found[..., None] if keepdim else found
        else:
            squares = x * x
        return np.sqrt(squares.sum(axes, keepdims=keepdim))
    if order == 0:
        return (x != 0).sum(axes, dtype=x.real.dtype, keepdims=keepdim)
    sizes: Array = np.abs(x)
    if order == 1:
        return sum_dim(sizes, axes, keepdim, None)
    if order == np.inf:
        return reduced("max", sizes, axes, keepdim)
    if order == -np.inf:
        return reduced("min", sizes, axes, keepdim)
    return np.power(np.sum(np.power(sizes, order), axes, keepdims=keepdim), 1 / order)


def check_norm(
    shape: tuple[int, ...],
    found: np.dtype[Any],
    ord: Number,
    dim: Sequence[int] | None,
    dtype: np.dtype[Any] | None,
) -> tuple[float, np.dtype[Any]]:
    """The order as a float and the dtype of the result.

    RuntimeError for dtypes that do not fit and for a norm that does not exist over no elements.
    """
    if isinstance(ord, complex):
        raise RuntimeError("Expected a non-complex scalar as the order of norm.")
    order = float(ord)
    if found.kind in "iub":
        raise RuntimeError(f"Expected a floating point or complex tensor as input. Got {found}")
    if dtype is not None:
        _check_norm_dtype(found, dtype)
    dims = wrap_dims(dim, len(shape)) if dim else ()
    if (order < 0 or order == np.inf) and 0 in shape:
        empty = [d for d in dims if shape[d] == 0]
        if not dims or empty:
            over = f"dimension {empty[0]}, which is empty" if empty else "an empty tensor"
            raise RuntimeError(
                f"cannot compute the {ord} norm on {over}, because the operation does not have an identity"
            )
    chosen = found if dtype is None else dtype
    return order, real_dtype(chosen)


def _check_norm_dtype(found: np.dtype[Any], dtype: np.dtype[Any]) -> None:
    if dtype.kind in "iub":
        raise RuntimeError(f"dtype should be floating point or complex, but got {dtype}")
    if is_complex(dtype) is not is_complex(found):
        kind = "complex" if is_complex(found) else "real"
        raise RuntimeError(f"dtype should be {kind} for {kind} inputs, but got {dtype}")
    if dtype.itemsize < found.itemsize or (dtype.itemsize == found.itemsize and dtype != found):
        raise RuntimeError(
            f"the dtype of the input ({found}) should be convertible without narrowing to the specified "
            f"dtype ({dtype})"
        )
