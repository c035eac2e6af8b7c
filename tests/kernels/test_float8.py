"""float8: every number of each format, and what numbers of other dtypes become."""

from __future__ import annotations

import math
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tengen
from tengen.kernels import cpu

#: By format: the bits of the exponent and of the fraction, the bias, the codes of infinity and of NaN, what
#: numbers beyond the greatest become, and whether zero has a sign. Of numbers of other codes each is one.
FORMATS: dict[str, tuple[int, int, int, set[int], set[int], str, bool]] = {
    "float8_e4m3fn": (4, 3, 7, set(), {0x7F, 0xFF}, "greatest", True),
    "float8_e5m2": (5, 2, 15, {0x7C, 0xFC}, {*range(0x7D, 0x80), *range(0xFD, 0x100)}, "infinity", True),
    "float8_e4m3fnuz": (4, 3, 8, set(), {0x80}, "nan", False),
    "float8_e5m2fnuz": (5, 2, 16, set(), {0x80}, "nan", False),
}
EXPONENTS = "float8_e8m0fnu"
NAMES = [*FORMATS, EXPONENTS]
#: Those of ml_dtypes that no scalar type is of: one that is declared would be as good as the others.
UNDECLARED = {
    "float8_e4m3": (4, 3, 7, {0x78, 0xF8}, {*range(0x79, 0x80), *range(0xF9, 0x100)}, "infinity", True),
    "float8_e3m4": (3, 4, 3, {0x70, 0xF0}, {*range(0x71, 0x80), *range(0xF1, 0x100)}, "infinity", True),
    "float8_e4m3b11fnuz": (4, 3, 11, set(), {0x80}, "nan", False),
}
FORMATS |= UNDECLARED


def dtype(name: str) -> np.dtype[Any]:
    return np.dtype(getattr(ml_dtypes, name) if name in UNDECLARED else getattr(tengen, name).array_dtype)


def meaning(name: str, code: int) -> float:
    """The number that eight bits mean."""
    if name == EXPONENTS:
        return math.nan if code == 0xFF else 2.0 ** (code - 127)
    _, fraction_bits, bias, infinite, nan, _, _ = FORMATS[name]
    sign = -1.0 if code & 0x80 else 1.0
    if code in nan or code in infinite:
        return math.nan if code in nan else sign * math.inf
    exponent, fraction = code >> fraction_bits & (0x7F >> fraction_bits), code & ((1 << fraction_bits) - 1)
    if exponent == 0:
        return sign * fraction * 2.0 ** (1 - bias - fraction_bits)
    return sign * (1 + fraction / 2**fraction_bits) * 2.0 ** (exponent - bias)


