"""NumPy's ufuncs of arrays in sparse layouts: what is computed with gradients that are such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from ...core.memory_format import NotStrided
from .array import CooArray, StoredArray
from .pointwise import add_coo, coo_add, coo_mul
from .stored import stored_div, stored_neg


def _add(a: Any, b: Any) -> Any:
    if not isinstance(b, CooArray):
        a, b = b, a
    return add_coo(a, b, 1) if isinstance(a, CooArray) else coo_add(a, b, 1)


KERNELS: Final[dict[np.ufunc, Callable[..., Any]]] = {
    np.add: _add,
    np.multiply: coo_mul,
    np.negative: stored_neg,
    np.true_divide: stored_div,
}


def call_ufunc(self: StoredArray, ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: Any) -> Any:
    """The ufunc; into ``out`` where that is strided. NotStrided for one that there is not.

    RuntimeError for arrays of which some are in coordinate format and some compressed.
    """
    kernel = self.ufuncs().get(ufunc)
    if kernel is None or method != "__call__":
        raise NotStrided(self.dtype.layout)
    others = [a.dtype.layout for a in inputs if isinstance(a, StoredArray) and type(a) is not type(self)]
    if others:
        raise RuntimeError(f"{ufunc.__name__}: got arrays of the layouts {self.dtype.layout} and {others[0]}")
    result = kernel(*inputs)
    target = out[0] if out.__class__ is tuple else None
    if target is None or target is ... or isinstance(target, StoredArray) or isinstance(result, StoredArray):
        return result
    target[...] = result
    return target
