"""Sums over windows, and weighted ones, over arrays of any library: by tables of elements along each dim."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..move_plans import FormOfWindows, plan_of
from ..window_plans import Taps
from ..window_sums import check_windows
from .common import Array, is_integral, is_real
from .pointwise import div_rounded


def sums_of_windows(xp: Any, form: FormOfWindows, self: Array, *arguments: Any) -> Array:
    """What ``kernels.window_sums.sums_of_windows`` gives, and its errors."""
    plan = plan_of(form, tuple(self.shape), arguments)
    total, whole = self, is_integral(xp, self)
    if 0 in (*plan.source, *plan.shape):
        return xp.zeros(plan.shape, dtype=self.dtype)
    for axis, taps in plan.taps:
        total = _summed(xp, total, axis, taps)
    rounded = whole and is_real(xp, total)
    if (divisor := _divisor(xp, plan.divisor, total)) is not None:
        total = total / divisor if not whole or rounded else div_rounded(xp, total, divisor, "trunc")
    if rounded:
        bounds = xp.iinfo(self.dtype)
        total = xp.astype(xp.clip(xp.round(total), float(bounds.min), float(bounds.max)), self.dtype)
    return total


def sums_of_windows_back(
    xp: Any, form: FormOfWindows, grad_output: Array, sizes: Sequence[int], *arguments: Any
) -> Array:
    """What ``kernels.window_sums.sums_of_windows_back`` gives, and its errors."""
    plan = plan_of(form, tuple(sizes), arguments)
    check_windows(plan, tuple(grad_output.shape))
    if 0 in (*plan.source, *plan.shape):
        return xp.zeros(plan.source, dtype=grad_output.dtype)
    divisor = _divisor(xp, plan.divisor, grad_output)
    total = grad_output if divisor is None else grad_output / divisor
    for axis, taps in reversed(plan.taps):
        total = _summed(xp, total, axis, taps.transposed)
    return total


def _divisor(xp: Any, divisor: Any, like: Array) -> Any:
    """What sums are divided by, as an array of their dtype; None for nothing."""
    return None if divisor is None else xp.astype(xp.from_host(np.asarray(divisor)), like.dtype)


def _summed(xp: Any, x: Array, axis: int, taps: Taps) -> Array:
    places, weights, there = taps.table
    if places.shape[1] == 1 and weights is None and there is None:
        return xp.at(x, xp.constant(places[:, 0]), axis)
    if weights is not None and is_integral(xp, x):
        x = xp.astype(x, xp.float64)
    found = xp.at(x, xp.constant(places), axis)
    behind = (*places.shape, *(1,) * (x.ndim - axis - 1))
    if weights is not None:
        found = found * xp.astype(xp.from_host(weights.reshape(behind)), x.dtype)
    if there is not None:
        found = xp.where(
            xp.from_host(there.reshape(behind)), found, xp.zeros((1,) * found.ndim, dtype=x.dtype)
        )
    return xp.sum(found, axis=axis + 1, dtype=x.dtype)
