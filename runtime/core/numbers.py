"""Python's numbers: their classes, and the 0-d arrays that stand for them in kernels."""

from __future__ import annotations

from collections.abc import Callable
from math import copysign
from typing import Any, Final

#: The classes of Python's numbers; subclasses, as of an IntEnum, are converted first.
NUMBERS: Final = frozenset({bool, int, float, complex})
#: By the category of a scalar type: the classes of numbers that it holds without being promoted.
FITTING: Final[dict[str, frozenset[type]]] = {
    "bool": frozenset({bool}),
    "integral": frozenset({bool, int}),
    "floating": frozenset({bool, int, float}),
    "reduced": frozenset({bool, int, float}),
    "complex": NUMBERS,
    "unsigned": frozenset({bool, int}),
    "float8": frozenset({bool, int, float}),
    "reduced_complex": NUMBERS,
}
#: Of which classes such a type keeps numbers: exact ones, so that equal numbers are one array.
_KEPT: Final[dict[str, frozenset[type]]] = {
    "integral": frozenset({int}),
    "floating": frozenset({int, float}),
    "reduced": frozenset({int, float}),
    "complex": frozenset({int, float}),
    "unsigned": frozenset({int}),
    "float8": frozenset({int, float}),
    "reduced_complex": frozenset({int, float}),
}


class Numbers(dict[Any, Any]):
    """Python numbers as 0-d arrays of a dtype, kept: to make one takes as long as to compute with it.

    ``numbers[2]`` is an array, or 2 itself where an array might mean something else: 0.0 and -0.0 are one
    key, and NaN is none. Nobody may write to the arrays. Kernels that compute in another dtype do without.
    """

    __slots__ = ("category", "classes", "dtype", "full", "zero")

    #: How many are kept; a program that goes through more numbers than that gains nothing here.
    limit = 256

    def __init__(self, full: Callable[..., Any], dtype: Any, category: str) -> None:
        super().__init__()
        self.full, self.dtype, self.category = full, dtype, category
        self.classes: frozenset[Any] = _KEPT.get(category, frozenset())
        #: What is written for a 0 in an expression; among the others it cannot be, for -0.0 is equal to it.
        self.zero: Any = full((), 0, dtype) if self.classes else 0

    def __missing__(self, value: Any) -> Any:
        if value.__class__ not in self.classes or value != value:
            rounded = value.__class__ is complex and self.category == "reduced_complex"
            return self.full((), value, self.dtype) if rounded else value
        if not value:
            return self.zero if copysign(1.0, value) > 0 else value
        try:
            array = self.full((), value, self.dtype)
        except OverflowError:
            return value  # NumPy says it where it is used
        if len(self) < self.limit:
            self[value] = array
        return array
