"""Independent computations of Fourier transforms: by the matrices that they are made of."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = Any


def _transform(lanes: Array, sign: int) -> Array:
    """The sums along the last dimension: by their matrix, or made of those of each ``p``-th number."""
    n = lanes.shape[-1]
    p = next((p for p in range(2, math.isqrt(n) + 1) if n % p == 0), n)
    roots = _roots(n, sign)
    if n < 64 or p == n:
        return lanes @ _matrix(n, sign)
    parts = _transform(lanes.reshape(*lanes.shape[:-1], n // p, p).swapaxes(-1, -2), sign)
    return (np.tile(parts, p) * roots[np.outer(np.arange(p), np.arange(n)) % n]).sum(-2)


def _roots(n: int, sign: int) -> Array:
    return np.exp(sign * 2j * np.pi / max(n, 1) * np.arange(n))


@functools.lru_cache(maxsize=2)
def _matrix(n: int, sign: int) -> Array:
    return _roots(n, sign)[np.outer(np.arange(n), np.arange(n)) % n]


def fourier(self: Array, dim: Sequence[int], normalization: int, forward: bool) -> Array:
    """The transform along each of ``dim``: sums, as they are or divided."""
    points = math.prod(self.shape[d] for d in dim)
    for d in dim:
        self = np.moveaxis(_transform(np.moveaxis(self, d, -1), -1 if forward else 1), -1, d)
    return self / points ** (normalization / 2)


def fourier_of_real(self: Array, dim: Sequence[int], normalization: int, onesided: bool) -> Array:
    """The transform of real numbers, or the first half of it along the last of ``dim``."""
    whole = fourier(self.astype(np.complex128), dim, normalization, True)
    kept = self.shape[dim[-1]] // 2 + 1 if onesided else self.shape[dim[-1]]
    return np.take(whole, np.arange(kept), dim[-1])


def fourier_to_real(self: Array, dim: Sequence[int], normalization: int, last_dim_size: int) -> Array:
    """The inverse transform of what is half of a Hermitian array along the last of ``dim``."""
    last = dim[-1]
    rest = math.prod(self.shape[d] for d in dim[:-1])
    half = np.moveaxis(fourier(self, dim[:-1], 0, False), last, -1)
    other = np.conj(half[..., 1 : (last_dim_size + 1) // 2])[..., ::-1]
    whole = np.concatenate([half, other], -1)
    found = fourier(whole, [whole.ndim - 1], 0, False) - 1j * half[..., :1].imag
    if last_dim_size % 2 == 0:
        found = found - 1j * half[..., -1:].imag * (-1.0) ** np.arange(last_dim_size)
    return np.moveaxis(found.real, -1, last) / (rest * last_dim_size) ** (normalization / 2)


def multidimensional(
    function: Any, self: Array, s: Sequence[int] | None, dim: Sequence[int] | None, norm: str | None
) -> Array:
    """NumPy's and SciPy's functions, for which -1 in ``s`` means the size without one, too."""
    dims = dim
    if s is not None:
        dims = range(self.ndim - len(s), self.ndim) if dim is None else dim
        s = [self.shape[d] if n == -1 else n for d, n in zip(dims, s, strict=True)]
    return function(self, s, dims, norm=norm)
