"""The scalar types, the default ones, and the limits of their numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tengen.generated.scalar_types import *  # noqa: F403
from tengen.generated.scalar_types import __all__ as _names, bool_, float32, int64

from .scalar_type_base import dtype, named

__all__ = [
    *_names,
    "complex_of",
    "default_complex",
    "dtype",
    "finfo",
    "from_array_dtype",
    "get_default_dtype",
    "iinfo",
    "named",
    "of_python_type",
    "set_default_dtype",
]


#: The categories of the dtypes that are older than dtypes: each had a class, ``FloatTensor``.
_WITH_CLASS = ("bool", "integral", "floating", "reduced")
CLASS_NAMES = frozenset(f"{d.type_name}Tensor" for d in dtype.registry.values() if d.category in _WITH_CLASS)
#: Those whose storages had one, as "FloatStorage", which are the names that files have for them.
STORAGE_NAMES = frozenset(
    f"{d.type_name}Storage" for d in dtype.registry.values() if d.category in (*_WITH_CLASS, "complex")
)


class _Default:
    """The default scalar type of the process (``set_default_dtype``)."""

    __slots__ = ("dtype",)

    def __init__(self) -> None:
        self.dtype: dtype = float32


default = _Default()


def get_default_dtype() -> dtype:
    """The type of tensors made of Python floats, and of the results of integer division."""
    return default.dtype


def set_default_dtype(d: dtype) -> None:
    """Make ``d`` the default floating-point type. TypeError unless ``d`` is one; a float8 is none either."""
    if not isinstance(d, dtype):
        raise TypeError("invalid dtype object: only floating-point types are supported as the default type")
    if not d.is_floating_point or d.category == "float8":
        raise TypeError(f"only floating-point types are supported as the default type, not {d}")
    default.dtype = d


def complex_of(d: dtype) -> dtype:
    """The complex type whose parts have the precision of ``d``, at least float32's."""
    return d.to_complex()


def default_complex() -> dtype:
    """The type of tensors made of Python complex numbers."""
    return default.dtype.to_complex()


def of_python_type(cls: type) -> dtype:
    """The type of a tensor made of Python numbers of class ``cls``."""
    if issubclass(cls, bool):
        return bool_
    if issubclass(cls, int):
        return int64
    return default.dtype if issubclass(cls, float) else default_complex()


def meant(function: str, name: str, position: int, value: Any) -> dtype:
    """The scalar type that an argument of a function means: one, or a class of Python numbers.

    TypeError for anything else, which names the argument.
    """
    if isinstance(value, dtype):
        return value
    if isinstance(value, type) and value in (bool, int, float, complex):
        return dtype.of_python(value)
    raise TypeError(
        f"{function}(): argument '{name}' (position {position}) must be tengen.dtype, "
        f"not {value.__class__.__name__}"
    )


#: With their classes: array_api_strict warns of a comparison of its dtypes with those of another library.
_by_array_dtype: dict[tuple[type, Any], dtype] = {}


def from_array_dtype(array_dtype: np.dtype[Any]) -> dtype:
    """The scalar type of arrays of ``array_dtype``. KeyError when there is none."""
    found = _by_array_dtype.get((array_dtype.__class__, array_dtype))
    if found is None:
        if not array_dtype.isnative:
            raise KeyError(array_dtype)
        found = dtype.registry[array_dtype.name]
        if found.array_dtype != array_dtype:
            raise KeyError(array_dtype)
        _by_array_dtype[array_dtype.__class__, array_dtype] = found
    return found


def add_array_dtype(array_dtype: Any, scalar_type: dtype) -> None:
    """Let a dtype of another array library be that of a scalar type's arrays."""
    _by_array_dtype[array_dtype.__class__, array_dtype] = scalar_type


class _Limits:
    """The limits of the numbers of a scalar type: constant, and equal if they are of the same type.

    They are made once for each scalar type.
    """

    __slots__ = ("dtype",)

    dtype: str
    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__, (named(self.dtype),)

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            kind = self.__class__.__name__
            raise AttributeError(f"attribute {name!r} of 'tengen.{kind}' objects is not writable")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Limits) and self.__class__ is other.__class__ and self.dtype == other.dtype


class finfo(_Limits):
    """The limits of a floating-point type; of a complex type, those of its parts.

    Attributes as in NumPy: ``bits, eps, max, min, tiny, smallest_normal, resolution``, and
    ``dtype``, the type's name. Without an argument they are those of the default type. TypeError for an
    integral type, and for what is no type.
    """

    __module__ = "tengen"
    __slots__ = ("bits", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    bits: int
    eps: float
    max: float
    min: float
    resolution: float
    smallest_normal: float
    tiny: float

    def __new__(cls, type: Any = default) -> finfo:
        return cls._made(default.dtype if type is default else meant("finfo", "type", 1, type))

    @classmethod
    @functools.cache
    def _made(cls, type: dtype) -> finfo:
        if not type.is_inexact:
            raise TypeError(
                "tengen.finfo() requires a floating point input type. "
                f"Use tengen.iinfo to handle '{type.name}'"
            )
        self, real = super().__new__(cls), type.to_real()
        self.bits, self.eps, self.max, self.min, self.tiny, self.resolution = _floating_limits(real)
        self.smallest_normal = self.tiny
        self.dtype = real.name
        return self

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


def _floating_limits(real: dtype) -> tuple[int, float, float, float, float, float]:
    """Of a floating-point type: bits, eps, max, min, the smallest normal number, resolution."""
    info: Any = np.finfo(real.array_dtype) if real.array_dtype.isbuiltin == 1 else _ml_finfo(real)
    eps = float(info.eps)
    resolution = float(10 ** -int(-np.log10(eps)))
    return int(info.bits), eps, float(info.max), float(info.min), float(info.smallest_normal), resolution


def _ml_finfo(type: dtype) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(type.array_dtype)  # type: ignore[no-untyped-call]


class iinfo(_Limits):
    """The limits of an integral type: ``bits, max, min``, and ``dtype``, the type's name.

    TypeError for any other type, for bool, and for what is no type.
    """

    __module__ = "tengen"
    __slots__ = ("bits", "max", "min")

    bits: int
    max: int
    min: int

    def __new__(cls, type: Any) -> iinfo:
        return cls._made(meant("iinfo", "type", 1, type))

    @classmethod
    @functools.cache
    def _made(cls, type: dtype) -> iinfo:
        if type.category not in ("integral", "unsigned"):
            if type is bool_:
                raise TypeError("tengen.bool is not supported by tengen.iinfo")
            raise TypeError(
                f"tengen.iinfo() requires an integer input type. Use tengen.finfo to handle '{type.name}'"
            )
        self, info = super().__new__(cls), np.iinfo(type.array_dtype)
        self.bits = int(info.bits)
        self.max = int(info.max)
        self.min = int(info.min)
        self.dtype = type.name
        return self

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
