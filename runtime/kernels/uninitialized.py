"""What stands in new memory that nobody has written, where a program asks for determinism."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import cpu

Array = Any


class NewMemory:
    """New memory is filled where both are true: what the program asked for, and the switch beside it."""

    deterministic = False
    fill = True


def unwritten(array: Array) -> Array:
    """The new array; of a program that asks for it filled with NaN, the greatest integer or True."""
    if NewMemory.deterministic and NewMemory.fill and isinstance(array, np.ndarray):
        array[...] = _filler(array.dtype)
    return array


def _filler(dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "b":
        return np.True_
    if dtype.kind in "iu":
        return np.iinfo(dtype).max
    return cpu.cast(np.asarray(np.nan, np.float32), dtype)
