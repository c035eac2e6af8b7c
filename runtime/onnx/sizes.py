"""Sizes that depend on dynamic axes: ints that know how they follow from the inputs' shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any

#: An input's dimension: the input's name and the axis.
Axis = tuple[str, int]
#: A product of dimensions, sorted; () is the number 1.
Monomial = tuple[Axis, ...]


class Size(int):
    """An int that is a polynomial of the inputs' dimensions; as a number, what it is for the example.

    Sums and products of Sizes and ints are Sizes; what else one computes with it is a plain int.
    """

    terms: Mapping[Monomial, int]

    def __new__(cls, value: int, terms: Mapping[Monomial, int]) -> Size:
        made = super().__new__(cls, value)
        made.terms = {m: c for m, c in terms.items() if c}
        return made

    def __add__(self, other: Any) -> int:
        if not isinstance(other, int):
            return NotImplemented
        terms = dict(self.terms)
        for monomial, count in terms_of(other).items():
            terms[monomial] = terms.get(monomial, 0) + count
        return sized(int(self) + int(other), terms)

    def __mul__(self, other: Any) -> int:
        if not isinstance(other, int):
            return NotImplemented
        terms: dict[Monomial, int] = {}
        for a, m in self.terms.items():
            for b, n in terms_of(other).items():
                key = tuple(sorted((*a, *b)))
                terms[key] = terms.get(key, 0) + m * n
        return sized(int(self) * int(other), terms)

    def __neg__(self) -> int:
        return self * -1

    def __sub__(self, other: Any) -> int:
        return self + -other if isinstance(other, int) else NotImplemented

    def __rsub__(self, other: Any) -> int:
        return other + -self if isinstance(other, int) else NotImplemented

    __radd__ = __add__
    __rmul__ = __mul__


def sized(value: int, terms: Mapping[Monomial, int]) -> int:
    """A Size, or a plain int where nothing is dynamic."""
    made = Size(value, terms)
    return made if set(made.terms) - {()} else value


def terms_of(value: int) -> Mapping[Monomial, int]:
    """The polynomial that an int is."""
    return value.terms if isinstance(value, Size) else {(): int(value)}


def dynamic(value: Any) -> bool:
    """Whether a number, or one in a nested list, depends on dynamic axes."""
    if isinstance(value, (list, tuple)):
        return any(dynamic(v) for v in value)
    return isinstance(value, Size)


def plain(value: Any) -> Any:
    """The value with plain ints in place of Sizes."""
    if isinstance(value, (list, tuple)):
        return tuple(plain(v) for v in value)
    return int(value) if isinstance(value, Size) else value


class Fit:
    """Finds how ints follow from dimensions, by what they were when each dimension was changed alone.

    ``sizes`` has, for each run, the size of each dimension: in the first run the example's, in the run
    i + 1 with the dimension i changed, and in the last with all changed.
    """

    def __init__(self, axes: list[Axis], sizes: list[list[int]]) -> None:
        self.axes = axes
        self.sizes = sizes

    def __call__(self, values: list[Any]) -> Any:
        """The value as a function of the dimensions; ValueError when it is none that is understood."""
        first = values[0]
        if isinstance(first, (list, tuple)):
            if len({len(v) for v in values}) > 1:
                raise ValueError("has another length")
            return tuple(self(list(column)) for column in zip(*values, strict=True))
        if all(type(v) is type(first) and _equal(v, first) for v in values):
            return first
        if not all(type(v) is int for v in values):
            raise ValueError(f"is {first!r}, and then {next(v for v in values if not _equal(v, first))!r}")
        for terms in self._candidates(values):
            if all(self._value(terms, sizes) == v for sizes, v in zip(self.sizes, values, strict=True)):
                return sized(first, terms)
        raise ValueError(f"is {', '.join(map(str, values))}")

    def _candidates(self, values: list[int]) -> Iterable[Mapping[Monomial, int]]:
        base = self.sizes[0]
        changed = [i for i in range(len(self.axes)) if values[i + 1] != values[0]]
        size = prod([base[i] for i in changed])
        if size and values[0] % size == 0:
            yield {tuple(sorted(self.axes[i] for i in changed)): values[0] // size}
        slopes: dict[Monomial, int] = {}
        rest = values[0]
        for i in changed:
            step, change = self.sizes[i + 1][i] - base[i], values[i + 1] - values[0]
            if change % step:
                return
            slopes[(self.axes[i],)] = change // step
            rest -= change // step * base[i]
        yield {**slopes, (): rest}

    def _value(self, terms: Mapping[Monomial, int], sizes: list[int]) -> int:
        size = dict(zip(self.axes, sizes, strict=True))
        return sum([count * prod([size[a] for a in monomial]) for monomial, count in terms.items()])


def _equal(a: Any, b: Any) -> bool:
    return bool(a == b) or (a != a and b != b)
