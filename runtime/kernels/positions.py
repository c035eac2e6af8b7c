"""Kernels that tell where elements are."""

from __future__ import annotations

from typing import Any

import numpy as np

from .dtypes import INT64, with_truth

Array = Any


def nonzero(self: Array) -> Array:
    """The positions of the elements that are not 0, one in each row, in order."""
    if self.ndim == 0:
        return np.zeros((1 if with_truth(self) else 0, 0), INT64)
    flat = np.flatnonzero(with_truth(self))
    places = np.empty((len(flat), self.ndim), INT64)
    for d in range(self.ndim - 1, 0, -1):
        np.divmod(flat, self.shape[d], out=(flat, places[:, d]))
    places[:, 0] = flat
    return places


def nonzero_static(self: Array, size: int, fill_value: int) -> Array:
    """The first ``size`` positions, then rows of ``fill_value``. RuntimeError for a negative size."""
    found = nonzero(self)[: check_static_size(size)]
    places = np.full((size, self.ndim), fill_value, INT64)
    places[: len(found)] = found
    return places


def check_static_size(size: int) -> int:
    """``size``, which may not be negative. RuntimeError where it is."""
    if size < 0:
        raise RuntimeError(f"'size' must be a non-negative integer, but got {size}")
    return size
