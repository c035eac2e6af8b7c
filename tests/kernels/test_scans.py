"""Kernels of scans: PyTorch's results, and the rules where PyTorch is not at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_oracle import COMPLEX, DTYPES, FLOATING, REAL, compare, layouts, of_arrays, random, same

from tengen.kernels import scans as kernels

nan, inf = np.nan, np.inf
CASES = [((3, 4), (0, 1, -1, 2)), ((2, 3, 4), (0, 1, 2)), ((), (0, -1, 1)), ((0, 3), (0, 1)), ((1,), (0,))]
oracle = pytest.mark.oracle
pytestmark = pytest.mark.filterwarnings("ignore")


def inputs(dtype: str) -> Any:
    rng = np.random.default_rng(0)
    for shape, dims in CASES:
        for array in layouts(random(rng, shape, dtype)):
            for dim in dims:
                yield array, dim


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", [None, "int64", "float16", "float32", "complex64"])
def test_running_sums_and_products(torch: Any, dtype: str, wanted: str | None) -> None:
    if dtype in FLOATING + COMPLEX and wanted == "int64":
        pytest.skip("casting large products to integers is undefined")
    to = None if wanted is None else DTYPES[wanted]
    for a, dim in inputs(dtype):
        for kernel, operator in ((kernels.cumsum, torch.cumsum), (kernels.cumprod, torch.cumprod)):
            compare(
                lambda x, t, f=kernel, d=dim: f(x, d, t),
                lambda x, t, f=operator, d=dim: f(x, d, dtype=t),
                a, to, opmath=False,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", ["bool", "int32", "float16", "float32", "complex64"])
@pytest.mark.parametrize("shape", [(70, 200), (3, 5, 200), (0, 200), (1, 200)])
def test_many_lanes_side_by_side(torch: Any, dtype: str, shape: tuple[int, ...]) -> None:
    a = random(np.random.default_rng(0), shape, dtype) if dtype != "float16" else np.ones(shape, np.float16)
    for array in layouts(a):
        for dim in range(len(shape)):
            compare(
                lambda x, d=dim: kernels.cumsum(x, d, None),
                lambda x, d=dim: torch.cumsum(x, d),
                array,
                opmath=False,
            )


@oracle
@pytest.mark.parametrize("dtype", REAL)
def test_running_extrema(torch: Any, dtype: str) -> None:
    for a, dim in inputs(dtype):
        for name in ("cummax", "cummin"):
            compare(
                lambda x, f=name, d=dim: of_arrays(f, x, d),
                lambda x, f=name, d=dim: getattr(torch, f)(x, d),
                a,
            )


@oracle
@pytest.mark.parametrize("dtype", FLOATING + COMPLEX)
def test_logcumsumexp(torch: Any, dtype: str) -> None:
    for a, dim in inputs(dtype):
        compare(lambda x, d=dim: kernels.logcumsumexp(x, d), lambda x, d=dim: torch.logcumsumexp(x, d), a)


@oracle
@pytest.mark.parametrize(
    "row",
    [
        [1, nan, 3, nan, nan],
        [nan, 1],
        [inf, -inf, inf],
        [-inf, -inf, 1],
        [1, 3, 3, 2, 3],
        [nan, -inf],
        [inf, 1, -inf],
    ],
)
def test_special_values(torch: Any, row: list[float]) -> None:
    for dtype in FLOATING:
        a = np.array(row).astype(DTYPES[dtype])
        for name in ("cummax", "cummin"):
            compare(lambda x, f=name: of_arrays(f, x, 0), lambda x, f=name: getattr(torch, f)(x, 0), a)
        compare(lambda x: kernels.logcumsumexp(x, 0), lambda x: torch.logcumsumexp(x, 0), a)


def test_rules() -> None:
    values, indices = of_arrays("cummax", np.array([1.0, nan, 3.0, nan]), 0)
    np.testing.assert_array_equal(values, [1, nan, nan, nan])
    np.testing.assert_array_equal(indices, [0, 1, 1, 3])
    np.testing.assert_array_equal(of_arrays("cummin", np.array([1, 1, 0]), 0)[1], [0, 1, 2])
    assert kernels.cumsum(np.array([True, True]), 0, None).dtype == np.int64
    with pytest.raises(NotImplementedError):
        kernels.cumsum(np.array([1.0]), 0, np.dtype(bool))
    with pytest.raises(IndexError, match="Dimension out of range"):
        kernels.cumprod(np.zeros((2, 2)), 2, None)


def test_long_running_sums_stay_precise() -> None:
    ones = np.full(1_000_000, 0.1, np.float32)
    assert kernels.cumsum(ones, 0, None)[-1] == pytest.approx(float(ones[0]) * 1e6, rel=1e-6)


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (1, 2), (0, 3), (100, 2)])
@pytest.mark.parametrize("reverse", [False, True])
def test_linear_scan(shape: tuple[int, int], reverse: bool) -> None:
    rng = np.random.default_rng(0)
    start, factor = rng.uniform(-1, 1, (2, *shape))
    expected = start.copy()
    order = range(shape[0] - 2, -1, -1) if reverse else range(1, shape[0])
    for i in order:
        expected[i] += factor[i] * expected[i + 1 if reverse else i - 1]
    same(kernels.linear_scan(start, factor, 0, reverse), expected)
    same(kernels.linear_scan(start.T, factor.T, 1, reverse).T, expected)


@pytest.mark.parametrize("ufunc", [np.add, np.multiply])
@pytest.mark.parametrize(
    ("length", "lanes"),
    [(kernels.LONG, 3), (kernels.LONG + 1, 1), (kernels.LONG + 1, 3), (kernels.SCAN_LARGE - 1, 1)],
)
def test_long_scans_of_single_precision_are_rounded_once(ufunc: Any, length: int, lanes: int) -> None:
    """What is accumulated in float64 is off by half of the last digit, and by float64's own rounding."""
    array = np.random.default_rng(0).uniform(0.9, 1.1, (length, lanes)).astype(np.float32)
    kernel = kernels.cumsum if ufunc is np.add else kernels.cumprod
    exact = ufunc.accumulate(array, 0, np.longdouble)
    roundings = 1 if length > kernels.LONG else length
    allowed = (roundings * np.finfo(np.float32).eps / 2 + length * np.finfo(np.float64).eps) * exact
    for found in (kernel(array, 0, None), kernel(np.ascontiguousarray(array.T), 1, None).T):
        assert found.dtype == np.float32
        assert np.all(np.abs(found - exact) <= allowed)
