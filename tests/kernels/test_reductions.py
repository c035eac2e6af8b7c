"""Kernels of reductions: PyTorch's results, and the rules where PyTorch is not at hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_oracle import COMPLEX, DTYPES, FLOATING, NUMBERS, REAL, compare, layouts, of_arrays, random

from tengen.kernels import cpu, reductions as kernels, sums

nan, inf = np.nan, np.inf
CASES: list[tuple[tuple[int, ...], list[Any]]] = [
    ((3, 4), [None, (), (0,), (1,), (-1,), (0, 1), (2,), (0, 0), (0, -2)]),
    ((2, 3, 4), [(0, 2), (1,), (2, 0, 1)]),
    ((), [None, (), (0,), (-1,), (1,), (0, -1)]),
    ((0, 3), [None, (0,), (1,), (0, 1)]),
    ((1,), [None, (0,)]),
]
oracle = pytest.mark.oracle
pytestmark = pytest.mark.filterwarnings("ignore")


def inputs(dtype: str) -> Any:
    rng = np.random.default_rng(0)
    for shape, dims in CASES:
        for array in layouts(random(rng, shape, dtype)):
            for dim in dims:
                for keepdim in (False, True):
                    yield array, dim, keepdim


# -- against PyTorch --------------------------------------------------------------------------


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_and_products(torch: Any, dtype: str) -> None:
    for a, dim, keepdim in inputs(dtype):
        compare(
            lambda x, d=dim, k=keepdim: kernels.sum_dim(x, d, k, None),
            lambda x, d=dim, k=keepdim: torch.sum(x, d, k),
            a, opmath=False,
        )  # fmt: skip
        if dim is not None and len(dim) == 1:
            compare(
                lambda x, d=dim, k=keepdim: kernels.prod_dim(x, d, k, None),
                lambda x, d=dim, k=keepdim: torch.prod(x, d[0], k),
                a, opmath=False,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("wanted", DTYPES)
def test_dtype_argument(torch: Any, dtype: str, wanted: str) -> None:
    a = np.abs(random(np.random.default_rng(1), (3, 4), dtype))
    for dim in (None, (1,)):
        compare(
            lambda x, t, d=dim: kernels.sum_dim(x, d, False, t),
            lambda x, t, d=dim: torch.sum(x, d, dtype=t),
            a, DTYPES[wanted], opmath=False,
        )  # fmt: skip
        compare(
            lambda x, t, d=dim: kernels.mean_dim(x, d, False, t),
            lambda x, t, d=dim: torch.mean(x, d, dtype=t),
            a, DTYPES[wanted], opmath=False,
        )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_means(torch: Any, dtype: str) -> None:
    for a, dim, keepdim in inputs(dtype):
        compare(
            lambda x, d=dim, k=keepdim: kernels.mean_dim(x, d, k, None),
            lambda x, d=dim, k=keepdim: torch.mean(x, d, k),
            a, opmath=False,
        )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", FLOATING + COMPLEX)
@pytest.mark.parametrize("correction", [None, 0, 0.5, 5])
def test_moments(torch: Any, dtype: str, correction: float | None) -> None:
    for a, dim, keepdim in inputs(dtype):
        for name in ("var", "std", "var_mean", "std_mean"):
            compare(
                lambda x, f=name, d=dim, k=keepdim: of_arrays(f, x, d, correction=correction, keepdim=k),
                lambda x, f=name, d=dim, k=keepdim: getattr(torch, f)(x, d, correction=correction, keepdim=k),
                a,
            )


def logsumexp(a: Any, dim: Any, keepdim: bool) -> Any:
    return of_arrays("logsumexp", a, dim, keepdim)


@oracle
@pytest.mark.parametrize("dtype", FLOATING + COMPLEX)
def test_logsumexp(torch: Any, dtype: str) -> None:
    for a, dim, keepdim in inputs(dtype):
        if dim:
            compare(
                lambda x, d=dim, k=keepdim: logsumexp(x, d, k),
                lambda x, d=dim, k=keepdim: torch.logsumexp(x, d, k),
                a,
            )


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_tests_and_counts(torch: Any, dtype: str) -> None:
    for a, dim, keepdim in inputs(dtype):
        for name, operator in (("all", torch.all), ("any", torch.any)):
            compare(
                lambda x, f=name, d=dim, k=keepdim: of_arrays(f, x, d, k),
                lambda x, f=operator, d=dim, k=keepdim: f(x, d, k),
                a, opmath=False,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", REAL)
def test_extrema(torch: Any, dtype: str) -> None:
    for a, dim, keepdim in inputs(dtype):
        for name, operator in (("amax", torch.amax), ("amin", torch.amin)):
            compare(
                lambda x, f=name, d=dim, k=keepdim: of_arrays(f, x, d or (), k),
                lambda x, f=operator, d=dim, k=keepdim: f(x, d or (), k),
                a,
            )
        if dim is None or len(dim) == 1:
            d = None if dim is None else dim[0]
            compare(
                lambda x, d=d, k=keepdim: of_arrays("aminmax", x, dim=d, keepdim=k),
                lambda x, d=d, k=keepdim: torch.aminmax(x, dim=d, keepdim=k),
                a,
            )


@oracle
@pytest.mark.parametrize("dtype", REAL)
def test_where_extrema_stand(torch: Any, dtype: str) -> None:
    for a, dim, keepdim in inputs(dtype):
        if dim is not None and len(dim) != 1:
            continue
        d = None if dim is None else dim[0]
        if d is not None:
            for name, operator in (("max", torch.max), ("min", torch.min)):
                compare(
                    lambda x, f=name, d=d, k=keepdim: of_arrays(f, x, d, k),
                    lambda x, f=operator, d=d, k=keepdim: f(x, d, k),
                    a,
                )
        for name, operator in (("argmax", torch.argmax), ("argmin", torch.argmin)):
            if dtype in NUMBERS:
                compare(
                    lambda x, f=name, d=d, k=keepdim: of_arrays(f, x, d, k),
                    lambda x, f=operator, d=d, k=keepdim: f(x, d, k),
                    a,
                )


# -- the rules ------------------------------------------------------------------------------------


def test_the_first_of_equal_ones_and_the_first_nan() -> None:
    assert kernels.reduced("argmax", np.array([1, 5, 3, 5]), None, False) == 1
    values, indices = of_arrays("max", np.array([1.0, nan, 3.0, nan]), 0, False)
    assert np.isnan(values) and indices == 1
    values, indices = of_arrays("min", np.array([[3.0, 1.0, 1.0]]), 1, True)
    np.testing.assert_array_equal(values, [[1.0]])
    np.testing.assert_array_equal(indices, [[1]])
    assert np.isnan(kernels.reduced("max", np.array([1.0, nan]), (), False))


def test_empty_reductions() -> None:
    empty = np.zeros((0, 3), np.float32)
    np.testing.assert_array_equal(kernels.sum_dim(empty, (0,), False, None), [0, 0, 0])
    assert kernels.prod_dim(empty, None, False, None) == 1
    assert np.isnan(kernels.mean_dim(empty, None, False, None))
    assert logsumexp(empty, (0,), False)[0] == -inf
    assert kernels.reduced("max", empty, (1,), False).shape == (0,)
    with pytest.raises(RuntimeError, match="Expected reduction dim to be specified"):
        kernels.reduced("max", empty, None, False)
    with pytest.raises(IndexError, match="Expected reduction dim 0 to have non-zero size"):
        kernels.reduced("min", empty, (0,), False)
    with pytest.raises(IndexError, match="Expected reduction dim to be specified"):
        kernels.reduced("argmax", empty, None, False)


def test_errors_of_dims() -> None:
    a = np.zeros((3, 4))
    for name in ("amax", "all"):
        with pytest.raises(IndexError, match=r"expected to be in range of \[-2, 1\], but got 2"):
            of_arrays(name, a, (2,), False)
        with pytest.raises(RuntimeError, match="dim 1 appears multiple times"):
            of_arrays(name, a, (1, -1), False)
    with pytest.raises(RuntimeError, match="could not infer output dtype"):
        kernels.mean_dim(np.arange(3), None, False, None)


def test_an_empty_list_of_dims_folds_all_but_tests_fold_none() -> None:
    a = np.array([[True, False]])
    assert kernels.sum_dim(a, (), False, None) == 1
    np.testing.assert_array_equal(of_arrays("all", a, (), False), a)
    assert of_arrays("all", np.array([3, 0], np.uint8), None, False).dtype == np.uint8


def test_long_sums_stay_precise() -> None:
    column = np.full((1_000_000, 2), 0.1, np.float32)
    exact = column.astype(np.float64).sum(0)
    # No chain of additions is longer than a block; what the blocks give is added in pairs.
    roundings = sums.SUM_ROWS + np.log2(len(column))
    found = kernels.sum_dim(column, (0,), False, None)
    assert np.abs(found / exact - 1).max() < roundings * np.finfo(np.float32).eps / 2
    half = np.full(5000, 1.0, np.float16)
    assert kernels.sum_dim(half, None, False, None) == 5000
    assert kernels.sum_dim(half, None, False, None).dtype == np.float16


@pytest.mark.parametrize(("shape", "dim"), [((5000, 3), (0,)), ((70, 60, 5), (1, 0)), ((1500, 2, 3), (0, 2))])
def test_blocked_sums(shape: tuple[int, ...], dim: tuple[int, ...]) -> None:
    a = np.random.default_rng(0).integers(-9, 9, shape).astype(np.float32)
    for keepdim in (False, True):
        np.testing.assert_array_equal(
            kernels.sum_dim(a, dim, keepdim, None), np.sum(a, axis=dim, keepdims=keepdim)
        )


@pytest.mark.parametrize(
    "size", [2, 1000, sums.NATIVE_GRAIN, 2 * sums.NATIVE_GRAIN, 3 * sums.NATIVE_GRAIN + 5]
)
@pytest.mark.parametrize("correction", [0, 1, 2])
def test_the_variance_of_all_elements(size: int, correction: int) -> None:
    a = (np.random.default_rng(0).standard_normal(size) + 100).astype(np.float32)
    wide = a.astype(np.float64)
    with np.errstate(all="ignore"):
        expected = wide.var(ddof=correction)
        variance, mean = of_arrays("var_mean", a, correction=correction)
    # Both are formed in float64, and rounded.
    eps = np.finfo(np.float32).eps
    np.testing.assert_allclose(mean, wide.mean(), rtol=eps)
    np.testing.assert_allclose(variance, expected, rtol=eps)
    assert of_arrays("var_mean", a.reshape(1, -1), (), keepdim=True)[0].shape == (1, 1)


@pytest.mark.parametrize("dims", [(1,), (0,), (0, 1), None, (2,)])
@pytest.mark.parametrize("scale, offset", [(1, 1e6), (1, -3e4), (1e20, 0), (1e-30, 0), (2.0**120, 2.0**127)])
def test_moments_of_float32_anywhere_in_its_range(
    dims: tuple[int, ...] | None, scale: float, offset: float
) -> None:
    """Neither an offset nor squares that are no float32 cost more than the rounding of the result."""
    numbers = np.random.default_rng(0).standard_normal((6, 40, 3)) * scale + offset
    for x in (numbers.astype(np.float32), np.asfortranarray(numbers.astype(np.float32))):
        wide = x.astype(np.float64)
        expected = {
            "var": (wide.var(dims, ddof=1), wide.mean(dims)),
            "std": (wide.std(dims, ddof=1), wide.mean(dims)),
        }
        for name, (spread, mean) in expected.items():
            with np.errstate(over="ignore"):
                found = of_arrays(f"{name}_mean", x, dims)
                wanted = spread.astype(np.float32)
            rounding = dict(rtol=np.finfo(np.float32).eps, atol=np.finfo(np.float32).smallest_subnormal)
            np.testing.assert_allclose(found[0], wanted, **rounding)
            np.testing.assert_array_equal(of_arrays(name, x, dims), found[0])
            # Of a mean near 0 the error is that of its terms.
            np.testing.assert_allclose(found[1], mean, rtol=rounding["rtol"], atol=1e-14 * scale)


def test_logsumexp_of_infinities() -> None:
    for row, expected in (
        ([-inf, -inf], -inf),
        ([inf, 1], inf),
        ([inf, -inf], inf),
        ([1000, 1000], 1000 + np.log(2)),
    ):
        assert logsumexp(np.array(row, np.float64), (0,), False) == pytest.approx(expected)


@pytest.mark.parametrize("kernel", [kernels.sum_dim, kernels.mean_dim, kernels.prod_dim])
@pytest.mark.parametrize("given", ["f2", "f4", "f8", "c8", "i4"])
@pytest.mark.parametrize("wanted", ["f2", "f4", "f8", "c16"])
def test_what_is_reduced_as_a_dtype_is_cast_to_it_first(kernel: Any, given: str, wanted: str) -> None:
    """To the bit, whatever the dtype was before: there is one route for each dtype, shape and layout."""
    values = np.random.default_rng(0).uniform(0.5, 1.5, (1500, 2, 40)).astype(given)
    dtype = np.dtype(wanted)
    for array in (values, values.T, values[:, 0]):
        cast = kernels.cast(array, dtype)
        for dim in (None, (0,), (-1,), (0, 1)):
            found, expected = kernel(array, dim, False, dtype), kernel(cast, dim, False, None)
            assert found.dtype == expected.dtype == dtype
            assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_gradients_of_broadcast_inputs_have_the_bits_of_sums(dtype: str) -> None:
    values = np.random.default_rng(0).normal(size=(1500, 2, 40)).astype(dtype)
    for array in (values, values.T, values[:, :, ::2]):
        first, second, third = array.shape
        for shape, dims in [
            ((second, third), (0,)),
            ((1, 1, third), (0, 1)),
            ((first, second, 1), (2,)),
            ((1, second, 1), (0, 2)),
            ((), None),
        ]:
            found, expected = cpu.sum_to(array, shape), kernels.sum_dim(array, dims, True, None)
            assert found.tobytes() == np.asarray(expected).tobytes()
