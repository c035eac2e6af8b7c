"""Sums, means and maxima of rows of a table, in bags."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..index_checks import all_in_range
from ..scatter_add import add_slices
from ..tables import add_rows_at
from .common import Array

TOTAL, AVERAGE, GREATEST = 0, 1, 2  # torch's EmbeddingBagMode
_NOWHERE = -1  # the index of an element of an empty bag, and the bag of what is behind the last offset


def bag_count(weight: Any, indices: Any, offsets: Any, mode: int, last: bool, per_sample: Any) -> int:
    """How many bags there are; also used on Meta. RuntimeError for shapes and dtypes that do not fit."""
    if weight.ndim != 2 or indices.ndim != 1 or offsets.ndim != 1:
        raise RuntimeError(
            "weight has to be a matrix, and indices and offsets vectors, but their shapes are "
            f"{list(weight.shape)}, {list(indices.shape)} and {list(offsets.shape)}"
        )
    for name, given in (("indices", indices), ("offsets", offsets)):
        if given.dtype.char not in "lqi":
            raise RuntimeError(f"expected {name} to be int64 or int32, but got {given.dtype}")
    if mode not in (TOTAL, AVERAGE, GREATEST):
        raise RuntimeError(f"mode has to be 0 (sum), 1 (mean) or 2 (max), but got {mode}")
    if per_sample is not None:
        if mode != TOTAL:
            raise RuntimeError("per_sample_weights only supported with mode='sum'")
        if per_sample.shape != indices.shape:
            raise RuntimeError(
                f"expected per_sample_weights of the shape of indices, {list(indices.shape)}, but got "
                f"{list(per_sample.shape)}"
            )
    if last and not offsets.shape[0]:
        raise RuntimeError("include_last_offset: number of offset should be at least 1")
    return int(offsets.shape[0]) - bool(last)


def _sizes(offsets: Array, bags: int, count: int) -> Array:
    """How many indices each bag has."""
    if not len(offsets):
        if count:
            raise RuntimeError("offsets has to have an element where there are indices")
        return np.zeros(0, np.int64)
    if offsets[0] != 0:
        raise RuntimeError(
            f"offsets[0] has to be 0, i.e., the first sequence begins at position 0, but got {offsets[0]}"
        )
    if offsets[-1] > count:
        raise RuntimeError(f"offsets[-1] can not be greater than {count}, but got {offsets[-1]}")
    ends = np.append(offsets[1:], count) if bags == len(offsets) else offsets[1:]
    sizes: Array = ends.astype(np.int64) - offsets[:bags]
    if sizes.size and sizes.min() < 0:
        raise RuntimeError("offsets have to be in order")
    return sizes


def embedding_bag_of(
    weight: Array,
    indices: Array,
    offsets: Array,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Array | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[Array, Array, Array, Array]:
    """The rows of each bag combined, the bag of each index, the bags' sizes, and the indices of maxima.

    Indices that are ``padding_idx`` count for nothing. Raises RuntimeError for an index that is no row,
    and for offsets that are none.
    """
    bags = bag_count(weight, indices, offsets, mode, include_last_offset, per_sample_weights)
    if not all_in_range(indices, weight.shape[0]):
        raise RuntimeError(f"indices must be from 0 to {weight.shape[0] - 1}")
    sizes = _sizes(offsets, bags, len(indices))
    bag: Array = np.full(len(indices), _NOWHERE, np.int64)
    bag[: sizes.sum()] = np.repeat(np.arange(bags), sizes)
    kept = (indices != padding_idx) & (bag != _NOWHERE)
    members, where = indices[kept], bag[kept]
    counts = np.bincount(where, minlength=bags)
    out: Array = np.zeros((bags, weight.shape[1]), weight.dtype)
    chosen = np.full(out.shape if mode == GREATEST else (0,), _NOWHERE, np.int64)
    if mode == GREATEST:
        _greatest(weight.take(members, 0), members, counts, out, chosen)
    else:
        factors = None if per_sample_weights is None else per_sample_weights[kept]
        if factors is not None or not add_rows_at(out, where, weight, members):
            add_slices(out[np.newaxis], where, weight.take(members, 0)[np.newaxis], factors)
        if mode == AVERAGE:
            out /= np.maximum(counts, 1).astype(out.dtype)[:, np.newaxis]
    return out, bag.astype(indices.dtype), counts.astype(indices.dtype), chosen.astype(indices.dtype)


def _greatest(rows: Array, members: Array, counts: Array, out: Array, chosen: Array) -> None:
    """The maximum of each bag that is not empty, and the index of its row; NaN is greatest."""
    full = counts > 0
    if not rows.size or not full.any():
        return
    starts = np.cumsum(counts)[full] - counts[full]
    best = np.maximum.reduceat(rows, starts, 0)
    of_each = np.repeat(best, counts[full], 0)
    place = np.arange(len(rows))[:, np.newaxis]
    first = np.where((rows == of_each) | np.isnan(rows), place, len(rows))
    out[full] = best
    chosen[full] = members[np.minimum.reduceat(first, starts, 0)]
