"""Functions of dtypes, and conversion."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

from ..core import scalar_type
from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor
from .operands import Scalar, Where, is_integer, is_signed, promoted, with_scalar


@dataclass(frozen=True)
class finfo_object:
    """The limits of a floating-point dtype; of a complex one, those of its parts, whose dtype is named."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class iinfo_object:
    """The limits of a dtype of integers."""

    bits: int
    max: int
    min: int
    dtype: DType


#: The dtypes that are of each kind.
_KINDS: Final[dict[str, Any]] = {
    "bool": lambda d: d.name == "bool",
    "signed integer": lambda d: is_integer(d) and is_signed(d),
    "unsigned integer": lambda d: is_integer(d) and not is_signed(d),
    "integral": is_integer,
    "real floating": lambda d: d.is_floating_point,
    "complex floating": lambda d: d.is_complex,
    "numeric": lambda d: d.name != "bool",
}


def astype(x: Tensor, dtype: DType, /, *, copy: bool = True, device: Where = None) -> Tensor:
    """``x`` converted; without ``copy`` it may be ``x`` itself. TypeError from a complex to a real dtype."""
    if x.is_complex() and not dtype.is_complex:
        raise TypeError(f"astype(): {x.dtype} cannot be converted to {dtype}; take real() or imag() first")
    return x.to(device=x.device if device is None else device, dtype=dtype, copy=copy)


def can_cast(from_: DType | Tensor, to: DType, /) -> bool:
    """Whether ``from_`` can be converted to ``to`` by the rules of promotion."""
    source = from_.dtype if isinstance(from_, Tensor) else from_
    try:
        return promoted(source, to) == to
    except TypeError:
        return False


def finfo(type: DType | Tensor, /) -> finfo_object:
    """The limits of a floating-point dtype, or of a tensor's. TypeError for another dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    found = scalar_type.finfo(dtype)
    return finfo_object(found.bits, found.eps, found.max, found.min, found.smallest_normal, dtype.to_real())


def iinfo(type: DType | Tensor, /) -> iinfo_object:
    """The limits of a dtype of integers, or of a tensor's. TypeError for another dtype."""
    dtype = type.dtype if isinstance(type, Tensor) else type
    found = scalar_type.iinfo(dtype)
    return iinfo_object(found.bits, found.max, found.min, dtype)


def isdtype(dtype: DType, kind: DType | str | tuple[DType | str, ...]) -> bool:
    """Whether a dtype is ``kind``: a dtype, a kind by name, or one of several."""
    if isinstance(kind, tuple):
        return any([isdtype(dtype, each) for each in kind])
    if not isinstance(kind, str):
        return dtype == kind
    if kind not in _KINDS:
        raise ValueError(f"isdtype(): kind must be one of {', '.join(map(repr, _KINDS))}, not {kind!r}")
    return bool(_KINDS[kind](dtype))


def result_type(*arrays_and_dtypes: Tensor | Scalar | DType) -> DType:
    """The dtype to which tensors, dtypes and numbers promote. ValueError unless one is no number."""
    numbers = [a for a in arrays_and_dtypes if isinstance(a, bool | int | float | complex)]
    dtypes = [_dtype_of(a) for a in arrays_and_dtypes if not isinstance(a, bool | int | float | complex)]
    if not dtypes:
        raise ValueError("result_type(): at least one tensor or dtype must be given")
    return reduce(with_scalar, numbers, reduce(promoted, dtypes))


def _dtype_of(given: Any) -> DType:
    if isinstance(given, Tensor):
        return given.dtype
    if not isinstance(given, DType):
        got = type(given).__name__
        raise TypeError(f"result_type(): arguments must be tensors, dtypes or numbers, not {got}")
    return given
