"""Kernels of gather and scatter: PyTorch's results, and the rules where it is not at hand."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from kernel_oracle import DTYPES, compare, layouts, random

from tengen.kernels import scatter as kernels

oracle = pytest.mark.oracle
pytestmark = pytest.mark.filterwarnings("ignore")
REDUCTIONS = ["sum", "prod", "mean", "amax", "amin"]
gather = partial(kernels.gather_along, kernels.check_gather)
scatter = partial(kernels.scatter_along, kernels.check_scatter)
slices = partial(kernels.scatter_slices, kernels.check_scatter_slices)


def indices(rng: np.random.Generator, shape: tuple[int, ...], dim: int) -> list[Any]:
    """Good indices of several shapes, then some that are out of range or of a wrong shape."""
    n = shape[dim] if shape else 1
    longer = tuple([2 * m if d == dim % len(shape) else m for d, m in enumerate(shape)])
    one = (1,) * len(shape)
    good = [rng.integers(0, n, s) for s in (shape, tuple([max(1, m - 1) for m in shape]), one, longer)]
    bad = [
        np.full(one, n),
        np.full(one, -1),
        np.zeros((9,) * len(shape), np.int64),
        np.zeros((1, 1, 1, 1), np.int64),
    ]
    return [np.asarray(i) for i in (*good, good[0].astype(np.int32), good[0].astype(np.int16), *bad)]


def cases(dtype: str) -> Any:
    rng = np.random.default_rng(0)
    for shape in ((3, 4), (2, 3, 4), (5,), ()):
        for dim in range(-1, max(len(shape), 1)):
            for index in indices(rng, shape, dim):
                yield rng, random(rng, shape, dtype), dim, index


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_gather(torch: Any, dtype: str) -> None:
    for _, a, dim, index in cases(dtype):
        for array in layouts(a):
            compare(
                lambda x, i, d=dim: gather(x, d, i),
                lambda x, i, d=dim: x.gather(d, i),
                array,
                index,
                opmath=False,
            )


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
def test_scatter(torch: Any, dtype: str) -> None:
    for rng, a, dim, index in cases(dtype):
        for shape in (
            index.shape,
            tuple([n + 1 for n in index.shape]),
            tuple([max(n - 1, 0) for n in index.shape]),
        ):
            src = random(rng, shape, dtype)
            compare(
                lambda x, i, s, d=dim: scatter(x, d, i, s, "sum"),
                lambda x, i, s, d=dim: x.scatter_add(d, i, s),
                a, index, src,
            )  # fmt: skip
            compare(
                lambda x, i, s, d=dim: scatter(x, d, i, s, "set"),
                lambda x, i, s, d=dim: x.scatter(d, i, s),
                a, index, src, opmath=False,
            )  # fmt: skip
        for value in (1, 1.5):
            compare(
                lambda x, i, d=dim, v=value: scatter(x, d, i, v, "set"),
                lambda x, i, d=dim, v=value: x.scatter(d, i, v),
                a, index, opmath=False,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("include_self", [False, True])
def test_scatter_reduce(torch: Any, dtype: str, include_self: bool) -> None:
    for rng, a, dim, index in cases(dtype):
        src = random(rng, index.shape, dtype)
        for reduce in REDUCTIONS:
            if dtype == "bool" and reduce == "mean":
                continue
            compare(
                lambda x, i, s, d=dim, r=reduce: scatter(x, d, i, s, r, include_self),
                lambda x, i, s, d=dim, r=reduce: x.scatter_reduce(d, i, s, r, include_self=include_self),
                a, index, src,
            )  # fmt: skip
        for name, fold in (("add", "sum"), ("multiply", "prod")):
            compare(
                lambda x, i, s, d=dim, f=fold: scatter(x, d, i, s, f),
                lambda x, i, s, d=dim, r=name: x.scatter(d, i, s, reduce=r),
                a, index, src,
            )  # fmt: skip


@oracle
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("shape", "dim"), [((5, 3), 0), ((5, 3), 1), ((2, 5, 3), 1), ((), 0), ((4,), -1)])
def test_whole_slices(torch: Any, dtype: str, shape: tuple[int, ...], dim: int) -> None:
    rng = np.random.default_rng(0)
    a = random(rng, shape, dtype)
    n = shape[dim] if shape else 1
    for count in (0, 1, 2, 9):
        index = rng.integers(0, n, count)
        fitting = (*shape[: dim % len(shape)], count, *shape[dim % len(shape) + 1 :]) if shape else ()
        for source in (random(rng, fitting, dtype), random(rng, (7, 7), dtype)):
            for alpha in (1, 2) if dtype != "bool" else (1,):
                compare(
                    lambda x, i, s, f=alpha: slices(x, dim, i, s, "sum", factor=f),
                    lambda x, i, s, f=alpha: x.index_add(dim, i, s, alpha=f),
                    a, index, source,
                )  # fmt: skip
            for reduce in ("prod", "mean", "amax", "amin"):
                if dtype not in ("bool", "complex64", "complex128"):  # torch has them in part only
                    compare(
                        lambda x, i, s, r=reduce: slices(x, dim, i, s, r, False),
                        lambda x, i, s, r=reduce: x.index_reduce(dim, i, s, r, include_self=False),
                        a, index, source,
                    )  # fmt: skip


# -- the rules ----------------------------------------------------------------------------------------


def test_errors() -> None:
    a, index = np.zeros((3, 4), np.float32), np.array([[0, 1]])
    for wrong, text in (
        (np.array([[0, 5]]), "index 5 is out of bounds for dimension 0 with size 3"),
        (np.array([[0, -1]]), "index -1 is out of bounds for dimension 0 with size 3"),
        (np.array([0]), "same number of dimensions as input"),
        (np.zeros((1, 5), np.int64), r"expected index \[1, 5\] to be no larger than self \[3, 4\]"),
        (np.array([[0.0]]), "Expected dtype int32/int64 for index"),
    ):
        with pytest.raises(RuntimeError, match=text):
            gather(a, 0, wrong)
    with pytest.raises(RuntimeError, match="no larger size than src"):
        scatter(a, 0, index, np.ones((1, 1), np.float32), "set")
    with pytest.raises(RuntimeError, match=r"Expected self\.dtype to be equal to src\.dtype"):
        scatter(a, 0, index, np.ones((1, 2)), "sum")
    with pytest.raises(NotImplementedError, match="reduce='mean' is not implemented for bool"):
        scatter(a != 0, 0, index, a[:1] != 0, "mean")
    with pytest.raises(RuntimeError, match="Number of indices"):
        slices(a, 0, np.array([0]), a, "sum")


def test_means_of_integers_are_rounded_down() -> None:
    found = scatter(np.array([7]), 0, np.array([0, 0]), np.array([-8, -9]), "mean")
    np.testing.assert_array_equal(found, [-4])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "int64"])
def test_many_rows(dtype: str) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-9, 9, (9000, 7)).astype(DTYPES[dtype])
    index = rng.integers(0, 50, 9000)
    expected = np.zeros((50, 7), DTYPES[dtype])
    np.add.at(expected, index, rows)
    zeros = np.zeros_like(expected)
    np.testing.assert_array_equal(slices(zeros, 0, index, rows, "sum", True, True), expected)
    np.testing.assert_array_equal(slices(np.zeros_like(zeros.T), 1, index, rows.T, "sum"), expected.T)
