"""Remainders and rounded quotients have NumPy's bits, of all operands, however these lie in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import tengen

Array = npt.NDArray[Any]
RANDOM = np.random.default_rng(0)
BITS = {"float16": np.uint16, "float32": np.uint32, "float64": np.uint64}
FUNCTIONS = ("fmod", "remainder", "floor_divide")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8")


def patterns(dtype: str, count: int) -> Array:
    """Numbers of random bits: of all magnitudes, and all that is no number."""
    bits = BITS[dtype]
    return RANDOM.integers(0, np.iinfo(bits).max, count, bits, endpoint=True).view(dtype)


def pairs(dtype: str) -> Iterator[tuple[Array, Array]]:
    """Operands: any, alike in magnitude, at and beside multiples, and the ends of all ranges."""
    x, y = patterns(dtype, 60_000), patterns(dtype, 60_000)
    yield x, y
    small = RANDOM.normal(size=(2, 20_000)).astype(dtype)
    yield small[0], small[1]
    for size in (2.0, 2.0**10, 2.0**26, 2.0**53):
        multiple = (np.rint(RANDOM.uniform(-size, size, y.size)) * y.astype(np.float64)).astype(dtype)
        yield multiple, y
        yield np.nextafter(multiple, x), y
    info = np.finfo(dtype)
    limits = [info.max, info.tiny, info.smallest_subnormal, 1 + info.eps]
    ends = [0, np.inf, np.nan, 1, 2, 3, 0.1, *limits]
    known = np.array([*ends, *[-e for e in ends]], dtype)
    yield tuple(a.ravel() for a in np.meshgrid(known, known))  # type: ignore[misc]


def check(name: str, x: Array, y: Array, call: Callable[..., Any] | None = None) -> None:
    """The function of two arrays against NumPy's; what is NaN is NaN."""
    with np.errstate(all="ignore"):
        # Half types are computed in float32.
        wide = np.float32 if x.dtype == np.float16 else x.dtype
        wanted = getattr(np, name)(x.astype(wide), y.astype(wide)).astype(x.dtype)
    given = (call or getattr(tengen, name))(tengen.from_numpy(x), tengen.from_numpy(y)).numpy()
    bits = BITS[x.dtype.name]
    same = (given.view(bits) == wanted.view(bits)) | (np.isnan(given) & np.isnan(wanted))
    assert same.all(), (
        f"{name}({x[~same][0]!r}, {y[~same][0]!r}) is {given[~same][0]!r}, not {wanted[~same][0]!r}"
    )


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", BITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits(name: str, dtype: str) -> None:
    for x, y in pairs(dtype):
        check(name, x, y)
        check(name, x[:7].copy(), y[:7].copy())


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_bits_of_operands_that_lie_otherwise(name: str, dtype: str) -> None:
    x, y = patterns(dtype, 3000), patterns(dtype, 3000)
    check(name, x[::2], y[::2])
    check(name, x[::-1].copy(), y)
    for number in (0.3, 1e-30, -7.0, 3.0):
        check(name, x, np.full_like(y, number), lambda a, _, n=number: getattr(tengen, name)(a, n))
    kept = x.copy()
    check(name, x, y, lambda a, b: getattr(tengen.from_numpy(kept), f"{name}_")(b))  # what it reads it writes


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_integer_divided_by_0_is_an_error(name: str, dtype: str) -> None:
    function, info = getattr(tengen, name), np.iinfo(dtype)
    x = np.array([info.min, info.max, 7, -7 % 256 if info.min == 0 else -7, 0] * 100).astype(dtype)
    for divisor in (2, 3, info.max, 5):
        with np.errstate(all="ignore"):
            wanted = getattr(np, name)(x, np.dtype(dtype).type(divisor))
        np.testing.assert_array_equal(function(tengen.from_numpy(x), divisor).numpy(), wanted)
    zeros = np.ones_like(x)
    zeros[-1] = 0
    for other in (0, tengen.from_numpy(zeros), tengen.zeros((), dtype=getattr(tengen, dtype))):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            function(tengen.from_numpy(x), other)
    assert function(tengen.zeros(0, dtype=getattr(tengen, dtype)), 0).shape == (0,)
