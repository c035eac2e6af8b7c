"""The kernels of bodies over windows against products with matrices, and against loops."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from tengen.kernels import window_maxima as maxima, window_sums as sums
from tengen.kernels.meta import windows as meta
from tengen.kernels.meta.array import MetaArray
from tengen.kernels.move_plans import Plans
from tengen.kernels.window_plans import Taps, WeightedTaps


def rand(*shape: int) -> Any:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


TAPS = {
    "alike": Taps(9, 4, np.arange(4) * 2 - 1, np.arange(4) * 2 + 2),
    "gaps": Taps(9, 5, np.arange(5) * 2 - 3, np.arange(5) * 2 + 3, 2),
    "apart": Taps(9, 3, np.arange(3) * 3, np.arange(3) * 3 + 2),
    "long": Taps(30, 3, np.arange(3) * 5 - 2, np.arange(3) * 5 + 18),
    "different": Taps(9, 4, np.arange(4) * 9 // 4, -(-(np.arange(4) + 1) * 9 // 4)),
    "backwards": Taps(9, 4, 5 - np.arange(4), 8 - np.arange(4)),
    "outside": Taps(3, 4, np.arange(4) * 4 - 4, np.arange(4) * 4 - 2),
    "empty": Taps(5, 3, 2, 2),
    "different and empty": Taps(5, 4, np.array([0, 5, 2, 3]), np.array([5, 7, 2, 5])),
    "weighted": WeightedTaps(
        4, np.array([[0, 0, 1], [3, 2, 2], [1, 1, 1]]), np.array([[1, 2, 0], [1, 1, 1], [0, 0, 0]])
    ),
}


def form_of(taps: Taps, *dims: int) -> Any:
    """The form of a body that is over these dims, along each as the taps say."""
    given: Any
    if isinstance(taps, WeightedTaps):
        given = taps.places, taps.weights
    else:
        given = taps.begin, taps.begin + taps.lengths * taps.gap, taps.gap

    def form(make: type[Plans], sizes: Any) -> Any:
        return make.windows(sizes, dims, (), lambda n: taps.count, lambda *_: given, None)

    return form


def dense(taps: Taps) -> Any:
    """The matrix that taps stand for."""
    made = np.zeros((taps.count, taps.size))
    places, weights, there = taps.table
    for p, tap in product(range(taps.count), range(places.shape[1])):
        if there is None or there[p, tap]:
            made[p, places[p, tap]] += 1 if weights is None else weights[p, tap]
    return made


@pytest.mark.parametrize("name", TAPS)
def test_every_way_to_sum_is_the_product_with_a_matrix(name: str) -> None:
    """Sums, and their transposed, along any dim; slices, ranges and tables."""
    taps = TAPS[name]
    matrix = dense(taps)
    np.testing.assert_array_equal(dense(taps.transposed), matrix.T)
    if not isinstance(taps, WeightedTaps):
        np.testing.assert_array_equal(matrix.sum(1), taps.inside)
    for axis in (0, 1, 2):
        shape = [2, 3, 2]
        shape[axis] = taps.size

        form = form_of(taps, axis)
        x = rand(*shape)
        found = sums.sums_of_windows(form, x)
        np.testing.assert_allclose(found, np.moveaxis(np.tensordot(matrix, x, (1, axis)), 0, axis))
        grad = rand(*found.shape)
        wanted = np.moveaxis(np.tensordot(matrix.T, grad, (1, axis)), 0, axis)
        np.testing.assert_allclose(sums.sums_of_windows_back(form, grad, x.shape), wanted)
        whole = (x * 10).astype(np.int32)
        np.testing.assert_array_equal(
            sums.sums_of_windows(form, whole), np.moveaxis(np.tensordot(matrix, whole, (1, axis)), 0, axis)
        )
        shape[axis] = taps.count
        made = meta.sums_of_windows(form, MetaArray(x.shape, x.dtype))
        assert made.shape == tuple(shape)
        with pytest.raises(RuntimeError, match="expected grad_output of size"):
            sums.sums_of_windows_back(form, rand(*shape, 2), x.shape)


def test_what_nothing_sees_counts_for_nothing() -> None:
    """An element that is not finite, between windows, in their gaps, or without weight."""
    for name in ("gaps", "apart", "weighted"):
        taps = TAPS[name]
        x = np.ones(taps.size)
        x[~dense(taps).any(0)] = np.nan
        assert np.isfinite(sums.sums_of_windows(form_of(taps, 0), x)).all()


def seen(taps: Taps, place: int) -> list[int]:
    """The elements of one window that are there."""
    every = taps.begin[place] + np.arange(taps.lengths[place]) * taps.gap
    return [int(at) for at in every if 0 <= at < taps.size]


def largest(x: Any, taps: Taps) -> tuple[Any, Any]:
    """The maxima over the last two dims, one window after the other, and their flat places."""
    shape = (*x.shape[:-2], taps.count, taps.count)
    best, where = np.empty(shape, x.dtype), np.empty(shape, np.int64)
    for p, q in product(range(taps.count), repeat=2):
        rows, columns = seen(taps, p), seen(taps, q)
        for outer in np.ndindex(*x.shape[:-2]):
            found = -np.inf
            chosen = rows[0] * taps.size + columns[0]
            for i, j in product(rows, columns):
                value = x[(*outer, i, j)]
                if value > found or np.isnan(value):
                    found, chosen = value, i * taps.size + j
            best[(*outer, p, q)], where[(*outer, p, q)] = found, chosen
    return best, where


@pytest.mark.parametrize("name", ["alike", "gaps", "apart", "long", "different", "backwards"])
@pytest.mark.parametrize("few", [0, 1 << 30])
def test_maxima_are_those_of_loops(name: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ties, NaN and the least number; by native kernels and without; and gradients that meet."""
    monkeypatch.setattr(maxima, "WINDOWS_FEW", few)
    if not few:
        monkeypatch.setattr(maxima, "add_elements", lambda *_: False)
    taps = TAPS[name]
    form = form_of(taps, -2, -1)
    rng = np.random.default_rng(len(name))
    x = rng.integers(-2, 3, (2, taps.size, taps.size)).astype(np.float32)
    x[1].ravel()[rng.integers(0, taps.size**2, taps.size)] = np.nan
    x[0].ravel()[rng.integers(0, taps.size**2, 3 * taps.size)] = -np.inf
    best, where = maxima.maxima_of_windows(form, x)
    for found, wanted in zip((best, where), largest(x, taps), strict=True):
        np.testing.assert_array_equal(found, wanted)
    grad = rng.integers(1, 5, best.shape).astype(np.float32)
    total = np.zeros((2, taps.size**2), np.float32)
    for plane in range(2):
        np.add.at(total[plane], where[plane].ravel(), grad[plane].ravel())
    back = maxima.maxima_of_windows_back(form, grad, x.shape, where)
    np.testing.assert_array_equal(back, total.reshape(x.shape))
    where[0, 0, 0] = taps.size**2
    with pytest.raises(RuntimeError, match="indices must be between 0 and"):
        maxima.maxima_of_windows_back(form, grad, x.shape, where)


def test_windows_of_no_elements_have_no_maximum() -> None:
    with pytest.raises(RuntimeError, match="a window of no elements has no maximum"):
        maxima.maxima_of_windows(form_of(TAPS["empty"], 0), np.ones(5))
