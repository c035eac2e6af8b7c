"""float16 and bfloat16: they are computed in float32, and rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

_float32 = np.dtype("float32")


def upcast(array: Any) -> Any:
    """float16 and bfloat16 as float32, in which they are computed; anything else as it is."""
    kind = array.dtype
    return array.astype(_float32) if kind.char == "e" or kind.name == "bfloat16" else array


def round_to(array: Any, dtype: Any) -> Any:
    """A result rounded to ``dtype``."""
    return array.astype(dtype)


def downcast(array: Any, dtype: Any) -> Any:
    """A float32 result rounded to ``dtype``; anything else as it is."""
    return array.astype(dtype) if array.dtype == _float32 else array
