"""Sums of rows of values that go to the same place."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import upcast
from ..scatter_add import add_slices

Array = np.ndarray[Any, Any]


def add_rows(values: Array, places: Array, count: int) -> Array:
    """An array (count, *) of the sums of the rows of ``values`` (nnz, *) whose place it is."""
    wide = upcast(values)
    total = np.zeros((1, count, wide[0].size if len(wide) else int(np.prod(wide.shape[1:]))), wide.dtype)
    if wide.dtype == np.bool_:
        np.logical_or.at(total[0], places, wide.reshape(len(wide), -1))
    elif len(wide):
        add_slices(total, places, wide.reshape(1, len(wide), -1))
    return total.reshape(count, *values.shape[1:]).astype(values.dtype, copy=False)
