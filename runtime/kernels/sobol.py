"""Sobol' sequences: direction numbers, points by their numbers, and scrambling. All arrays are int64.

A point's coordinate is an integer of ``BITS`` bits, whose first one weighs a half. The point ``i`` is the xor
of the direction numbers ``(dimension, BITS)`` of the bits of ``i ^ (i >> 1)``, its Gray code, so it differs
from the one before by the direction number of the lowest bit of ``i``.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

Array = Any

BITS = 30
#: For how many dimensions there are primitive polynomials with first direction numbers: Joe's and Kuo's.
DIMENSIONS = 21201


def direction_numbers(dimension: int) -> Array:
    """Those of the first dimensions, (dimension, BITS).

    Of each dimension a primitive polynomial over two elements, written as its bits, continues the first ones.
    """
    polynomials, first = (table[:dimension] for table in _tables())
    degrees = np.frexp(polynomials.astype(np.float64))[1] - 1
    found = np.ones((dimension, BITS), np.int64)
    for degree in np.unique(degrees):
        own = degrees == degree
        found[own] = _continued(polynomials[own], first[own, :degree], int(degree))
    return found << np.arange(BITS - 1, -1, -1)


@cache
def _tables() -> tuple[Array, Array]:
    """All polynomials, (DIMENSIONS,), and their first direction numbers, (DIMENSIONS, 18); SciPy has them."""
    from importlib.resources import files

    path = files("scipy.stats").joinpath("_sobol_direction_numbers.npz")
    with path.open("rb") as file, np.load(file) as table:
        return table["poly"].astype(np.int64), table["vinit"].astype(np.int64)


def _continued(polynomials: Array, first: Array, degree: int) -> Array:
    """The direction numbers of polynomials of one degree, as integers of as many bits as their place says."""
    found = np.ones((len(polynomials), BITS), np.int64)  # of degree 0: van der Corput's sequence
    if not degree:
        return found
    found[:, :degree] = first
    for place in range(degree, BITS):
        found[:, place] = found[:, place - degree]
        for back in range(1, degree + 1):
            has = polynomials >> (degree - back) & 1
            found[:, place] ^= has * found[:, place - back] << back
    return found


def points(start: Array, directions: Array, number: int, count: int) -> Array:
    """The points that follow ``start``, whose number that is: (count, dimension)."""
    numbers = np.arange(number + 1, number + count + 1)
    lowest = np.frexp((numbers & -numbers).astype(np.float64))[1] - 1
    steps = directions.T[lowest]
    if count:
        steps[0] ^= start
    return np.bitwise_xor.accumulate(steps, axis=0)


def point(shift: Array, directions: Array, number: int) -> Array:
    """The point of a number, (dimension,), of the sequence whose first is ``shift``."""
    code = number ^ (number >> 1)
    used = [place for place in range(BITS) if code >> place & 1]
    return np.bitwise_xor.reduce(directions[:, used], axis=1, initial=0) ^ shift


def scrambled(directions: Array, digits: Array) -> Array:
    """Direction numbers times random matrices of binary digits, as Matousek does.

    Of ``digits`` (dimension, BITS, BITS) what is below the diagonal counts, which is 1: so each digit of a
    point depends on those before it.
    """
    weights = np.arange(BITS - 1, -1, -1)
    lower = np.tril(digits, -1) + np.eye(BITS, dtype=digits.dtype)
    bits = directions[:, None, :] >> weights[:, None] & 1  # (dimension, digit, place)
    return np.einsum("dip,i->dp", lower @ bits & 1, 1 << weights)


def fractions(integers: Array, dtype: np.dtype[Any]) -> Array:
    """Points as numbers in [0, 1): one that would be rounded to 1 is the number before it."""
    import ml_dtypes

    info: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return np.minimum(integers / (1 << BITS), 1 - float(info.epsneg)).astype(dtype)
