"""NumPy's ufuncs of arrays in compressed formats: what is computed with gradients that are such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...core.memory_format import CONSTANTS
from ..sparse.stored import stored_div, stored_neg
from .array import CompressedArray
from .conversions import to_layout
from .pointwise import compressed_add, compressed_mul


def _add(a: Any, b: Any) -> Any:
    """The sum; two layouts become the first one."""
    if isinstance(a, CompressedArray) and isinstance(b, CompressedArray) and a.layout != b.layout:
        b = to_layout(b, CONSTANTS[a.layout], a.blocksize, None)
    return compressed_add(a, b, 1)


KERNELS: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: _add,
    np.multiply: compressed_mul,
    np.negative: stored_neg,
    np.true_divide: stored_div,
}
