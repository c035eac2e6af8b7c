"""Named dims: how bodies over rows say what operands have along which of their dims.

    over input[N, C: group * c, *p], weight[group * c] by N, group

A name stands for dims of one size, which is that of an argument of the name. ``group * c`` is one dim, which
is taken as two, and has the size ``C``, if that stands before it; ``*p`` are any number of dims, which are
taken as one. Rows are what operands have at a place of the dims that stand behind ``by``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expressions import Constant, Elements, Expr, Name

#: Of each dim of an operand the names that it is taken as; of any number of dims "*" and a name.
Dims = tuple[tuple[str, ...], ...]


def names_of(dims: Dims) -> tuple[str, ...]:
    """The names, in their order."""
    return tuple([name.removeprefix("*") for dim in dims for name in dim])


@dataclass(frozen=True, slots=True)
class NamedDims:
    """The dims of operands, and which of them tell rows apart."""

    operands: tuple[tuple[str, Dims], ...]  # the first has rows
    by: tuple[str, ...]
    sizes: tuple[
        tuple[str, str], ...
    ]  # names, and whole dims as they are written, and arguments with their sizes
    sums: tuple[tuple[str, Dims], ...] = ()  # of results that are sums over all dims that they have not

    @property
    def rows(self) -> Dims:
        """Those of what has rows."""
        return self.operands[0][1]

    @property
    def numbers(self) -> Dims:
        """Those of what is one number for each row."""
        return tuple([(name,) for dim in self.rows for name in dim if name.removeprefix("*") in self.by])

    @property
    def axes(self) -> tuple[int, ...]:
        """The dims of rows, where each name is a dim."""
        return self.missing(self.numbers)

    @property
    def rows_end(self) -> bool:
        """Whether rows are along the last dims."""
        return names_of(self.rows)[: len(self.by)] == self.by

    def missing(self, dims: Dims) -> tuple[int, ...]:
        """The dims that an operand has not, where each name is a dim."""
        own = names_of(dims)
        return tuple([i for i, name in enumerate(names_of(self.rows)) if name not in own])

    def told(self, singles: Sequence[str], shared: Sequence[str], results: Sequence[str]) -> Expr:
        """As kernels are told: the dims of rows, ``by``, what has given sizes, and the dims of all others."""
        known, sums = dict(self.operands), dict(self.sums)
        others = [tuple([known[name] for name in of]) for of in (singles, shared)]
        of_sums = tuple([sums.get(name, ()) for name in results])
        return literal((self.rows, self.by, self.sized, *others, of_sums))

    @property
    def sized(self) -> tuple[str, ...]:
        """That of which the sizes are given."""
        return tuple([name for name, _ in self.sizes])

    @property
    def given(self) -> Expr:
        """These sizes."""
        return Elements("tuple", tuple([Name(argument) for _, argument in self.sizes]))


def literal(value: object) -> Expr:
    """A value, written out."""
    return Elements("tuple", tuple(map(literal, value))) if isinstance(value, tuple) else Constant(value)
