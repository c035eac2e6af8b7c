"""Independent computations of operators of linear algebra."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = Any


def exponential(self: Array) -> Array:
    """The matrix exponential by its series."""
    term = found = np.broadcast_to(np.eye(self.shape[-1], dtype=self.dtype), self.shape)
    for n in range(1, 60):
        term = term @ self / n
        found = found + term
    return found


def triangle(a: Array, upper: bool, unit: bool) -> Array:
    """One triangle of matrices, with ones on the diagonal."""
    kept = np.triu(a) if upper else np.tril(a)
    return kept * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1]) if unit else kept


def solution(a: Array, b: Array, left: bool) -> Array:
    """``x`` of ``a @ x = b`` or ``x @ a = b``; ``b`` may be vectors."""
    if b.ndim == 1 or (b.ndim == a.ndim - 1 and b.shape == a.shape[:-1]):
        return np.einsum("...ij,...j->...i", np.linalg.inv(a), b)
    return np.linalg.inv(a) @ b if left else b @ np.linalg.inv(a)


def factors_multiplied(lu: Array, pivots: Array) -> Array:
    """The matrix that has these packed LU factors."""
    n = lu.shape[-1]
    product = (np.tril(lu, -1) + np.eye(n)) @ np.triu(lu)
    for i in reversed(range(n)):
        product[[i, pivots[i] - 1]] = product[[pivots[i] - 1, i]]
    return product


def least_squares(a: Array, b: Array) -> Array:
    """The solution of least squares, the shortest one."""
    return np.linalg.pinv(a) @ b if b.ndim == a.ndim else np.einsum("...ij,...j->...i", np.linalg.pinv(a), b)


def outer_sum(grad: Array, input: Array) -> Array:
    """The gradient of the weight of a linear map, summed over the batch."""
    rows = grad.reshape(-1, grad.shape[-1]) if grad.ndim == input.ndim else grad.reshape(-1)
    flat = input.conj().reshape(-1, input.shape[-1])
    if grad.ndim == input.ndim:
        return sum(np.outer(g, x) for g, x in zip(rows, flat, strict=True))
    return sum(g * x for g, x in zip(rows, flat, strict=True))
