"""Sums at indices: each loop beside a loop in Python, for few and many elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernel_oracle import DTYPES, random

from tengen.kernels import index, index_checks, scatter, scatter_add as additions

INTEGERS = ["bool", "uint8", "int8", "int16", "int32", "int64"]


@pytest.fixture(params=["ufunc.at", "compiled"])
def loops(request: Any, monkeypatch: Any) -> str:
    """Sums by ``ufunc.at``, as before the compiled loops are loaded, and by these."""
    monkeypatch.setattr(additions, "_loops", None)
    monkeypatch.setattr(additions, "SCATTER_LOAD", 1 if request.param == "compiled" else 1 << 60)
    return str(request.param)


def test_which_loops(loops: str) -> None:
    assert (additions.loops(1, DTYPES["float32"]) is not None) == (loops == "compiled")
    assert additions.loops(1 << 40, DTYPES["float16"]) is None
    assert additions.loops(1 << 40, DTYPES["bfloat16"]) is None


def test_a_scipy_without_the_loops(monkeypatch: Any) -> None:
    monkeypatch.setattr(additions, "_loops", None)
    monkeypatch.setattr(additions, "USED", (*additions.USED, "none_such"))
    assert additions.loops(1 << 40, DTYPES["float32"]) is None
    out = np.zeros(3)
    additions.add_at(out, np.array([0, 2, 2]), np.ones(3))
    assert out.tolist() == [1, 0, 2]


def exact(array: Any) -> Any:
    """In a dtype whose sums do not depend on their order, and do not wrap."""
    return array if array.dtype.kind in "biu" else array.astype(complex if array.dtype.kind == "c" else float)


def added(out: Any, places: Any, values: Any) -> Any:
    """``values`` added to the slices of ``out`` at ``places``, one after the other."""
    found = exact(out).copy()
    for at, value in zip(places, exact(values), strict=True):
        found[at] = found[at] | value if found.dtype.kind == "b" else found[at] + value
    return found


def close(found: Any, expected: Any) -> None:
    tolerance = {2: 2e-2, 4: 1e-5}.get(found.real.dtype.itemsize, 1e-12) if found.dtype.kind in "fcV" else 0
    assert found.shape == expected.shape
    np.testing.assert_allclose(exact(found), expected, tolerance, 10 * tolerance)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in ("float16", "bfloat16")])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_elements(loops: str, dtype: str, kind: Any) -> None:
    rng = np.random.default_rng(0)
    out, values = random(rng, (3, 5), dtype), random(rng, (40,), dtype)
    places = rng.integers(0, 15, 40).astype(kind)
    expected = added(out.reshape(-1), places, values).reshape(3, 5)
    additions.add_at(out, places, values)
    close(out, expected)


@pytest.mark.parametrize("dtype", ["float32", "complex64", "int8", "bool"])
@pytest.mark.parametrize("shape", [(1, 6, 1), (1, 6, 4), (3, 6, 1), (3, 6, 4), (2, 6, 0)])
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_slices(loops: str, dtype: str, shape: tuple[int, ...], kind: Any) -> None:
    rng = np.random.default_rng(0)
    out, values = random(rng, shape, dtype), random(rng, (shape[0], 11, shape[2]), dtype)
    places = rng.integers(0, 6, 11).astype(kind)
    expected = np.stack([added(a, places, v) for a, v in zip(out, values, strict=True)])
    additions.add_slices(out, places, values)
    close(out, expected)


@pytest.mark.parametrize("shape", [(1, 6, 1), (1, 6, 4), (3, 6, 1), (3, 6, 4)])
def test_slices_with_factors(loops: str, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    out, values = np.zeros(shape), rng.standard_normal((shape[0], 11, shape[2]))
    places, factors = rng.integers(0, 6, 11), rng.standard_normal(11)
    expected = np.stack(
        [added(a, places, v * factors.reshape(-1, 1)) for a, v in zip(out, values, strict=True)]
    )
    additions.add_slices(out, places, values, factors)
    close(out, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("dim", [0, 1, 2])
def test_scatter_add(dtype: str, dim: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(additions, "SCATTER_LOAD", 1)
    rng = np.random.default_rng(0)
    for sizes in ((3, 4, 5), (2, 4, 5), (3, 4, 9), (1, 1, 1)):
        sizes = tuple(
            [n if d == dim else min(n, m) for d, (n, m) in enumerate(zip(sizes, (3, 4, 5), strict=True))]
        )
        self = random(rng, (3, 4, 5), dtype).swapaxes(0, 1).copy().swapaxes(0, 1)
        places, src = rng.integers(0, (3, 4, 5)[dim], sizes), random(rng, (9, 9, 9), dtype)
        before = self.copy()
        expected = exact(self).copy()
        for at in np.ndindex(sizes):
            to = tuple([places[at] if d == dim else n for d, n in enumerate(at)])
            value = exact(src)[at]
            expected[to] = expected[to] | value if expected.dtype.kind == "b" else expected[to] + value
        close(scatter.scatter_along(scatter.check_scatter, self, dim, places, src, "sum"), expected)
        assert np.array_equal(self, before)


@pytest.mark.parametrize("wrong", [[0, 7, 1], [0, -1, 1]])
def test_nothing_is_added_out_of_range(loops: str, wrong: list[int]) -> None:
    x, at, g = np.zeros((7, 3)), np.array(wrong), np.ones((3, 3))
    with pytest.raises(RuntimeError, match="out of bounds for dimension 0 with size 7"):
        scatter.scatter_slices(scatter.check_scatter_slices, x, 0, at, g, "sum")
    with pytest.raises(RuntimeError, match="out of bounds"):
        scatter.scatter_along(scatter.check_scatter, x, 0, np.tile(at.reshape(-1, 1), 3), g, "sum")
    with pytest.raises(RuntimeError, match="out of bounds"):
        scatter.scatter_slices(scatter.check_scatter_whole, x, 0, at, g, "sum")
    if 7 in wrong:
        with pytest.raises(IndexError, match="out of bounds"):
            index.index_put(x, (at,), g, True)
        with pytest.raises(IndexError, match=r"out of (bounds|range)"):
            index.scatter_flat(np.zeros(7), at, np.ones(3), "sum")
    assert not x.any()


def test_checks_of_indices() -> None:
    for kind in (np.int64, np.int32):
        good = np.array([[0, 3], [1, 2]], kind)
        for array in (good, good.T, good[::-1]):
            index_checks.check_bounds(array, 4, 0, IndexError)
            assert index_checks.all_in_range(array, 4)
        for wrong in (4, -1, np.iinfo(kind).min, np.iinfo(kind).max):
            bad = good.copy()
            bad[1, 0] = wrong
            with pytest.raises(
                IndexError, match=f"index {wrong} is out of bounds for dimension 0 with size 4"
            ):
                index_checks.check_bounds(bad, 4, 0, IndexError)
            assert not index_checks.all_in_range(bad, 4)
        index_checks.check_bounds(good - 4, 4, 0, IndexError, negative=True)


@pytest.mark.parametrize("padding", [-1, 2, 5])
@pytest.mark.parametrize("by_frequency", [False, True])
def test_embedding_gradient(loops: str, padding: int, by_frequency: bool) -> None:
    rng = np.random.default_rng(0)
    places, grad = rng.integers(0, 5, (3, 4)), rng.standard_normal((3, 4, 6))
    grad[places == 2] = np.inf  # what the padding would get does not matter
    expected = np.zeros((7, 6))
    for at, row in zip(places.reshape(-1), grad.reshape(-1, 6), strict=True):
        if at != padding:
            expected[at] += row / (np.count_nonzero(places == at) if by_frequency else 1)
    added = (scatter.check_scatter_whole, np.zeros((7, 6)), 0, places, grad, "sum", True, True, 1)
    close(scatter.scatter_slices(*added, by_frequency, padding), expected)
