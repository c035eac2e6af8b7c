"""What tests of views ask of arrays of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tengen.kernels import cpu
from tengen.kernels.meta.array import MetaArray


def outcome(function: Callable[..., Any], *args: Any) -> Any:
    """The result, or the class of the error."""
    try:
        return function(*args)
    except (RuntimeError, IndexError) as error:
        return type(error)


def geometry(array: Any) -> Any:
    """Shape, strides and offset in elements; without elements only the shape counts."""
    if isinstance(array, MetaArray):
        shape, rest = array.shape, (array.element_strides, array.offset)
    elif isinstance(array, np.ndarray):
        shape, rest = array.shape, (cpu.strides(array), cpu.storage_offset(array))
    else:
        shape, rest = tuple(array.shape), (array.stride(), array.storage_offset())
    return (shape, *rest) if 0 not in shape else (shape,)
