"""Kernels that order, select, find and count: PyTorch's results, and the rules where it is not at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_oracle import DTYPES, FLOATING, NUMBERS, REAL, compare, distinct, layouts, random

import tengen
from tengen.kernels import sorting as kernels

nan, inf = np.nan, np.inf
CASES = [((3, 4), (0, 1, -1, 2)), ((2, 3, 4), (0, 1, 2)), ((), (0, -1, 1)), ((0, 3), (0, 1)), ((9,), (0,))]
oracle = pytest.mark.oracle
pytestmark = pytest.mark.filterwarnings("ignore")


def inputs(dtype: str) -> Any:
    """Arrays with and without equal elements, and whether there are some."""
    rng = np.random.default_rng(0)
    for shape, dims in CASES:
        for make in (random, distinct):
            if make is distinct and dtype == "bool":
                continue
            for array in layouts(make(rng, shape, dtype)):
                for dim in dims:
                    yield array, dim, make is random


def with_nan(dtype: str, shape: tuple[int, int] = (4, 5)) -> Any:
    a = random(np.random.default_rng(1), shape, dtype)
    a[0, 1] = a[3, 1] = a[3, 3] = nan
    a[2] = nan
    return a


# -- sort and selection -----------------------------------------------------------------------


@oracle
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("descending", [False, True])
def test_sort(torch: Any, dtype: str, descending: bool) -> None:
    arrays = [(a, dim) for a, dim, _ in inputs(dtype)]
    if dtype in FLOATING:
        arrays += [(with_nan(dtype), 0), (with_nan(dtype), 1)]
    for a, dim in arrays:
        compare(
            lambda x, d=dim: kernels.sort(x, d, descending),
            lambda x, d=dim: torch.sort(x, dim=d, descending=descending, stable=True),
            a,
        )


@oracle
@pytest.mark.parametrize("dtype", NUMBERS)
def test_topk(torch: Any, dtype: str) -> None:
    for a, dim, ties in inputs(dtype):
        for k in (0, 1, 2, 3, 7, -1):
            for largest in (False, True):
                compare(
                    lambda x, k=k, d=dim, g=largest: kernels.topk(x, k, d, g, True),
                    lambda x, k=k, d=dim, g=largest: torch.topk(x, k, d, g),
                    a, only_values=ties,
                )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", NUMBERS)
def test_kthvalue_and_median(torch: Any, dtype: str) -> None:
    arrays = list(inputs(dtype))
    if dtype in FLOATING:
        arrays += [(with_nan(dtype), 0, False), (with_nan(dtype), 1, False)]
    for a, dim, ties in arrays:
        for keepdim in (False, True):
            missing = a.dtype.kind in "fV" and np.isnan(a.astype(float)).any()
            for k in () if missing else (0, 1, 2, 4):
                compare(
                    lambda x, k=k, d=dim, b=keepdim: kernels.kthvalue(x, k, d, b),
                    lambda x, k=k, d=dim, b=keepdim: torch.kthvalue(x, k, d, b),
                    a, only_values=ties,
                )  # fmt: skip
            for kernel, operator in (
                (kernels.median_dim, torch.median),
                (kernels.nanmedian_dim, torch.nanmedian),
            ):
                compare(
                    lambda x, f=kernel, d=dim, b=keepdim: f(x, d, b),
                    lambda x, f=operator, d=dim, b=keepdim: f(x, d, b),
                    a, only_values=ties,
                )  # fmt: skip
        compare(kernels.median_all, torch.median, a)
        compare(kernels.nanmedian_all, torch.nanmedian, a)


@oracle
@pytest.mark.parametrize("dtype", REAL)
def test_mode(torch: Any, dtype: str) -> None:
    for a, dim, _ in inputs(dtype):
        for keepdim in (False, True):
            compare(
                lambda x, d=dim, k=keepdim: kernels.mode(x, d, k),
                lambda x, d=dim, k=keepdim: torch.mode(x, d, k),
                a,
            )


@oracle
@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float32"])
@pytest.mark.parametrize("shape", [(90, 100), (9, 10, 100)])
def test_large_arrays_take_other_ways(torch: Any, dtype: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    for a in (
        random(rng, shape, dtype),
        distinct(rng, shape, dtype) if dtype != "uint8" else random(rng, shape, dtype),
    ):
        if dtype == "float32":
            a.reshape(-1)[[5, 7]] = nan
            a.reshape(-1)[300:380] = -inf
        for dim in range(a.ndim):
            for largest in (False, True):
                for k in [k for k in (1, 3, 8, 20) if k <= a.shape[dim]]:
                    compare(
                        lambda x, k=k, d=dim, g=largest: kernels.topk(x, k, d, g, True),
                        lambda x, k=k, d=dim, g=largest: torch.topk(x, k, d, g),
                        a, only_values=True,
                    )  # fmt: skip
                    values, indices = kernels.topk(a, k, dim, largest, True)
                    np.testing.assert_array_equal(np.take_along_axis(a, indices, dim), values)
                    rows = np.moveaxis(indices, dim, -1).reshape(-1, k)
                    assert all(len(set(row)) == k for row in rows.tolist())
            compare(
                lambda x, d=dim: kernels.kthvalue(x, 4, d, False),
                lambda x, d=dim: torch.kthvalue(x, 4, d),
                a, only_values=True,
            )  # fmt: skip
            compare(
                lambda x, d=dim: kernels.sort(x, d, True),
                lambda x, d=dim: torch.sort(x, dim=d, descending=True, stable=True),
                a,
            )


def test_rules_of_order() -> None:
    values, indices = kernels.sort(np.array([3.0, nan, 1.0, inf, nan]), 0, False)
    np.testing.assert_array_equal(values, [1, 3, inf, nan, nan])
    np.testing.assert_array_equal(indices, [2, 0, 3, 1, 4])
    np.testing.assert_array_equal(kernels.sort(np.array([3, 1, 3, 1]), 0, True)[1], [0, 2, 1, 3])
    values, indices = kernels.median_dim(np.array([4.0, 1.0, 3.0, 2.0]), 0, False)
    assert (values, indices) == (2, 3)
    values, indices = kernels.median_dim(np.array([1.0, nan, 3.0]), 0, False)
    assert np.isnan(values) and indices == 1
    assert kernels.nanmedian_dim(np.array([1.0, nan, nan]), 0, False)[0] == 1
    assert kernels.mode(np.array([3, 3, 2, 2, 1]), 0, False) == (2, 3)
    with pytest.raises(RuntimeError, match="selected index k out of range"):
        kernels.topk(np.zeros(3), 4, 0, True, True)
    with pytest.raises(IndexError, match="non-zero size"):
        kernels.median_dim(np.zeros((3, 0)), 1, False)


# -- unique -------------------------------------------------------------------------------------


@oracle
@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("counts", [False, True])
def test_unique(torch: Any, dtype: str, inverse: bool, counts: bool) -> None:
    for a, dim, _ in inputs(dtype):
        compare(
            lambda x: kernels.unique2(x, True, inverse, counts),
            lambda x: torch._unique2(x, True, inverse, counts),
            a,
        )
        compare(
            lambda x: kernels.unique_consecutive(x, inverse, counts, None),
            lambda x: torch._VF.unique_consecutive(x, inverse, counts, None),
            a,
        )
        compare(
            lambda x, d=dim: kernels.unique_consecutive(x, inverse, counts, d),
            lambda x, d=dim: torch._VF.unique_consecutive(x, inverse, counts, d),
            a,
        )
        compare(
            lambda x, d=dim: kernels.unique_dim(x, d, True, inverse, counts),
            lambda x, d=dim: torch._VF.unique_dim(x, d, True, inverse, counts),
            a,
        )


def test_every_nan_is_distinct() -> None:
    values, inverse, counts = kernels.unique2(np.array([nan, 1.0, nan]), True, True, True)
    np.testing.assert_array_equal(values, [1, nan, nan])
    np.testing.assert_array_equal(inverse, [1, 0, 2])
    np.testing.assert_array_equal(counts, [1, 1, 1])


# -- searches and counts --------------------------------------------------------------------------


@oracle
@pytest.mark.parametrize("dtype", NUMBERS)
@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(torch: Any, dtype: str, right: bool) -> None:
    rng = np.random.default_rng(0)
    row = np.sort(random(rng, (7,), dtype).astype(float)).astype(DTYPES[dtype])
    rows = np.sort(random(rng, (3, 7), dtype).astype(float), 1).astype(DTYPES[dtype])
    empty = row[:0]
    for sequence, shape in (
        (row, (3, 4)), (row, ()), (rows, (3, 2)), (rows, (2, 2)), (rows, ()), (empty, (3,)), (row, (0,)),
        (rows[:, :0], (3, 2)), (rows[:0], (0, 2)), (row[0], (2,)),
    ):  # fmt: skip
        values = random(rng, shape, dtype)
        for out_int32 in (False, True):
            compare(
                lambda s, x, o=out_int32: kernels.searchsorted(s, x, o, right, None, None),
                lambda s, x, o=out_int32: torch.searchsorted(s, x, out_int32=o, right=right),
                np.asarray(sequence), values,
            )  # fmt: skip
            compare(
                lambda s, x, o=out_int32: kernels.bucketize(x, s, o, right),
                lambda s, x, o=out_int32: torch.bucketize(x, s, out_int32=o, right=right),
                np.asarray(sequence), values,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("sequence", [[1.0, nan], [nan, nan], [1.0, 2.0]])
@pytest.mark.parametrize("right", [False, True])
def test_nan_in_searches(torch: Any, sequence: list[float], right: bool) -> None:
    compare(
        lambda s, x: kernels.searchsorted(s, x, False, right, None, None),
        lambda s, x: torch.searchsorted(s, x, right=right),
        np.array(sequence), np.array([nan, 2, 0, 1, inf, -inf]),
    )  # fmt: skip


def test_side_and_sorter() -> None:
    row, sorter = np.array([5, 1, 3]), np.array([1, 2, 0])
    assert kernels.searchsorted(row, np.array([3]), False, False, None, sorter)[0] == 1
    assert kernels.searchsorted(np.sort(row), np.array([3]), False, False, "right", None)[0] == 2
    for side, right, wrong, text in (
        ("foo", False, None, "side can only be"),
        ("left", True, None, "opposites"),
        (None, False, np.array([1, 2]), "must have the same size"),
        (None, False, np.array([1, 2, 7]), "out of range"),
        (None, False, np.array([1.0, 2.0, 0.0]), "long dtype"),
    ):
        with pytest.raises(RuntimeError, match=text):
            kernels.searchsorted(row, np.array([3]), False, right, side, wrong)


@oracle
@pytest.mark.parametrize("dtype", NUMBERS)
def test_isin(torch: Any, dtype: str) -> None:
    rng = np.random.default_rng(0)
    elements = random(rng, (3, 3), dtype)
    for count in (0, 3, 20):
        for invert in (False, True):
            compare(
                lambda x, t, i=invert: kernels.isin(x, t, False, i),
                lambda x, t, i=invert: torch.isin(x, t, invert=i),
                elements, random(rng, (count,), dtype),
            )  # fmt: skip
    for many in (2, 20):
        assert not kernels.isin(np.array([nan]), np.full(many, nan), False, False).any()


@oracle
@pytest.mark.parametrize("values", [[1, 1, 3], [1, -1], [[1]], []])
def test_bincount(torch: Any, values: Any) -> None:
    a = np.array(values, np.int64).reshape(np.shape(values))
    for minlength in (0, 6, -1):
        compare(
            lambda x, n=minlength: kernels.bincount(x, None, n),
            lambda x, n=minlength: torch.bincount(x, None, n),
            a,
        )
        for dtype in DTYPES:
            weights = random(np.random.default_rng(0), a.shape, dtype)
            compare(
                lambda x, w, n=minlength: kernels.bincount(x, w, n),
                lambda x, w, n=minlength: torch.bincount(x, w, n),
                a, weights, opmath=False,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("bounds", [(0, 0), (0, 3), (-1, 1), (3, 0)])
def test_histc(torch: Any, dtype: str, bounds: tuple[int, int]) -> None:
    kind = DTYPES[dtype]
    arrays = [random(np.random.default_rng(0), (3, 50), dtype), np.zeros(0, kind), np.ones(3, kind)]
    for a in (*arrays, np.array([1, nan], kind), np.array([1, inf], kind)):
        for bins in (4, 1, 100, 0):
            compare(
                lambda x, n=bins: kernels.histc(x, n, *bounds),
                lambda x, n=bins: torch.histc(x, n, *bounds),
                a,
            )


@pytest.mark.parametrize("number", [1e16, -1e17, 2.0**53, 1e300, 0.0])
def test_the_bin_of_a_single_number_is_in_the_middle(number: float) -> None:
    """Also where the numbers beside it are not those 1 away."""
    assert kernels.histc(np.full(3, number), 5, 0, 0).tolist() == [0, 0, 3, 0, 0]


def test_a_range_may_be_larger_than_any_number() -> None:
    a = np.array([-3e38, -1e38, 1e38, 3e38], np.float32)
    assert kernels.histc(a, 4, 0, 0).tolist() == [1, 1, 1, 1]
    assert kernels.histc(a.astype(np.float64) * 5e269, 100, 0, 0)[[0, 33, 66, 99]].tolist() == [1, 1, 1, 1]


# -- numbers of all kinds in large arrays, beside definitions element by element ------------------------


def strange(shape: tuple[int, ...]) -> Any:
    """Numbers among which there are equal ones, infinities and NaN; some rows have hardly anything else."""
    rng = np.random.default_rng(3)
    array = rng.integers(-50, 50, shape).astype(np.float32)
    for value in (nan, inf, -inf):
        array[rng.random(shape) < 0.01] = value
    array[-1] = rng.choice([nan, inf, -inf], shape[1:])
    array[0, 3:], array[1, 3:] = -inf, inf
    return array


@pytest.mark.parametrize("shape", [(3, 2000), (40, 300), (3, 20000)])
@pytest.mark.parametrize("k", [1, 7, 100, 299])
@pytest.mark.parametrize("largest", [True, False])
def test_topk_of_strange_numbers(shape: tuple[int, int], k: int, largest: bool) -> None:
    """NaN is greatest, and equal elements are different places."""
    array = strange(shape)
    values, places = kernels.topk(array, k, 1, largest, True)
    expected = np.sort(array, 1)  # NaN last
    np.testing.assert_array_equal(values, expected[:, ::-1][:, :k] if largest else expected[:, :k])
    np.testing.assert_array_equal(np.take_along_axis(array, places, 1), values)
    assert all(len(set(row)) == k for row in places.tolist())


@pytest.mark.parametrize("count", [0, 1, 8, 9, 200])
@pytest.mark.parametrize("invert", [False, True])
def test_nan_is_among_nothing(count: int, invert: bool) -> None:
    elements = strange((5, 2000))
    among = np.r_[nan, -inf, 3, np.arange(20.0, 220.0)].astype(np.float32)[:count]
    expected = np.array([any(e == a for a in among) for e in elements.ravel()]).reshape(elements.shape)
    np.testing.assert_array_equal(kernels.isin(elements, among, False, invert), expected ^ invert)


def bisected(sequence: Any, value: Any, right: bool) -> int:
    """Where a value goes in a sequence."""
    low, high = 0, len(sequence)
    while low < high:
        middle = (low + high) // 2
        if sequence[middle] > value or (not right and sequence[middle] == value):
            high = middle
        else:
            low = middle + 1
    return low


@pytest.mark.parametrize("end", [[], [inf], [nan], [inf, nan, nan]])
@pytest.mark.parametrize("right", [False, True])
def test_searches_for_strange_numbers(end: list[float], right: bool) -> None:
    """The halves are chosen by what stands in the middle, which NaN is neither less nor greater than."""
    sequence = np.r_[np.arange(-40.0, 40.0).repeat(2), end].astype(np.float32)
    values = strange((2, 500))
    found = kernels.searchsorted(sequence, values, False, right, None, None)
    np.testing.assert_array_equal(found, np.vectorize(lambda value: bisected(sequence, value, right))(values))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_numbers_are_among_elements_that_are_rounded_from_them(dtype: str) -> None:
    kind = getattr(tengen, dtype)
    elements = tengen.tensor([1.0, 0.1, float("inf"), float("nan")], dtype=kind)
    for number, found in ((0.1, [False, True, False, False]), (float("nan"), [False] * 4)):
        assert tengen.isin(elements, number).tolist() == found
        assert tengen.isin(number, elements).item() is any(found)
        assert tengen.isin(elements, number, invert=True).tolist() == [not f for f in found]
    beyond = 1e6 if kind is tengen.float16 else 1e39
    assert tengen.isin(elements, beyond)[2].item() is (kind is not tengen.float64)
