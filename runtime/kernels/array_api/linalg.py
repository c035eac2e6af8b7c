"""Decompositions and solutions: LAPACK's, on the host. Only shapes are known before they are computed."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .. import decompositions, factorizations, linalg as host, lstsq
from .common import Array

_INT32 = np.dtype("int32")
Shape = tuple[int, ...]
#: By the arguments of a kernel the shapes and the dtypes of its results: "same", "real", or NumPy's.
Like = Callable[..., list[tuple[Shape, Any]]]


def on_host(function: Callable[..., Any], like: Like) -> Callable[..., Any]:
    """A kernel of the host as one of the group; the first array says of which dtype the results are."""

    def kernel(xp: Any, *arguments: Any) -> Any:
        first = next(a for a in arguments if hasattr(a, "dtype"))
        given = xp.numpy_dtype(first.dtype)
        dtypes = {"same": given, "real": np.zeros(0, given).real.dtype}
        dtypes["complex"] = np.result_type(given, np.complex64)
        rows = [(tuple(shape), dtypes.get(dtype, dtype)) for shape, dtype in like(*arguments)]
        results = xp.on_host(_with_dtypes(function, [dtype for _, dtype in rows]), rows, *arguments)
        return results[0] if len(results) == 1 else tuple(results)

    return kernel


def _with_dtypes(function: Callable[..., Any], dtypes: list[Any]) -> Callable[..., Any]:
    def called(*arguments: Any) -> Any:
        results = function(*arguments)
        results = results if isinstance(results, tuple) else (results,)
        return tuple([np.asarray(r, dtype) for r, dtype in zip(results, dtypes, strict=True)])

    return called


def _batch(a: Array) -> Shape:
    return tuple(a.shape[:-2])


def _square(a: Array, *_: Any) -> list[tuple[Shape, Any]]:
    return [(tuple(a.shape), "same")]


def _least(a: Array) -> int:
    return int(min(a.shape[-2:]))


def _lu(a: Array, *_: Any) -> list[tuple[Shape, Any]]:
    return [(tuple(a.shape), "same"), ((*_batch(a), _least(a)), _INT32), (_batch(a), _INT32)]


def _plu(a: Array, *_: Any) -> list[tuple[Shape, Any]]:
    m, n, k = a.shape[-2], a.shape[-1], _least(a)
    permutation = (*_batch(a), m, m)
    return [(permutation, "same"), ((*_batch(a), m, k), "same"), ((*_batch(a), k, n), "same")]


def _qr(a: Array, mode: str) -> list[tuple[Shape, Any]]:
    m, n, k = a.shape[-2], a.shape[-1], _least(a)
    if mode == "r":
        return [((0,), "same"), ((*_batch(a), k, n), "same")]
    inner = m if mode == "complete" else k
    return [((*_batch(a), m, inner), "same"), ((*_batch(a), inner, n), "same")]


def _svd(a: Array, full_matrices: bool, compute_uv: bool, driver: Any) -> list[tuple[Shape, Any]]:
    m, n, k = a.shape[-2], a.shape[-1], _least(a)
    values: tuple[Shape, Any] = ((*_batch(a), k), "real")
    if not compute_uv:
        return [((0,), "same"), values, ((0,), "same")]
    rows, columns = (m, n) if full_matrices else (k, k)
    return [((*_batch(a), m, rows), "same"), values, ((*_batch(a), columns, n), "same")]


def _eigh(a: Array, UPLO: str, compute_v: bool) -> list[tuple[Shape, Any]]:
    return [(tuple(a.shape[:-1]), "real"), (tuple(a.shape) if compute_v else (0,), "same")]


def _solved(a: Array, b: Array) -> Shape:
    """The shape of the solution of equations: batches are broadcast, a vector is a batch of vectors."""
    if b.ndim == 1 or (a.ndim - 1 == b.ndim and tuple(b.shape) == tuple(a.shape[:-1])):
        return tuple(np.broadcast_shapes(tuple(a.shape[:-1]), tuple(b.shape)))
    return (*np.broadcast_shapes(_batch(a), _batch(b)), *b.shape[-2:])


def _matrices(a: Array, b: Array) -> Shape:
    return (*np.broadcast_shapes(_batch(a), _batch(b)), *b.shape[-2:])


linalg_cholesky_ex = on_host(
    decompositions.linalg_cholesky_ex,
    lambda self, upper, check: [(tuple(self.shape), "same"), (_batch(self), _INT32)],
)
linalg_eig = on_host(
    decompositions.linalg_eig,
    lambda self: [(tuple(self.shape[:-1]), "complex"), (tuple(self.shape), "complex")],
)
linalg_eigh = on_host(decompositions.linalg_eigh, _eigh)
linalg_lu = on_host(decompositions.linalg_lu, _plu)
linalg_lu_factor_ex = on_host(decompositions.linalg_lu_factor_ex, _lu)
linalg_lu_solve = on_host(
    decompositions.linalg_lu_solve, lambda LU, pivots, B, left, adjoint: [(_matrices(LU, B), "same")]
)
linalg_qr = on_host(decompositions.linalg_qr, _qr)
linalg_svd = on_host(decompositions.linalg_svd, _svd)
geqrf = on_host(
    factorizations.geqrf,
    lambda self: [(tuple(self.shape), "same"), ((*_batch(self), _least(self)), "same")],
)
linalg_ldl_factor_ex = on_host(factorizations.linalg_ldl_factor_ex, _lu)
linalg_ldl_solve = on_host(
    factorizations.linalg_ldl_solve, lambda LD, pivots, B, hermitian: [(_matrices(LD, B), "same")]
)
linalg_det = on_host(host.linalg_det, lambda A: [(_batch(A), "same")])
linalg_slogdet = on_host(host.linalg_slogdet, lambda A: [(_batch(A), "same"), (_batch(A), "real")])
linalg_inv_ex = on_host(host.linalg_inv_ex, lambda A, check: [(tuple(A.shape), "same"), (_batch(A), _INT32)])
linalg_matrix_exp = on_host(host.linalg_matrix_exp, _square)
linalg_pinv = on_host(
    host.linalg_pinv,
    lambda self, *rest: [((*_batch(self), self.shape[-1], self.shape[-2]), "same")],
)
linalg_solve_ex = on_host(
    host.linalg_solve_ex,
    lambda A, B, left, check: [(_solved(A, B), "same"), (_batch(A), _INT32)],
)
linalg_solve_triangular = on_host(
    host.linalg_solve_triangular, lambda A, B, upper, left, uni: [(_matrices(A, B), "same")]
)


def lu_unpack(
    xp: Any, LU_data: Array, LU_pivots: Array, unpack_data: bool, unpack_pivots: bool
) -> tuple[Array, ...]:
    """The permutation and the two triangles that an LU factorisation keeps together."""
    empty: list[tuple[Shape, Any]] = [((0,), "same")] * 3
    like = [e if not (unpack_data, unpack_pivots)[not n] else r for n, (e, r) in enumerate(
        zip(empty, _plu(LU_data), strict=True)
    )]  # fmt: skip
    kernel = on_host(factorizations.lu_unpack, lambda *_: like)
    found: tuple[Array, ...] = kernel(xp, LU_data, LU_pivots, unpack_data, unpack_pivots)
    return found


def linalg_lstsq(xp: Any, self: Array, b: Array, rcond: float | None, driver: str | None) -> Any:
    """Least squares: of the solution, residuals, rank and singular values only values tell the shapes."""
    return tuple(xp.on_host(lstsq.linalg_lstsq, None, self, b, rcond, driver))


# -- Fourier transforms ---------------------------------------------------------------------------


def _scale(normalization: int, sizes: list[int]) -> float:
    """What an unscaled transform is multiplied with: 0 nothing, 1 by the root of the count, 2 by it."""
    count = prod(sizes)
    return {0: 1.0, 1: count**-0.5 if count else 1.0, 2: 1.0 / count if count else 1.0}[normalization]


def _transformed(xp: Any, x: Array, dim: Any, forward: bool) -> Array:
    """The unscaled transform along dimensions."""
    for d in dim:
        x = xp.fft.fft(x, axis=d) if forward else xp.fft.ifft(x, axis=d, norm="forward")
    return x


def fft_c2c(xp: Any, self: Array, dim: Any, normalization: int, forward: bool) -> Array:
    """The transform of complex numbers along ``dim``."""
    if not len(dim):
        return self
    scale = _scale(normalization, [self.shape[d] for d in dim])
    return xp.astype(_transformed(xp, self, dim, forward) * scale, self.dtype)


def fft_r2c(xp: Any, self: Array, dim: Any, normalization: int, onesided: bool) -> Array:
    """The transform of real numbers along ``dim``, of which the last is halved where it is one-sided."""
    scale = _scale(normalization, [self.shape[d] for d in dim])
    wide = xp.complex64 if self.dtype == xp.float32 else xp.complex128
    if onesided:
        found = xp.fft.rfft(self, axis=dim[-1])
        found = _transformed(xp, found, dim[:-1], True)
    else:
        found = _transformed(xp, xp.astype(self, wide), dim, True)
    return xp.astype(found * scale, wide)


def fft_c2r(xp: Any, self: Array, dim: Any, normalization: int, last_dim_size: int) -> Array:
    """The transform back to real numbers, ``last_dim_size`` along the last dimension."""
    sizes = [self.shape[d] for d in dim[:-1]] + [last_dim_size]
    found = _transformed(xp, self, dim[:-1], False)
    found = xp.fft.irfft(found, n=last_dim_size, axis=dim[-1], norm="forward")
    real = xp.float32 if self.dtype == xp.complex64 else xp.float64
    return xp.astype(found * _scale(normalization, sizes), real)
