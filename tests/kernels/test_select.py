"""A choice by a mask: by arithmetic on bits for large arrays, by np.where for small ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.core.costs import SELECT_LARGE
from tengen.kernels.select import select

SPECIAL = [0.0, -0.0, np.nan, np.inf, 1.5]


def choices(dtype: Any) -> list[tuple[Any, Any]]:
    """Pairs of operands: arrays in C's order and not, and arrays of one element, in either place."""
    with np.errstate(invalid="ignore"):
        values = np.array(SPECIAL).astype(dtype)
    table = np.resize(values, (SELECT_LARGE // 16, 16))
    other = table[::-1].copy()
    single = [(np.asarray(v), table) for v in values]
    return [(table, other), (table, np.asfortranarray(other)), *single, *[(b, a) for a, b in single]]


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i8", "c8", "c16", "?"])
def test_bits_are_those_of_where(dtype: str) -> None:
    for a, b in choices(np.dtype(dtype)):
        mask = np.arange(SELECT_LARGE).reshape(-1, 16) % 3 == 0
        found, expected = select(mask, a, b), np.where(mask, a, b)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes()
        small = [x[:2] if x.ndim else x for x in (mask, a, b)]
        assert select(*small).tobytes() == np.where(*small).tobytes()


@pytest.mark.parametrize("size", [4, SELECT_LARGE])
def test_numbers_take_the_dtype_of_the_other_operand(size: int) -> None:
    array = np.arange(size, dtype=np.float32)
    for number in (0, -0.0, 1.5, True):
        for a, b in ((array, number), (number, array)):
            found = select(array > 2, a, b)
            assert found.dtype == np.float32 and found.tobytes() == np.where(array > 2, a, b).tobytes()


def test_operands_of_other_shapes_are_broadcast() -> None:
    mask = np.arange(SELECT_LARGE).reshape(-1, 16) % 2 == 0
    row = np.arange(16.0)
    np.testing.assert_array_equal(select(mask, row, 0.0), np.where(mask, row, 0.0))


@pytest.mark.parametrize(("dtype", "number"), [("i4", 0.5), ("u1", 0.5), ("f4", 1j)])
@pytest.mark.parametrize("size", [8, SELECT_LARGE])
def test_numbers_without_room_in_the_dtype_widen_it(size: int, dtype: str, number: complex) -> None:
    array = np.arange(size).astype(dtype)
    mask = array % 2 == 0
    found, expected = select(mask, number, array), np.where(mask, number, array)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
