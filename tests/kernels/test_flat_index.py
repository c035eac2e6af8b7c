"""Gathering and writing along a dimension by flat positions, in one piece and in several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.kernels import flat_index as places, index, masks, select


@pytest.fixture(params=[1 << 16, 1, 10])
def pieces(request: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(places, "CHUNK", request.param)
    monkeypatch.setattr(places, "GRAIN", 7)
    monkeypatch.setattr(places, "_cached", {})
    monkeypatch.setattr("tengen.kernels.parallel._count", 3)


SHAPES = [(6,), (3, 5), (7, 2), (2, 3, 4), (2, 1, 3, 2)]


@pytest.mark.usefixtures("pieces")
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_along_and_put_along(shape: tuple[int, ...], kind: Any) -> None:
    rng = np.random.default_rng(0)
    for dim, count in enumerate(shape):
        for length in (1, count, 3 * count):
            sizes = (*shape[:dim], length, *shape[dim + 1 :])
            self, at = rng.standard_normal(shape), rng.integers(0, count, sizes).astype(kind)
            values = rng.standard_normal(sizes)
            taken, put, filled = np.empty(sizes), self.copy(), self.copy()
            for here in np.ndindex(sizes):
                there = (*here[:dim], at[here], *here[dim + 1 :])
                taken[here] = self[there]
                put[there] = values[here]
                filled[there] = 5
            for source in (self, np.asfortranarray(self)):
                np.testing.assert_array_equal(places.take_along(source, at, dim), taken)
            out = self.copy()
            places.put_along(out, at, dim, values)
            np.testing.assert_array_equal(out, put)
            out = self.copy()
            places.put_along(out, at, dim, np.asarray(5.0))
            np.testing.assert_array_equal(out, filled)


@pytest.mark.usefixtures("pieces")
def test_positions_of_a_part() -> None:
    at = np.array([[2, 0], [1, 1]])
    np.testing.assert_array_equal(places.positions((4, 3), 1, at), [[2, 0], [4, 4]])
    np.testing.assert_array_equal(places.positions((4, 3), 0, at), [[6, 1], [3, 4]])
    np.testing.assert_array_equal(places.positions((4, 3), 1, at), [[2, 0], [4, 4]])  # what was kept


def test_what_is_kept_is_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(places, "CHUNK", 100)
    monkeypatch.setattr(places, "_cached", {})
    for n in range(1, 40):
        places.positions((n, 9), 1, np.zeros((n, 2), np.int64))
        assert sum(a.size for a in places._cached.values()) <= 3 * 100
    assert places._cached


@pytest.mark.parametrize("large", [1, 1 << 40])
@pytest.mark.parametrize(
    "dtype", ["bool", "uint8", "float16", "float32", "float64", "complex64", "complex128"]
)
def test_masks(large: int, dtype: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(index, "INDEX_LARGE", large)
    monkeypatch.setattr(masks, "INDEX_LARGE", large)
    monkeypatch.setattr(select, "SELECT_LARGE", large)
    rng = np.random.default_rng(0)
    self, mask = rng.integers(0, 3, (4, 5)).astype(dtype), rng.random((4, 5)) < 0.5
    if dtype.startswith("float"):
        self[0, 0], self[1, 1] = np.nan, -0.0
    source = np.arange(20).astype(dtype)
    flat = [(m, v) for m, v in zip(mask.reshape(-1), self.reshape(-1), strict=True)]
    selected = np.array([v for m, v in flat if m], dtype)
    filled = np.array([1 if m else v for m, v in flat], dtype).reshape(4, 5)
    scattered, rest = self.copy(), iter(source)
    for at in np.ndindex(4, 5):
        if mask[at]:
            scattered[at] = next(rest)
    back = np.zeros((4, 5), dtype)
    back[mask] = selected
    for x, m in ((self, mask), (np.asfortranarray(self), np.asfortranarray(mask)), (self, mask.copy("F"))):
        np.testing.assert_array_equal(masks.masked_select(x, m), selected)
        np.testing.assert_array_equal(index.index(x, (m,)), selected)
        with pytest.warns(UserWarning, match="indexing with dtype"):
            found = index.index(x, (m.astype(np.uint8),))
        np.testing.assert_array_equal(found, selected)
        np.testing.assert_array_equal(index.index_put(x, (m,), np.asarray(1, dtype), False), filled)
        np.testing.assert_array_equal(masks.masked_scatter(x, m, source), scattered)
        np.testing.assert_array_equal(index.index_put(x, (m,), source[: m.sum()], False), scattered)
        np.testing.assert_array_equal(masks.masked_select_backward(selected, (4, 5), m), back)
        np.testing.assert_array_equal(index.index_backward(selected, (4, 5), (m,)), back)


@pytest.mark.parametrize("large", [1, 1 << 40])
def test_masks_are_broadcast(large: int, monkeypatch: Any) -> None:
    monkeypatch.setattr(index, "INDEX_LARGE", large)
    monkeypatch.setattr(masks, "INDEX_LARGE", large)
    monkeypatch.setattr(select, "SELECT_LARGE", large)
    self, mask = np.arange(12.0).reshape(3, 4), np.array([True, False, True, True])
    expected = self[:, mask].reshape(-1)
    np.testing.assert_array_equal(masks.masked_select(self, mask), expected)
    np.testing.assert_array_equal(select.select(mask, 7.0, self), np.where(mask, 7.0, self))
    found = masks.masked_select_backward(expected, (4,), np.broadcast_to(mask, (3, 4)))
    np.testing.assert_array_equal(found, np.where(mask, self, 0))


KEYS: list[Any] = [
    ([2, 0, 2],), ([-1, 0, 2],), (None, [1, -4, 1]), (None, [[1, 0], [3, 3]]), ([0, 2], [1, -1]),
    ([[0], [2]], [1, 3, -1]), (None, [1, 0], [4, -5]), ([1, 0], None, [2, 2]), (None, None, [4, 0, 0]),
    ([1, 2], None, None), ([1, 0], [1, 2], [-1, 3]), ([], [1]), ([[1], [1]], [True, False, True, True]),
]  # fmt: skip


@pytest.mark.parametrize("large", [1, 1 << 40])
@pytest.mark.parametrize("key", KEYS, ids=str)
@pytest.mark.parametrize("kind", [np.int64, np.int32])
def test_advanced_indices(large: int, key: Any, kind: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(index, "INDEX_LARGE", large)
    monkeypatch.setattr(masks, "INDEX_LARGE", large)
    indices = tuple([
        None if k is None else np.array(k) if k and isinstance(k[0], bool) else np.array(k, kind) for k in key
    ])  # fmt: skip
    rng = np.random.default_rng(0)
    self = rng.standard_normal((3, 4, 5))
    python = tuple([slice(None) if i is None else i for i in indices])
    expected = self[python]
    np.testing.assert_array_equal(index.index(self, indices), expected)
    values = rng.standard_normal(expected.shape)
    put, summed, back = self.copy(), self.copy(), np.zeros(self.shape)
    positions = np.arange(60).reshape(3, 4, 5)[python]
    for at, value in zip(positions.reshape(-1), values.reshape(-1), strict=True):
        put.reshape(-1)[at] = value
        summed.reshape(-1)[at] += value
        back.reshape(-1)[at] += value
    np.testing.assert_array_equal(index.index_put(self, indices, values, False), put)
    # Sums of the same numbers in two orders, each with a rounding for every number.
    sizes = np.zeros(60)
    np.add.at(sizes, positions.reshape(-1), np.abs(values.reshape(-1)))
    allowed = positions.size * np.finfo(float).eps * (np.abs(self) + sizes.reshape(self.shape))
    assert (np.abs(index.index_put(self, indices, values, True) - summed) <= allowed).all()
    assert (np.abs(index.index_backward(values, (3, 4, 5), indices) - back) <= allowed).all()
    np.testing.assert_array_equal(
        index.index_put(self, indices, np.asarray(2.0), False), _filled(self, positions)
    )


def _filled(self: Any, positions: Any) -> Any:
    out = self.copy()
    out.reshape(-1)[positions.reshape(-1)] = 2
    return out


@pytest.mark.parametrize("large", [1, 1 << 40])
@pytest.mark.parametrize(
    ("key", "message"),
    [
        (([0, 3],), "index 3 is out of bounds for dimension 0 with size 3"),
        (([0, 1], [0, -5]), "index -5 is out of bounds for dimension 1 with size 4"),
        (([0, 1], [0, 1, 2]), "indexing tensors could not be broadcast"),
    ],
)
def test_bad_advanced_indices(large: int, key: Any, message: str, monkeypatch: Any) -> None:
    monkeypatch.setattr(index, "INDEX_LARGE", large)
    monkeypatch.setattr(masks, "INDEX_LARGE", large)
    indices = tuple([np.array(k) for k in key])
    self = np.zeros((3, 4, 5))
    with pytest.raises(IndexError, match=message):
        index.index(self, indices)
    for accumulate in (False, True):
        with pytest.raises(IndexError, match=message):
            index.index_put(self, indices, np.ones(()), accumulate)
    with pytest.raises(IndexError):
        index.index_backward(np.ones((2, 5)), (3, 4, 5), indices)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        index.index_put(self, (np.array([0, 1]),), np.ones((3, 4, 5)), False)
