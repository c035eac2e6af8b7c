"""Sums over windows, and weighted ones, as bodies declare them: over NumPy's arrays, dim by dim.

A result costs the sum of the sides of its window. The transposed gives each place's share back to the
elements that it is made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .layout import check_bytes
from .move_plans import FormOfWindows, plan_of
from .pointwise import div_rounded
from .window_plans import Taps, WindowPlan, along

Array = Any
Shape = tuple[int, ...]
Keys = Sequence[tuple[Any, Any]]
#: Windows of so many elements are summed tap by tap, and larger ones one by one.
_SUMMED = 4


def sums_of_windows(form: FormOfWindows, self: Array, *arguments: Any) -> Array:
    """What the windows of a form see, summed, and divided where it says so; integers towards zero.

    Weighted sums of integers are rounded once, at the end, and kept in the range of the dtype.
    RuntimeError for a result that is too large, and what the form raises.
    """
    plan = plan_of(form, self.shape, arguments)
    check_bytes(plan.shape, self.itemsize)
    if not self.size or 0 in plan.shape:
        return np.zeros(plan.shape, self.dtype)
    total = self
    for axis, taps, keys in plan.looks:
        total = _by_slices(total, axis, taps, keys) if keys else _summed(total, axis, taps)
    if total is self:
        total = self.copy()
    if self.dtype.kind in "iu":
        return _whole(plan, total, self.dtype)
    divisor = _divisor(plan, self.dtype)
    return total if divisor is None else np.divide(total, divisor, out=total)


def sums_of_windows_back(
    form: FormOfWindows, grad_output: Array, sizes: Sequence[int], *arguments: Any
) -> Array:
    """The transposed: of an array of the shape that a form makes of one of ``sizes``, the latter.

    RuntimeError for an array of another shape, for a result that is too large, and what the form raises.
    """
    plan = plan_of(form, tuple(sizes), arguments)
    check_windows(plan, grad_output.shape)
    check_bytes(plan.source, grad_output.itemsize)
    if not grad_output.size or 0 in plan.source:
        return np.zeros(plan.source, grad_output.dtype)
    divisor = _divisor(plan, grad_output.dtype)
    total = grad_output if divisor is None else np.divide(grad_output, divisor)
    for axis, taps, keys in reversed(plan.looks):
        total = _spread(total, axis, taps, keys) if keys else _summed(total, axis, taps.transposed)
    return total.copy() if total is grad_output else total


def check_windows(plan: WindowPlan, shape: Shape) -> None:
    """RuntimeError where this is not the shape of what a plan makes."""
    if tuple(shape) != plan.shape:
        raise RuntimeError(f"expected grad_output of size {[*plan.shape]}, but got {[*shape]}")


def _divisor(plan: WindowPlan, dtype: Any) -> Any:
    """What floating sums are divided by, of their dtype where it is an array."""
    if dtype.char not in plan.kept:
        found = plan.divisor
        plan.kept[dtype.char] = found.astype(dtype) if isinstance(found, np.ndarray) else found
    return plan.kept[dtype.char]


def _whole(plan: WindowPlan, total: Array, dtype: Any) -> Array:
    """Sums of integers, divided; those that have weights are rounded here."""
    divisor = plan.divisor
    if total.dtype.kind == "f":
        bounds = np.iinfo(dtype)
        total = total if divisor is None else total / divisor
        return np.clip(np.rint(total), bounds.min, bounds.max).astype(dtype)
    return total if divisor is None else div_rounded(total, divisor, "trunc").astype(dtype, copy=False)


# -- along one dim ----------------------------------------------------------------------------------------


def _by_slices(x: Array, axis: int, taps: Taps, keys: Keys) -> Array:
    """Equal windows in equal steps: all that a tap sees at once."""
    (places, sources), *others = keys
    if taps.is_whole:
        out = x[sources].copy()
    else:
        out = np.zeros((*x.shape[:axis], taps.count, *x.shape[axis + 1 :]), x.dtype)
        out[places] = x[sources]
    for places, sources in others:
        here = out if taps.is_whole else out[places]
        here += x[sources]
    return out


def _spread(x: Array, axis: int, taps: Taps, keys: Keys) -> Array:
    """The transposed of that."""
    out = np.zeros((*x.shape[:axis], taps.size, *x.shape[axis + 1 :]), x.dtype)
    for places, sources in keys:
        here = out[sources]
        here += x if taps.is_whole else x[places]
    return out


def _summed(x: Array, axis: int, taps: Taps) -> Array:
    if taps.ranges is not None and taps.most > _SUMMED:
        return _by_ranges(x, axis, *taps.ranges)
    return _by_table(x, axis, *taps.table)


def _by_ranges(x: Array, axis: int, starts: Array, ends: Array) -> Array:
    """Elements one behind the other."""
    pairs = np.stack([starts, ends], 1).ravel()
    if ends[-1] == x.shape[axis]:
        pairs = pairs[:-1]  # the last ones go to the end
    if pairs.max() == x.shape[axis]:  # which is no index: there is a zero behind
        zero = np.zeros((*x.shape[:axis], 1, *x.shape[axis + 1 :]), x.dtype)
        x = np.concatenate([x, zero], axis)
    out = np.add.reduceat(x, pairs, axis, x.dtype)[along(slice(None, None, 2), axis)].copy()
    if (starts == ends).any():
        out[along(starts == ends, axis)] = 0
    return out


def _by_table(x: Array, axis: int, places: Array, weights: Array, there: Array) -> Array:
    """Tap by tap, element by element."""
    behind = (1,) * (x.ndim - axis - 1)
    if weights is not None and x.dtype.kind in "iu":
        x = x.astype(np.float64)
    out: Any = None
    for tap in range(places.shape[1]):
        part = x.take(places[:, tap], axis)
        if weights is not None:
            part *= weights[:, tap].astype(x.dtype).reshape(-1, *behind)
        if there is not None and not there[:, tap].all():
            np.copyto(part, 0, where=~there[:, tap].reshape(-1, *behind))
        if out is None:
            out = part
        else:
            out += part
    return np.zeros((*x.shape[:axis], len(places), *x.shape[axis + 1 :]), x.dtype) if out is None else out
