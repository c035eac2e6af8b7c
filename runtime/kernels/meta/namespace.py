"""``xp`` of the Meta backend: NumPy's elementwise functions over MetaArrays.

Every function gives the broadcast shape and the dtype that NumPy would give. What is no
elementwise function (a dtype, a constant, ``finfo``) is NumPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .array import MetaArray, apply


def _elementwise(function: Any) -> Callable[..., MetaArray]:
    def primitive(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("out", None)
        if any([isinstance(a, MetaArray) for a in args]):
            return apply(function, *args, **kwargs)
        return function(*args, **kwargs)

    primitive.__name__ = primitive.__qualname__ = function.__name__
    return primitive


# Elementwise functions of NumPy that are no ufuncs.
_ELEMENTWISE = frozenset(
    {"angle", "clip", "i0", "imag", "isneginf", "isposinf", "nan_to_num", "real", "round", "where"}
)
_made: dict[str, Any] = {}


def __getattr__(name: str) -> Any:
    """A primitive, made on first use."""
    if name not in _made:
        value = getattr(np, name)
        _made[name] = _elementwise(value) if isinstance(value, np.ufunc) or name in _ELEMENTWISE else value
    return _made[name]
