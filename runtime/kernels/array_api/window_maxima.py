"""Maxima over windows, and where they are, over arrays of any library: by tables along each dim."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ..index_checks import all_in_range
from ..move_plans import FormOfWindows, plan_of
from ..window_sums import check_windows
from .common import Array, as_array, in_range, is_real

Results = tuple[Array, Array]


def maxima_of_windows(xp: Any, form: FormOfWindows, self: Array, *arguments: Any) -> Results:
    """What ``kernels.window_maxima.maxima_of_windows`` gives, and its errors."""
    plan = plan_of(form, tuple(self.shape), arguments)
    if 0 in (*plan.source, *plan.shape):
        return xp.zeros(plan.shape, dtype=self.dtype), xp.zeros(plan.shape, dtype=xp.int64)
    spread = [n if axis in plan.axes else 1 for axis, n in enumerate(plan.source)]
    numbers = np.broadcast_to(np.arange(plan.plane).reshape(spread), plan.source).astype(np.int64)
    best, where = self, xp.from_host(numbers)
    for axis, taps in reversed(plan.taps):
        behind = (1,) * (self.ndim - axis - 1)
        value, place = [xp.at(x, xp.constant(taps.nearest[1]), axis) for x in (best, where)]
        best, where = _chosen(xp, value, place, axis + 1)
        if taps.nothing is not None:
            nothing = xp.from_host(taps.nothing.reshape(-1, *behind))
            best = xp.where(nothing, as_array(xp, _least(xp, self), self), best)
    return best, where


def _least(xp: Any, self: Array) -> Any:
    return float("-inf") if is_real(xp, self) else int(xp.iinfo(self.dtype).min)


def _chosen(xp: Any, values: Array, places: Array, axis: int) -> Results:
    """The maximum along an axis, the first of equal ones or the last NaN, and which place it is at."""
    before, count = (slice(None),) * axis, values.shape[axis]
    if count == 1:
        return values[(*before, 0, ...)], places[(*before, 0, ...)]
    pairs = [(*before, slice(begin, count - count % 2, 2), ...) for begin in (0, 1)]
    found = _chosen(xp, *_greater(xp, *[(values[key], places[key]) for key in pairs]), axis)
    if count % 2:
        found = _greater(xp, found, (values[(*before, -1, ...)], places[(*before, -1, ...)]))
    return found


def _greater(xp: Any, first: Results, second: Results) -> Results:
    """The second where it is greater, or NaN, and else the first."""
    chosen = (second[0] > first[0]) | (second[0] != second[0])
    return xp.where(chosen, second[0], first[0]), xp.where(chosen, second[1], first[1])


def maxima_of_windows_back(
    xp: Any, form: FormOfWindows, grad_output: Array, sizes: Sequence[int], indices: Array, *arguments: Any
) -> Array:
    """What ``kernels.window_maxima.maxima_of_windows_back`` gives, and its errors."""
    plan = plan_of(form, tuple(sizes), arguments)
    check_windows(plan, tuple(grad_output.shape))
    zeros = xp.zeros((prod(plan.source),), dtype=grad_output.dtype)
    if 0 in (*plan.source, *plan.shape):
        return xp.reshape(zeros, plan.source)
    indices = xp.checked(indices, partial(_check_places, plan.plane), in_range(0, plan.plane))
    rows = xp.from_host(np.arange(prod(plan.source) // plan.plane, dtype=np.int64)[:, None] * plan.plane)
    places = xp.reshape(indices, (-1, plan.count)) + rows
    return xp.reshape(xp.scatter(zeros, places, xp.reshape(grad_output, places.shape), "add"), plan.source)


def _check_places(size: int, indices: Any) -> None:
    if not all_in_range(indices, size):
        raise RuntimeError(f"indices must be between 0 and {size - 1}, the elements of a plane of self")
