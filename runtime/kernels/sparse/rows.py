"""Sums of rows of values that go to the same place."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ..reduced import upcast
from ..scatter_add import add_slices

Array = np.ndarray[Any, Any]


def add_rows(values: Array, places: Array, count: int) -> Array:
    """An array (count, *) of the sums of the rows of ``values`` (nnz, *) whose place it is."""
    wide = upcast(values)
    size = prod(wide.shape[1:])
    total = np.zeros((1, count, size), wide.dtype)
    if wide.dtype == np.bool_:
        np.logical_or.at(total[0], places, wide.reshape(len(wide), size))
    elif wide.size:
        add_slices(total, places, wide.reshape(1, len(wide), size))
    return total.reshape(count, *values.shape[1:]).astype(values.dtype, copy=False)
