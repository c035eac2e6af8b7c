"""The stable order of elements along a dimension, NaN last, and the first few of that order.

NumPy sorts unsigned integers with vector instructions, many times faster than it finds an order.
So where there is room, an element's *key*, an unsigned integer that compares as the element does, and
its position share 64 bits: these integers are distinct, their order is the stable one, and sorted
they tell the positions. Elements of 64 bits leave no room. Their order is found unstable, and a
second sort of the same kind orders the positions in each run of equal ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.costs import CHUNK, GRAIN, SORT_LARGE
from .copies import in_rows
from .dtypes import INT64
from .flat_index import take_along
from .parallel import each_block, items_of_block

Array = Any
Keys = Callable[[Array], Array]

#: The dtypes that have keys, by dtype.char.
KEY_DTYPES = "?bhilqBHILQfd"


def stable_argsort(self: Array, dim: int, descending: bool = False) -> Array:
    """The stable argsort along ``dim`` (from 0); descending, equal elements keep their order too."""
    if self.size >= SORT_LARGE and self.dtype.char in KEY_DTYPES:
        return _argsort_lanes(self, dim, self.shape[dim], descending, _key_function(self))
    if descending:
        back = (slice(None),) * dim + (slice(None, None, -1),)
        return np.subtract(self.shape[dim] - 1, self[back].argsort(dim, "stable")[back])
    return self.argsort(dim, "stable")


def partial_argsort(self: Array, k: int, dim: int, descending: bool) -> Array | None:
    """The first ``k`` positions (0 < k) of ``stable_argsort``; None where that is no faster."""
    if self.size < SORT_LARGE or self.dtype.char not in KEY_DTYPES:
        return None
    keys, bits = _key_function(self)
    if bits > _free_bits(self.shape[dim]):
        return None
    return _argsort_lanes(self, dim, k, descending, (keys, bits))


def _free_bits(length: int) -> int:
    """How many of 64 bits positions in a lane leave."""
    return 64 - (length - 1).bit_length()


def _argsort_lanes(self: Array, dim: int, k: int, descending: bool, key_function: tuple[Keys, int]) -> Array:
    """The first ``k`` positions of the order, lane by lane."""
    length = self.shape[dim]
    lanes = in_rows(np.moveaxis(self, dim, -1)).reshape(-1, length)
    order = np.empty((len(lanes), k), INT64)
    keys, bits = key_function
    room = _free_bits(length)
    step = items_of_block(CHUNK, length)

    def rows(_: int, begin: int, end: int) -> None:
        part = keys(lanes[begin:end])
        if descending:
            np.bitwise_xor(part, part.dtype.type((1 << bits) - 1), part)
        if bits <= room:
            _argsort_packed(part, 64 - room, order[begin:end])
        else:
            order[begin:end] = _argsort_wide_keys(part, 64 - room)

    each_block(rows, len(lanes), length, GRAIN, step)
    shape = (*self.shape[:dim], *self.shape[dim + 1 :], k)
    return in_rows(np.moveaxis(order.reshape(shape), -1, dim))


def _argsort_packed(keys: Array, places: int, order: Array) -> None:
    """Write to ``order`` (r, k) the first positions in the order of keys (r, n) that leave room for them."""
    count, k = keys.shape[1], order.shape[1]
    shared = keys.astype(np.uint64)
    shared <<= np.uint64(places)
    shared |= np.arange(count, dtype=np.uint64)
    if k <= count // 4:
        shared.partition(k - 1)
        shared = shared[:, :k].copy()
    shared.sort()
    np.bitwise_and(shared[:, :k], np.uint64((1 << places) - 1), order.view(np.uint64))


def _argsort_wide_keys(keys: Array, places: int) -> Array:
    """The stable order of keys (r, n) of 64 bits."""
    order = keys.argsort()
    values = take_along(keys, order, 1)
    changes = values[:, 1:] != values[:, :-1]
    tied = ~changes.all(1)
    if tied.any():
        runs = np.zeros((int(np.count_nonzero(tied)), keys.shape[1]), np.uint64)
        runs[:, 1:] = changes[tied]
        np.add.accumulate(runs, 1, None, runs)
        runs <<= np.uint64(places)
        runs |= order[tied].view(np.uint64)
        runs.sort()
        runs &= np.uint64((1 << places) - 1)
        order[tied] = runs.view(INT64)
    return order


# -- keys ----------------------------------------------------------------------------------------


def _key_function(self: Array) -> tuple[Keys, int]:
    """What makes new arrays of keys of parts of ``self``, and how many bits keys have."""
    size, kind = self.dtype.itemsize, self.dtype.kind
    if kind == "f":
        return _float_keys, 8 * size
    unsigned = np.dtype(f"u{size}").type
    if size < 8:
        low = np.iinfo(self.dtype).min if kind == "i" else 0
        start = unsigned(low % (1 << 8 * size))
        return (lambda part: np.subtract(part.view(unsigned), start)), 8 * size
    low, high = self.item(self.argmin()), self.item(self.argmax())
    bits = max((high - low).bit_length(), 1)
    narrow = np.uint32 if bits <= 32 else np.uint64
    start = unsigned(low % (1 << 64))
    return (lambda part: np.subtract(part.view(unsigned), start).astype(narrow, copy=False)), bits


def _float_keys(self: Array) -> Array:
    """Unsigned integers that compare as floats do: -0. is 0., and all NaN are equal and greatest."""
    width = 8 * self.dtype.itemsize
    signed, unsigned = (np.int32, np.uint32) if width == 32 else (np.int64, np.uint64)
    bits = (self + self.dtype.type(0)).view(signed)  # -0. + 0. is 0.
    keys: Array = (bits >> (width - 1)).view(unsigned)
    keys |= unsigned(1 << (width - 1))
    keys ^= bits.view(unsigned)
    # From the key of -inf on: then NaN with a sign come after those without.
    infinity = int(np.array(np.inf, self.dtype).view(unsigned))
    keys -= unsigned((1 << (width - 1)) - 1 - infinity)
    nan = 2 * infinity + 2
    return np.minimum(keys, unsigned(nan), out=keys)
