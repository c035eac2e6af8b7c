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


def reflectors(a: Array) -> tuple[Array, Array]:
    """Householder's QR, column by column, with R's diagonal real as LAPACK has it."""
    a = np.array(a)
    k = min(a.shape[-2:])
    tau = np.zeros((*a.shape[:-2], k), a.dtype)
    for i in np.ndindex(*a.shape[:-2]):
        for j in range(k):
            x = a[i][j:, j].copy()
            norm = np.sqrt((abs(x) ** 2).sum())
            if not (abs(x[1:]).any() or np.imag(x[0])):
                continue
            beta = -np.copysign(norm, x[0].real)
            tau[i][j] = (beta - x[0]) / beta
            v = x / (x[0] - beta)
            v[0] = 1
            # LAPACK multiplies from the left by the adjoint of the reflector
            a[i][j:, j:] -= np.conj(tau[i][j]) * np.outer(v, v.conj() @ a[i][j:, j:])
            a[i][j + 1 :, j] = v[1:]
    return a, tau


def reflected(a: Array, tau: Array, other: Array, left: bool, transpose: bool) -> Array:
    """The product with Householder's reflectors, each as a matrix."""
    m = a.shape[-2]
    q = np.broadcast_to(np.eye(m, dtype=a.dtype), (*a.shape[:-2], m, m))
    for j in range(tau.shape[-1]):
        v = np.where(np.arange(m) > j, a[..., :, j], np.arange(m) == j)
        q = q - tau[..., j, None, None] * (q @ v[..., None]) @ v.conj()[..., None, :]
    q = q.conj().swapaxes(-1, -2) if transpose else q
    return q @ other if left else other @ q


def unpacked(lu: Array, pivots: Array, data: bool, exchanges: bool) -> tuple[Array, ...]:
    """The parts of packed LU factors."""
    m, k = lu.shape[-2], min(lu.shape[-2:])
    p = lower = upper = np.empty(0, lu.dtype)
    if exchanges:
        p = np.broadcast_to(np.eye(m, dtype=lu.dtype), (*lu.shape[:-2], m, m)).copy()
        for i in np.ndindex(*lu.shape[:-2]):
            for j in reversed(range(k)):
                p[i][[j, pivots[i][j] - 1]] = p[i][[pivots[i][j] - 1, j]]
    if data:
        lower = np.tril(lu, -1)[..., :k] + np.eye(m, k, dtype=lu.dtype)
        upper = np.triu(lu)[..., :k, :]
    return p, lower, upper


def symmetric_of(ld: Array, pivots: Array, hermitian: bool) -> Array:
    """The matrix that has these packed LDL factors: ``P1 L1 P2 L2 ... D ... L2^T P2^T L1^T P1^T``."""
    n = len(ld)
    product, d = np.eye(n, dtype=ld.dtype), np.zeros_like(ld)
    k = 0
    while k < n:
        step = 1 if pivots[k] > 0 else 2
        row, other = k + step - 1, abs(pivots[k]) - 1
        swap = np.eye(n)
        swap[[row, other]] = swap[[other, row]]
        part = np.eye(n, dtype=ld.dtype)
        part[k + step :, k : k + step] = ld[k + step :, k : k + step]
        product = product @ swap @ part
        d[k : k + step, k : k + step] = np.tril(ld[k : k + step, k : k + step])
        k += step
    below = np.tril(d, -1)
    diagonal = np.diag(d.diagonal().real if hermitian else d.diagonal())
    d = diagonal + below + (below.conj() if hermitian else below).T
    return product @ d @ (product.conj() if hermitian else product).T
