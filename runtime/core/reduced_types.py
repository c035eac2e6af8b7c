"""Reduced types: float16, bfloat16, float8 are computed in float32, complex32 in complex64, and rounded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .scalar_type_base import dtype as ScalarType

_float32 = np.dtype("float32")

Load = Callable[[Any], Any]
Store = Callable[[Any, Any], Any]


def hooks(scalar_type: ScalarType, cast: Store) -> tuple[Load, Store | None, Store | None]:
    """What a Type does with its arrays, where they are computed in another type, and with results.

    The first gives what a kernel gets for an array. The second makes a result, with the dtype that it must
    have, one of the Type; the third does so only with one that is of the type computed in. None is for
    nothing. ``cast`` is that of the Type's backend.
    """
    computed = scalar_type.opmath
    if computed is scalar_type:
        return _unchanged, None, None
    if scalar_type.category == "reduced":
        return upcast, round_to, downcast
    narrow, wide = scalar_type.array_dtype, computed.array_dtype
    narrower = {wide: narrow}
    if scalar_type.is_complex:  # the magnitudes are of such a type, too
        narrower[computed.to_real().array_dtype] = scalar_type.to_real().array_dtype

    def load(array: Any) -> Any:
        return cast(array, wide) if array.dtype == narrow else array

    def store(array: Any, dtype: Any) -> Any:
        return cast(array, narrower.get(array.dtype, dtype))

    def store_computed(array: Any, dtype: Any) -> Any:
        return cast(array, narrower.get(array.dtype, array.dtype))

    return load, store, store_computed


def _unchanged(array: Any) -> Any:
    return array


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