def wide(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Magnitudes in float64."""
    with np.errstate(invalid="ignore"):  # a signalling NaN
        return np.abs(values.astype(np.float64))


def expected(name: str, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The codes of the nearest numbers to those of float32, ties to even: found among all there are.

    Every number and every middle between two is exact in float64, so that no comparison is rounded.
    """
    if name == EXPONENTS:
        magnitudes = wide(values)
        middles = np.array([0.75 * 2.0 ** (code - 126) for code in range(254)])
        middles[0] = 2.0**-127 + 2.0**-149  # all subnormal numbers of float32 above 2 ** -127 are rounded up
        found = np.searchsorted(middles, magnitudes, "right")  # of a tie the greater one
        beyond = ~(magnitudes < 1.5 * 2.0**127)  # NaN too
        return np.where(beyond, 0xFF, found).astype(np.uint8)
    _, _, _, infinite, nan, overflow, signed = FORMATS[name]
    codes = [c for c in range(0x80) if c not in infinite and c not in nan]
    numbers = np.array([meaning(name, c) for c in codes])
    step = numbers[-1] - numbers[-2]
    middles = (numbers + np.append(numbers[1:], numbers[-1] + step)) / 2
    magnitudes = wide(values)
    below, above = np.searchsorted(middles, magnitudes, "left"), np.searchsorted(middles, magnitudes, "right")
    found = np.where(below % 2 == 0, below, above)  # they differ at a middle: of the two the even code
    top = len(codes) - 1
    past = {"greatest": top, "infinity": min(infinite, default=0), "nan": min(nan)}[overflow]
    found = np.where(found > top, past, found)
    found = np.where(np.isnan(values), max(c for c in nan if c < 0x80 or not signed), found)
    negative = np.signbit(values) & (signed | ((found != 0) & (found != 0x80)))
    return (found | np.where(negative, 0x80, 0)).astype(np.uint8)


def near(name: str) -> np.ndarray[Any, Any]:
    """Numbers of float32 at which rounding changes, and their neighbours; ends of float32, infinity, NaN."""
    numbers = np.unique([abs(meaning(name, c)) for c in range(256) if math.isfinite(meaning(name, c))])
    middles = (numbers[1:] + numbers[:-1]) / 2
    beyond = numbers[-1] * np.array([1, 1.0625, 1.125, 1.25, 1.5, 2, 4])
    quarters = (numbers[1:] * 3 + numbers[:-1]) / 4
    special = np.array([0, math.inf, math.nan, 2.0**-149, 2.0**-126, 2.0**-127, 3.4028235e38], np.float32)
    with np.errstate(over="ignore"):
        points = np.concatenate([numbers, middles, quarters, beyond]).astype(np.float32)
        points = np.concatenate([points, special])
        points = np.concatenate([points, np.nextafter(points, np.inf), np.nextafter(points, -np.inf)])
    return np.concatenate([points, -points]).astype(np.float32)


def bits_of_float32() -> np.ndarray[Any, Any]:
    """Bits all over float32: every sign, exponent and first bits of the fraction, with several last bits."""
    first = np.arange(0, 2**32, 2**15, dtype=np.uint64)
    last = np.array([0, 1, 2**14, 2**14 + 1, 2**15 - 1], np.uint64)
    return (first[:, None] + last).ravel().astype(np.uint32)


@pytest.mark.parametrize("name", [*NAMES, *UNDECLARED])
def test_every_code(name: str) -> None:
    """What 256 codes mean, as float32 and by way of it in other dtypes."""
    codes = np.arange(256, dtype=np.uint8).view(dtype(name))
    numbers = np.array([meaning(name, c) for c in range(256)])
    for kind in (np.float32, np.float64):
        np.testing.assert_array_equal(cpu.cast(codes, np.dtype(kind)), numbers.astype(kind))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(cpu.cast(codes, np.dtype(np.float16)), numbers.astype(np.float16))
    np.testing.assert_array_equal(cpu.cast(codes, np.dtype(bool)), numbers != 0)
    whole = np.abs(numbers) < 2**31
    np.testing.assert_array_equal(
        cpu.cast(codes[whole], np.dtype(np.int64)), np.trunc(numbers[whole]).astype(np.int64)
    )


@pytest.mark.parametrize("name", [*NAMES, *UNDECLARED])
def test_float32_is_rounded_to_the_nearest(name: str) -> None:
    for values in (near(name), bits_of_float32().view(np.float32)):
        found = cpu.cast(values, dtype(name)).view(np.uint8)
        np.testing.assert_array_equal(found, expected(name, values))


@pytest.mark.parametrize("source", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", NAMES)
def test_every_number_of_sixteen_bits(name: str, source: str) -> None:
    values = np.arange(2**16, dtype=np.uint16).view(getattr(tengen, source).array_dtype)
    found = cpu.cast(values, dtype(name)).view(np.uint8)
    np.testing.assert_array_equal(found, expected(name, values.astype(np.float32)))


@pytest.mark.parametrize("name", NAMES)
def test_other_dtypes_go_by_way_of_float32(name: str) -> None:
    numbers = np.array([0, 1, 3, -5, 17, 1000, 70000, 2**24 + 1, 2**40], np.int64)
    through = cpu.cast(numbers.astype(np.float32), dtype(name)).view(np.uint8)
    for kind in (np.int64, np.float64, np.complex64, np.complex128):
        np.testing.assert_array_equal(cpu.cast(numbers.astype(kind), dtype(name)).view(np.uint8), through)
    truths = cpu.cast(np.array([True, False]), dtype(name))
    assert truths.tolist() == [1.0, meaning(name, 0)]


@pytest.mark.parametrize("other", NAMES)
@pytest.mark.parametrize("name", NAMES)
def test_from_one_format_to_another(name: str, other: str) -> None:
    codes = np.arange(256, dtype=np.uint8).view(dtype(name))
    found = cpu.cast(codes, dtype(other)).view(np.uint8)
    if name == other:
        np.testing.assert_array_equal(found, codes.view(np.uint8))
    else:
        numbers = np.array([meaning(name, c) for c in range(256)], np.float32)
        if name in FORMATS and FORMATS[name][-1]:  # NaN has a sign, which is kept
            numbers = np.copysign(numbers, np.where(codes.view(np.uint8) & 0x80, -1, 1)).astype(np.float32)
        np.testing.assert_array_equal(found, expected(other, numbers))


@pytest.mark.parametrize("name", NAMES)
def test_layouts(name: str) -> None:
    """As other casts: the order of dimensions in memory stays, and 0-d arrays remain arrays."""
    values = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    for array in (values.transpose(2, 0, 1), values[:, ::2], np.broadcast_to(values[:, :1], (2, 3, 4))):
        made, plain = cpu.cast(array, dtype(name)), cpu.cast(array, np.dtype(np.float64))
        assert cpu.strides(made) == cpu.strides(plain)
        np.testing.assert_array_equal(made.view(np.uint8), expected(name, array))
        back = cpu.cast(np.asarray(made), np.dtype(np.float64))
        assert cpu.strides(back) == cpu.strides(plain)
    single = cpu.cast(np.float64(3).reshape(()), dtype(name))
    assert type(single) is np.ndarray and single.shape == () and single.dtype == dtype(name)


@pytest.mark.oracle
@pytest.mark.parametrize("name", NAMES)
def test_as_in_torch(name: str) -> None:
    """float32, the types of sixteen bits and every code, beside PyTorch."""
    torch = pytest.importorskip("torch")
    kind = getattr(torch, name)
    patterns = {
        "float32": bits_of_float32().view(np.int32),
        "float16": np.arange(2**16, dtype=np.uint16).view(np.int16),
        "bfloat16": np.arange(2**16, dtype=np.uint16).view(np.int16),
        **{other: np.arange(256, dtype=np.uint8) for other in NAMES},
    }
    for source, bits in patterns.items():
        ours = tengen.from_numpy(bits).view(getattr(tengen, source)).to(getattr(tengen, name))
        theirs = torch.from_numpy(bits).view(getattr(torch, source)).to(kind)
        np.testing.assert_array_equal(
            ours.view(tengen.uint8).numpy(), theirs.view(torch.uint8).numpy(), source
        )
    codes = np.arange(256, dtype=np.uint8)
    for target in ("float32", "float64", "float16", "bfloat16", "bool", "complex64"):
        ours = tengen.from_numpy(codes).view(getattr(tengen, name)).to(getattr(tengen, target))
        theirs = torch.from_numpy(codes).view(kind).to(getattr(torch, target))
        np.testing.assert_array_equal(ours.to(tengen.complex128).numpy(), theirs.to(torch.complex128).numpy())
