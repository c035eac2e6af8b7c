"""Integers that go on in constant steps: what an expression of the places along a dim is, piece by piece.

It is computed with as an array is, but a piece is three numbers however long it is. Of conditions the values
are 0 and 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: How many elements a piece has, the first one, and the step to the next.
Piece = tuple[int, int, int]
#: An expression that has more pieces is computed element by element.
MANY = 48


class TooMany(Exception):
    """There are more pieces than are worth it, or none whose step is constant."""


class Steps:
    """An integer for each place, in pieces."""

    __slots__ = ("pieces",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, pieces: list[Piece]) -> None:
        """TooMany where there are too many pieces."""
        if len(pieces) > MANY:
            raise TooMany
        self.pieces = pieces

    # -- arithmetic --------------------------------------------------------------------------------

    def __neg__(self) -> Steps:
        return Steps([(count, -first, -step) for count, first, step in self.pieces])

    def __add__(self, other: Steps | int) -> Steps:
        if isinstance(other, int):
            return Steps([(count, first + other, step) for count, first, step in self.pieces])
        return Steps([(count, a + b, s + t) for count, a, s, b, t in beside(self, other)])

    def __sub__(self, other: Steps | int) -> Steps:
        return self + -other

    def __rsub__(self, other: Steps | int) -> Steps:
        return -self + other

    def __mul__(self, other: Steps | int) -> Steps:
        """TooMany where neither is constant."""
        if isinstance(other, int):
            return Steps([(count, first * other, step * other) for count, first, step in self.pieces])
        found = []
        for count, a, s, b, t in beside(self, other):
            if s and t and count > 1:
                raise TooMany
            found.append((count, a * b, a * t + b * s))
        return Steps(found)

    __radd__, __rmul__ = __add__, __mul__

    def __floordiv__(self, other: int) -> Steps:
        return Steps([(count, quotient, 0) for count, _, _, quotient in _divided(self, other)])

    def __mod__(self, other: int) -> Steps:
        parts = _divided(self, other)
        return Steps([(count, first - quotient * other, step) for count, first, step, quotient in parts])

    # -- conditions --------------------------------------------------------------------------------

    def __lt__(self, other: Steps | int) -> Steps:
        return Steps([(count, int(negative), 0) for count, _, _, negative in _by_sign(self - other)])

    def __ge__(self, other: Steps | int) -> Steps:
        return ~(self < other)

    def __le__(self, other: Steps | int) -> Steps:
        return self < other + 1

    def __gt__(self, other: Steps | int) -> Steps:
        return ~(self < other + 1)

    def __eq__(self, other: Steps | int) -> Steps:  # type: ignore[override]
        return (self <= other) & (self >= other)

    def __ne__(self, other: Steps | int) -> Steps:  # type: ignore[override]
        return ~(self == other)

    def __invert__(self) -> Steps:
        return 1 - self

    def __and__(self, other: Steps | int) -> Steps:
        return self * other

    def __or__(self, other: Steps | int) -> Steps:
        return ~(~self & (1 - other))

    __rand__, __ror__ = __and__, __or__


def places(count: int) -> Steps:
    """0, 1, 2 ..., so many."""
    return Steps([(count, 0, 1)] if count else [])


# -- the functions of bodies, as NumPy calls them --------------------------------------------------------


def maximum(a: Any, b: Any) -> Any:
    """The larger of two integers at each place; of equal ones the piece is that of ``a``."""
    larger = a - b
    if isinstance(larger, int):
        return max(a, b)
    return Steps([(n, 0, 0) if below else (n, f, s) for n, f, s, below in _by_sign(larger)]) + b


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two integers at each place; of equal ones the piece is that of ``a``."""
    return -maximum(-a, -b)


def absolute(a: Any) -> Any:
    """The integers without their signs."""
    return maximum(a, -a)


def where(condition: Any, a: Any, b: Any) -> Any:
    """``a`` where a condition holds, else ``b``."""
    if isinstance(condition, Steps):
        return condition * (a - b) + b
    return a if condition else b


# -- pieces ----------------------------------------------------------------------------------------------


def beside(a: Steps, b: Steps) -> Iterator[tuple[int, int, int, int, int]]:
    """Of both the parts in which each has one piece: how many places, and of each the first and the step."""
    ones, others = list(reversed(a.pieces)), list(reversed(b.pieces))
    while ones:
        (n, first, step), (m, second, pace) = ones.pop(), others.pop()
        count = min(n, m)
        yield count, first, step, second, pace
        if n > count:
            ones.append((n - count, first + count * step, step))
        if m > count:
            others.append((m - count, second + count * pace, pace))


def _by_sign(values: Steps) -> Iterator[tuple[int, int, int, bool]]:
    """The pieces, each with whether its values are negative: those that come to be so are two."""
    for count, first, step in values.pieces:
        if step > 0:
            before = min(max(-(first // step), 0), count)
        else:
            before = min(max(first // -step + 1, 0), count) if step else 0
        if before:
            yield before, first, step, first < 0
        if count > before:
            yield count - before, first + before * step, step, first + before * step < 0


def _divided(values: Steps, by: int) -> Iterator[tuple[int, int, int, int]]:
    """The pieces, each with the one quotient of its values; TooMany of a divisor that is not positive."""
    if not isinstance(by, int) or by < 0 or (by == 0 and values.pieces):
        raise TooMany
    made = 0
    for count, first, step in values.pieces:
        while count:
            quotient = first // by
            if step > 0:
                some = -((first - (quotient + 1) * by) // step)
            else:
                some = (first - quotient * by) // -step + 1 if step else count
            some = min(some, count)
            yield some, first, step, quotient
            count, first = count - some, first + some * step
            made += 1
            if made > MANY:
                raise TooMany
