"""Running sums by products: their values beside exact ones, for all the ways that blocks fall."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tengen.kernels import bodies, scans

SHAPES = [
    ((100,), 0), ((3, 4), 1), ((5, 32), 1), ((5, 33), 1), ((4, 48), 1), ((3, 101), 1), ((3, 100), 1),
    ((2, 37), 1), ((2, 3, 70), 2),
    ((100, 3), 0), ((96, 3), 0), ((2, 70, 3), 1), ((2, 70, 2, 2), 1), ((2, 64, 3), 1),
]  # fmt: skip


@pytest.fixture
def small(monkeypatch: Any) -> None:
    """Ways of large arrays for all sizes, by up to three threads."""
    monkeypatch.setattr(scans, "SCAN_LARGE", 1)
    monkeypatch.setattr("tengen.kernels.parallel._count", 3)


def exact(array: Any, dim: int, reverse: bool) -> Any:
    """The sums of fractions, rounded once."""

    def lane(row: Any) -> Any:
        total, sums = Fraction(0), []
        for value in row[::-1] if reverse else row:
            total += Fraction(float(value))
            sums.append(float(total))
        return np.array(sums[::-1] if reverse else sums)

    return np.apply_along_axis(lane, dim, array)


def bound(array: Any, dim: int, reverse: bool) -> Any:
    """What rounding can come to: it grows with the sum of sizes, not with the length.

    An element goes through at most as many additions as a block or a lane that is one has elements, whatever
    their order, and each sum of blocks is rounded when it is added to: once as itself, once in the result.
    """
    roundings = 35
    sizes = np.abs(array).astype(np.float64)
    sums = np.flip(np.cumsum(np.flip(sizes, dim), dim), dim) if reverse else np.cumsum(sizes, dim)
    return roundings * np.finfo(array.dtype).eps / 2 * sums


def from_the_end(array: Any, dim: int) -> Any:
    """NumPy's form of the body that sums from the end."""
    return bodies.run_body(
        None,
        "",
        lambda fold, scan, axis, n, x: scan("cumsum", x, axis, True),
        ((True,), ("running",), "", "", False, None),
        dim,
        "",
        False,
        None,
        (array,),
        (),
        (),
    )


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("shape", "dim"), SHAPES)
@pytest.mark.parametrize("reverse", [False, True])
def test_values(dtype: Any, shape: tuple[int, ...], dim: int, reverse: bool) -> None:
    array = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    before = array.copy()
    found = from_the_end(array, dim) if reverse else scans.cumsum(array, dim, None)
    assert found.dtype == dtype and found.flags.c_contiguous
    assert np.all(np.abs(found - exact(array, dim, reverse)) <= bound(array, dim, reverse))
    assert np.array_equal(array, before)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan])
@pytest.mark.parametrize(("shape", "dim"), [((2, 100), 1), ((100, 3), 0), ((5, 20), 1)])
def test_what_is_not_finite_stays_behind(wrong: float, shape: tuple[int, ...], dim: int) -> None:
    array = np.ones(shape, np.float32)
    array[(1,) * dim + (7,)] = wrong
    found = scans.cumsum(array, dim, None)
    back = from_the_end(array, dim)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(found, np.add.accumulate(array, dim))
        np.testing.assert_array_equal(back, np.flip(np.add.accumulate(np.flip(array, dim), dim), dim))
    assert np.isfinite(found).sum() > 0 and np.isfinite(back).sum() > 0


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("sign", [1, -1])
def test_sums_that_leave_float32_and_come_back(sign: int) -> None:
    array = np.zeros((1, 100), np.float32)
    array[0, 10:14] = np.array([3e38, 3e38, -3e38, -3e38]) * sign
    expected = np.add.accumulate(array, 1, np.float64)
    with np.errstate(over="ignore"):
        rounded = expected.astype(np.float32)
        assert np.isinf(rounded[0, 11]) and rounded[0, 12] == np.float32(3e38) * sign
        np.testing.assert_array_equal(scans.cumsum(array, 1, None), rounded)


@pytest.mark.parametrize("lanes", [(), (64,)])
def test_the_error_of_a_long_sum_does_not_grow(lanes: tuple[int, ...]) -> None:
    array = np.full((1 << 18, *lanes), 0.1, np.float32)
    found = scans.cumsum(array, 0, None)
    expected = np.float64(np.float32(0.1)) * np.arange(1, len(array) + 1).reshape(-1, *[1 for _ in lanes])
    assert np.all(np.abs(found - expected) <= bound(array, 0, False))
    assert np.all(np.abs(from_the_end(array, 0) - expected[::-1]) <= bound(array, 0, True))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (0, 3), (1,), (4, 5), (300, 20), (20, 300)])
