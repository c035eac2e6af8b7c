"""Least squares by LAPACK's drivers, matrix by matrix, through SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .linalg_checks import LinAlgError, broadcast_batches, is_vector

Array = Any  # numpy.ndarray, whose stubs say less than the kernels know
Shape = tuple[int, ...]
DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def lstsq_shape(self: Shape, b: Shape, driver: str | None) -> tuple[Shape, Shape, str]:
    """The batch shape, the shape of ``b`` as matrices, and the driver; RuntimeError if they do not fit."""
    chosen = "gelsy" if driver is None else driver
    if len(self) < 2:
        raise RuntimeError("input must have at least 2 dimensions.")
    if not b:
        raise RuntimeError("other must have at least 1 dimension.")
    if chosen not in DRIVERS:
        raise RuntimeError(
            f"parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but it is {driver}"
        )
    if len(self) - len(b) not in (0, 1):
        raise RuntimeError(
            "input.dim() must be greater or equal to other.dim() and (input.dim() - other.dim()) <= 1"
        )
    matrices = (*b, 1) if is_vector(self, b) else b
    if matrices[-2] != self[-2]:
        raise RuntimeError(f"input.size(-2) should match other.size({-1 if matrices is not b else -2})")
    return broadcast_batches(self[:-2], matrices[:-2]), matrices, chosen


def linalg_lstsq(
    self: Array, b: Array, rcond: float | None, driver: str | None
) -> tuple[Array, Array, Array, Array]:
    """The ``X`` that makes ``|A X - B|`` least, and what else the driver finds.

    The residuals are there for tall matrices of full rank (not from gelsy), the ranks not from
    gels, the singular values from gelsd and gelss; otherwise these are empty.
    """
    batch, b_shape, driver = lstsq_shape(self.shape, b.shape, driver)
    vector = b.ndim != len(b_shape)
    m, n = self.shape[-2:]
    if rcond is None:
        rcond = float(np.finfo(self.dtype).eps) * max(m, n)
    A = np.broadcast_to(self, (*batch, m, n))
    B = np.broadcast_to(b.reshape(b_shape), batch + b_shape[-2:])
    solution = np.zeros((*batch, n, b_shape[-1]), self.dtype)
    rank = np.zeros(batch, np.int64)
    values = np.zeros((*batch, min(m, n)), self.real.dtype)
    if A.size and B.size:
        for i in np.ndindex(*batch):
            solution[i], rank[i], found = _solve(A[i], B[i], rcond, driver)
            if found is not None:
                values[i] = found
    residuals = np.empty(0, values.dtype)
    if m > n and driver != "gelsy" and (rank == n).all():
        left = B - np.matmul(A, solution)
        residuals = np.add.reduce(left.real * left.real + left.imag * left.imag, -2)
    return (
        solution[..., 0] if vector else solution,
        residuals,
        np.empty(0, np.int64) if driver == "gels" else rank,
        values if driver in ("gelsd", "gelss") else np.empty(0, values.dtype),
    )


def _solve(A: Array, B: Array, rcond: float, driver: Any) -> tuple[Array, int, Array | None]:
    """The solution for one matrix, its rank and, where the driver finds them, its singular values."""
    if driver != "gels":
        from scipy.linalg import lstsq

        if not (np.isfinite(A).all() and np.isfinite(B).all()):
            raise LinAlgError(
                "The least squares solution could not be computed because an input contained non-finite "
                "values."
            )
        solution, _, rank, values = lstsq(A, B, cond=rcond, lapack_driver=driver)
        return solution, rank, values
    from scipy.linalg import get_lapack_funcs

    m, n = A.shape
    work = np.zeros((max(m, n), B.shape[1]), A.dtype)  # the solution takes the place of B
    work[:m] = B
    gels: Any = get_lapack_funcs("gels", dtype=A.dtype)
    _, result, info = gels(A, work)
    if info > 0:
        raise LinAlgError(
            "The least squares solution could not be computed because the input matrix does not have full "
            f"rank (error code: {info})."
        )
    return result[:n], n, None
