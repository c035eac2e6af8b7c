"""What symbolics call to cast: to given dtypes, to those in which an array namespace computes, to shapes.

Arguments are Refs where the operator's are tensors, and Python's values otherwise; operands that promote
have been cast to their common dtype. ``result`` has the dtype and the shape of what the operator gives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.scalar_type import bool_, dtype, float16, float32, float64, from_array_dtype, int32, int64
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .sizes import dynamic


def cast(value: Any, to: dtype) -> Ref:
    """The value in another dtype; itself if it has that."""
    if not isinstance(value, Ref):
        return constant(value, to)
    made: Ref = value if value.dtype is to else onnx.Cast(value, to=to)
    return made


def truth(value: Any) -> Ref:
    """Whether each element is not zero."""
    return cast(value, bool_)


def number(value: Any) -> Any:
    """The value as what ONNX computes with: bools, which it does not, as int32."""
    if isinstance(value, bool):
        return int(value)
    return cast(value, int32) if isinstance(value, Ref) and value.dtype is bool_ else value


def numbers(*values: Any) -> tuple[Any, ...]:
    """The operands of a comparison, in one dtype that ONNX compares."""
    return tuple(number(v) for v in together(*values))


def together(*values: Any) -> tuple[Ref, ...]:
    """The operands in the dtype in which an array namespace computes with them.

    Python's numbers are as wide as the arrays beside them, where these are of their category.
    """
    kind = np.result_type(*[v.dtype.array_dtype for v in values if isinstance(v, Ref)])
    plain = [0 if dynamic(v) else v for v in values if not isinstance(v, Ref)]
    if plain and not known(kind).is_floating_point:
        kind = np.result_type(kind, *plain)
    if kind.kind in "iu":
        kind = np.result_type(kind, *[np.min_scalar_type(v) for v in plain if not _fits(v, kind)])
    common = known(kind)
    return tuple(cast(v, common) for v in values)


def _fits(value: int, kind: np.dtype[Any]) -> bool:
    return bool(np.iinfo(kind).min <= value <= np.iinfo(kind).max)


def known(kind: np.dtype[Any]) -> dtype:
    """The dtype of an array dtype. Unsupported for one that tengen has not."""
    try:
        return from_array_dtype(kind)
    except KeyError:
        raise Unsupported(f"there is no dtype {kind}") from None


def floating(value: Ref) -> Ref:
    """The value in the floating dtype in which an array namespace computes a function of it."""
    kinds = {1: float16, 2: float32}
    kind = value.dtype
    real = kind.is_inexact
    return value if real else cast(value, kinds.get(kind.itemsize, float64))


def floats(*values: Any) -> tuple[Ref, ...]:
    """The operands in the floating dtype in which an array namespace computes a function of them."""
    if not all(isinstance(v, Ref) for v in values):
        values = together(*values)
    return together(*[floating(v) for v in values])


def widened(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its steps computed in float32 where it is one of narrower numbers: it rounds once."""

    @functools.wraps(function)
    def computed(*operands: Any) -> Any:
        kinds = [v.dtype for v in operands if isinstance(v, Ref)]
        common = known(np.result_type(*[kind.array_dtype for kind in kinds]))
        if common.opmath is common:
            return function(*operands)
        made = function(*[_wide(v) for v in operands])
        return cast(made, common) if made.dtype is common.opmath else made

    return computed


def _wide(value: Any) -> Any:
    return cast(value, value.dtype.opmath) if isinstance(value, Ref) else value


def shape_of(value: Ref) -> Ref:
    """The shape as a value: a constant where it is known."""
    if value.shape is not None and None not in value.shape:
        return constant(list(value.shape) or np.zeros(0, np.int64), int64 if value.shape else None)
    made: Ref = onnx.Shape(value)
    return made


def int_vector(values: Any) -> Ref:
    """A list of ints as a value."""
    return constant(list(values)) if len(values) else constant(np.zeros(0, np.int64))
