"""NumPy's ufuncs of arrays in coordinate format: what is computed with gradients that are such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...core.memory_format import NotStrided
from .array import CooArray
from .pointwise import add_coo, coo_add, coo_div, coo_mul, coo_neg


def _add(a: Any, b: Any) -> Any:
    if not isinstance(b, CooArray):
        a, b = b, a
    return add_coo(a, b, 1) if isinstance(a, CooArray) else coo_add(a, b, 1)


_KERNELS: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: _add,
    np.multiply: coo_mul,
    np.negative: coo_neg,
    np.true_divide: coo_div,
}


def call_ufunc(layout: str, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: Any) -> Any:
    """The ufunc; into ``out`` where that is strided. NotStrided for one that there is not."""
    kernel = _KERNELS.get(ufunc)
    if kernel is None or method != "__call__":
        raise NotStrided(layout)
    result = kernel(*inputs)
    target = out[0] if out.__class__ is tuple else None
    if target is None or target is ... or isinstance(target, CooArray) or isinstance(result, CooArray):
        return result
    target[...] = result
    return target
