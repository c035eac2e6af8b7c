"""The stable order by keys, beside Python's stable sort, and the first few of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.kernels import argsort as order, sorting

FLOATS = ["float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
SHAPES = [(1,), (7,), (40,), (3, 5), (5, 3, 4), (200,), (1, 9), (9, 1)]


@pytest.fixture(params=[1 << 16, 1, 12], autouse=True)
def small(request: Any, monkeypatch: Any) -> None:
    """Keys for all sizes, in one piece or in several, by up to three threads."""
    monkeypatch.setattr(order, "SORT_LARGE", 1)
    monkeypatch.setattr(order, "CHUNK", request.param)
    monkeypatch.setattr(order, "GRAIN", 10)
    monkeypatch.setattr("tengen.kernels.parallel._count", 3)


def floats(dtype: str, shape: tuple[int, ...]) -> Any:
    rng = np.random.default_rng(0)
    nan = np.copysign(np.array([np.nan, np.nan], dtype), [1, -1])
    special = np.array([-np.inf, -1, -0.0, 0.0, 1e-40, -1e-40, 1, 2, np.inf, *nan], dtype)
    yield rng.choice(special, shape)
    yield rng.standard_normal(shape).astype(dtype)
    yield np.full(shape, np.nan, dtype)
    yield rng.integers(-3, 4, shape).astype(dtype)


def integers(dtype: str, shape: tuple[int, ...]) -> Any:
    rng, limits = np.random.default_rng(0), np.iinfo(dtype)
    yield rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    yield rng.integers(0, 5, shape).astype(dtype)
    yield rng.choice(np.array([limits.min, limits.max, 0], dtype), shape)
    yield rng.integers(0, 100, shape).astype(dtype)
    if limits.bits == 64:  # spans on both sides of what leaves room
        for bits in (31, 32, 33, 55, 57, 62):
            yield rng.integers(0, 1 << bits, shape, dtype) + (
                limits.min if bits % 2 else limits.max - (1 << bits)
            )


def expected(array: Any, dim: int, descending: bool) -> Any:
    def lane(row: Any) -> list[int]:
        values = row.tolist()

        def place(i: int) -> tuple[bool, Any]:
            nan = values[i] != values[i]
            value = 0 if nan else values[i]
            return (not nan, -value) if descending else (nan, value)

        return sorted(range(len(values)), key=place)

    lanes = np.moveaxis(array, dim, -1)
    found = [lane(row) for row in lanes.reshape(-1, lanes.shape[-1])]
    return np.moveaxis(np.array(found).reshape(lanes.shape), -1, dim)


@pytest.mark.parametrize("dtype", [*FLOATS, *INTEGERS, "bool"])
@pytest.mark.parametrize("descending", [False, True])
def test_order_and_its_beginning(dtype: str, descending: bool) -> None:
    for shape in SHAPES:
        if dtype == "bool":
            arrays = [np.random.default_rng(0).random(shape) < 0.5]
        else:
            arrays = list((floats if dtype in FLOATS else integers)(dtype, shape))
        for array in arrays:
            for dim in range(len(shape)):
                full = expected(array, dim, descending)
                for layout in (array, np.asfortranarray(array), np.flip(np.flip(array).copy())):
                    found = order.stable_argsort(layout, dim, descending)
                    np.testing.assert_array_equal(found, full)
                    assert found.flags.c_contiguous and found.dtype == np.int64
                for k in {1, shape[dim] // 4 or 1, shape[dim]}:
                    some = order.partial_argsort(array, k, dim, descending)
                    assert (some is None) <= (array.dtype.itemsize == 8)
                    if some is not None:
                        np.testing.assert_array_equal(some, full.take(range(k), dim))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "bool"])
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("short", [0, 1 << 14])
def test_topk_of_large_arrays(dtype: str, largest: bool, short: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(sorting, "SORT_LARGE", 1)
    monkeypatch.setattr(sorting, "SORT_SHORT", short)
    rng = np.random.default_rng(0)
    for shape, dim in (((300,), 0), ((2, 400), 1), ((400, 2), 0), ((3, 90, 2), 1), ((2, 30), -1)):
        array = rng.integers(-50, 50, shape).astype(dtype)
        if dtype.startswith("float"):
            array[rng.random(shape) < 0.02] = np.nan
            array[rng.random(shape) < 0.02] = -np.inf
        for k in (0, 1, 2, 5, 20, 30):
            values, indices = sorting.topk(array, k, dim, largest, True)
            full = expected(array, dim, largest).take(range(k), dim)
            best = np.take_along_axis(array, full, dim)
            np.testing.assert_array_equal(values, best)
            np.testing.assert_array_equal(np.take_along_axis(array, indices, dim), best)
            lanes = np.moveaxis(indices, dim, -1).reshape(-1, k) if k else indices
            assert all(len(set(lane)) == k for lane in lanes.tolist())


def test_few_least_of_great_integers(monkeypatch: Any) -> None:
    monkeypatch.setattr(sorting, "SORT_LARGE", 1)
    array = np.arange(1 << 62, (1 << 62) + 400)[::-1].copy()  # as floats these are all equal
    values, indices = sorting.topk(array, 3, 0, False, True)
    np.testing.assert_array_equal(values, (1 << 62) + np.arange(3))
    np.testing.assert_array_equal(indices, [399, 398, 397])
