"""Bodies of operators that make tensors of nothing but numbers: what an element is, by its place.

    first, last, step = spaced(start, end, steps, dtype)
    out[k in steps] = where(k < steps // 2, first + step * k, last - step * (steps - 1 - k))

Lines above the last one name numbers. Of such a body follows its form, a function of the arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expressions import Call, Expr, Lambda, Name, Parameter, walk
from .statements import tuple_of

#: What kernels call the module of forms: ``factories.linspace`` is that of ``linspace``.
FACTORY_FORMS = "factories"
#: The argument that says the dtype, and the kernel that fills.
DTYPE, FULL = "dtype", "full"
#: What the numbers are called that a body may name.
CONSTANTS = ("inf", "nan", "pi")


@dataclass(frozen=True, slots=True)
class Factory:
    """What the elements of a new tensor are."""

    lines: tuple[tuple[Expr, Expr], ...]  # names of numbers, and what these are
    places: tuple[str, ...]  # what places are called; none where all elements are one number
    sizes: Expr  # how many there are of each: a tuple, or an argument
    value: Expr
    arguments: tuple[str, ...]  # those of the form, in the order of the schema

    def form(self) -> Lambda:
        """The function of the arguments that gives the shape, and the elements as a function of places."""
        elements = Lambda(tuple(map(Parameter, self.places)), self.value)
        return Lambda(tuple(map(Parameter, self.arguments)), tuple_of([self.sizes, elements]))

    def filled(self) -> Sequence[Expr] | None:
        """What the kernel that fills is called with, if one number that is known stands everywhere."""
        if self.lines or self.places or any([isinstance(part, Call) for part in walk(self.value)]):
            return None
        return self.sizes, self.value, Name(DTYPE)
