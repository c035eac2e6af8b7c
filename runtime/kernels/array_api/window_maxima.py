"""Maxima over windows, and where they are, over arrays of any library: by tables along each dim."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from ...core.costs import UNROLLED
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
    if values.shape[axis] <= UNROLLED:
        taps = [(*(slice(None),) * axis, tap, ...) for tap in range(values.shape[axis])]
        best, where = values[taps[0]], places[taps[0]]
        for tap in taps[1:]:
            value = values[tap]
            chosen = (value > best) | (value != value)
            best, where = xp.where(chosen, value, best), xp.where(chosen, places[tap], where)
        return best, where
    tap = xp.argmax(values, axis=axis, keepdims=True)
    if is_real(xp, values):
        unknown = xp.astype(xp.flip(values != values, axis=axis), xp.uint8)
        last = values.shape[axis] - 1 - xp.argmax(unknown, axis=axis, keepdims=True)
        tap = xp.where(xp.any(unknown != 0, axis=axis, keepdims=True), last, tap)
    tap = xp.astype(tap, xp.int64)
    best, where = [xp.take_along_axis(x, tap, axis=axis) for x in (values, places)]
    return xp.squeeze(best, axis=axis), xp.squeeze(where, axis=axis)


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