def test_backwards(dtype: str, shape: tuple[int, ...]) -> None:
    array = (np.arange(math.prod(shape)) % 7).reshape(shape).astype(dtype)
    for dim in range(-1, len(shape)):
        found = from_the_end(array, dim)
        expected = np.flip(np.add.accumulate(np.flip(array, dim), dim), dim) if shape else array
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == array.dtype and found.flags.c_contiguous
        strided = np.asfortranarray(array)
        np.testing.assert_array_equal(from_the_end(strided, dim), expected)
    with pytest.raises(IndexError):
        from_the_end(array, max(len(shape), 1))


# -- running products and extrema, whose parts run side by side ------------------------------------------


@pytest.fixture(params=[1 << 15, 30])
def parts(request: Any, monkeypatch: Any) -> None:
    for name, value in (("SCAN_LARGE", 1), ("LANES", 8), ("GRAIN", request.param)):
        monkeypatch.setattr(scans, name, value)
    monkeypatch.setattr("tengen.kernels.parallel._count", 3)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int64, np.complex64])
@pytest.mark.parametrize("shape", [(8,), (9,), (41,), (3, 24), (5, 31), (2, 3, 16)])
def test_products(dtype: Any, shape: tuple[int, ...]) -> None:
    array = np.random.default_rng(0).uniform(0.5, 1.5, shape).astype(dtype)
    found = scans.cumprod(array, -1, None)
    wide = {"f": np.float64, "c": np.complex128, "i": np.int64}[array.dtype.kind]
    expected = np.multiply.accumulate(array.astype(wide), -1)
    assert found.dtype == dtype
    # Each of the two products of n numbers has n - 1 roundings of at most half of eps; of complex numbers a
    # product has an error of less than three of these.
    roundings = shape[-1] * (3 if array.dtype.kind == "c" else 1)
    tolerance = roundings * np.finfo(dtype).eps if dtype != np.int64 else 0
    np.testing.assert_allclose(found, expected, tolerance)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize(
    "special", [[0.0], [math.inf], [math.nan], [1e-40], [1e38, 1e38, 1e-38, 1e-38], [-0.0, math.inf]]
)
def test_products_that_are_not_mild(special: list[float]) -> None:
    array = np.full((2, 80), 1.5, np.float32)
    array[1, 11 : 11 + len(special)] = special
    with np.errstate(all="ignore"):
        found = scans.cumprod(array, 1, None)
        expected = np.multiply.accumulate(array.astype(np.float64), 1).astype(np.float32)
    np.testing.assert_allclose(found, expected, 1e-6)


@pytest.mark.usefixtures("parts")
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "bool", "uint8"])
@pytest.mark.parametrize(
    ("shape", "dim"), [((40,), 0), ((3, 41), 1), ((41, 3), 0), ((2, 9, 3), 1), ((3, 5), 1)]
)
@pytest.mark.parametrize("order", ["random", "up", "down"])
def test_extrema(dtype: str, shape: tuple[int, ...], dim: int, order: str) -> None:
    array = np.random.default_rng(0).integers(0, 2 if dtype == "bool" else 9, shape).astype(dtype)
    if order != "random":
        array = np.sort(array, dim) if order == "up" else np.flip(np.sort(array, dim), dim)
    elif dtype.startswith("float"):
        array.reshape(-1)[17:19] = math.nan
    for name, beats in (("cummax", np.greater_equal), ("cummin", np.less_equal)):
        values = scans.scanned(None, name, array, dim, False)
        indices = scans.scanned(None, f"arg{name}", array, dim, False, values)
        lanes = np.moveaxis(array, dim, -1).reshape(-1, shape[dim])
        want = np.empty_like(lanes), np.empty(lanes.shape, int)
        for r, lane in enumerate(lanes):
            best = 0
            for i, value in enumerate(lane):
                if value != value or (beats(value, lane[best]) and lane[best] == lane[best]):
                    best = i
                want[0][r, i], want[1][r, i] = lane[best], best
        moved = np.moveaxis(array, dim, -1).shape
        np.testing.assert_array_equal(values, np.moveaxis(want[0].reshape(moved), -1, dim))
        np.testing.assert_array_equal(indices, np.moveaxis(want[1].reshape(moved), -1, dim))
        assert values.dtype == array.dtype and indices.dtype == np.int64
        assert values.flags.c_contiguous and indices.flags.c_contiguous
