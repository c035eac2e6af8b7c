"""Maxima over windows, and where they are, as bodies declare them: over NumPy's arrays.

Places count through the dims of the windows, flattened. The first of equal elements counts; NaN is greater
than everything, and the last NaN counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.costs import WINDOWS_FEW
from .layout import check_bytes
from .move_plans import FormOfWindows, plan_of
from .native_kernels import kernel_of_floats
from .nn.common import as_numbers
from .tables import add_elements
from .window_plans import WindowPlan, along
from .window_sums import check_windows

Array = Any


def maxima_of_windows(form: FormOfWindows, self: Array, *arguments: Any) -> tuple[Array, Array]:
    """The maximum of each window of a form, and its place, int64.

    Of a window that lies in the padding it is the least number.
    RuntimeError for windows of no elements, for a result that is too large, and what the form raises.
    """
    plan = plan_of(form, self.shape, arguments)
    check_bytes(plan.shape, self.itemsize)
    if not self.size or 0 in plan.shape:
        return np.zeros(plan.shape, self.dtype), np.zeros(plan.shape, np.int64)
    return _native(plan, self) or _maxima(plan, self)


def maxima_of_windows_back(
    form: FormOfWindows, grad_output: Array, sizes: Sequence[int], indices: Array, *arguments: Any
) -> Array:
    """Each element of the gradient, added where its window's maximum was in an array of ``sizes``.

    RuntimeError for an index that is no element of its plane, for an array of another shape than the maxima
    have, and what the form raises.
    """
    plan = plan_of(form, tuple(sizes), arguments)
    check_windows(plan, grad_output.shape)
    size = plan.plane
    if not grad_output.size or not size:
        return np.zeros(plan.source, grad_output.dtype)
    # As unsigned numbers negative ones are large: one pass looks at both ends.
    if int(indices.view(f"u{indices.itemsize}").max()) >= size:
        raise RuntimeError(f"indices must be between 0 and {size - 1}, the elements of a plane of self")
    values, places = grad_output.reshape(-1, plan.count), indices.reshape(-1, plan.count)
    out = np.zeros((len(values), size), grad_output.dtype)
    if not add_elements(out, places, values):
        flat = (places + np.arange(len(values))[:, np.newaxis] * size).ravel()
        if all([taps.is_apart for _, taps in plan.taps]):
            out.reshape(-1)[flat] = values.ravel()
        else:
            out = np.bincount(flat, values.ravel(), out.size).astype(grad_output.dtype, copy=False)
    return out.reshape(plan.source)


def _native(plan: WindowPlan, self: Array) -> tuple[Array, Array] | None:
    """By a native kernel: one call for a few elements, along the last one or two dims."""
    if plan.work > WINDOWS_FEW:
        return None
    kernel = kernel_of_floats("max_of_windows", self.dtype)
    if kernel is None:
        return None
    if "numbers" not in plan.kept:
        plan.kept["numbers"] = _numbers(plan)
    numbers = plan.kept["numbers"]
    if numbers is None:
        return None
    best, indices = np.empty(plan.shape, self.dtype), np.empty(plan.shape, np.int64)
    if len(plan.axes) == 2:
        kernel(self, *numbers, out=(best, indices))
    else:
        kernel(self[..., None, :], *numbers, out=(best[..., None, :], indices[..., None, :]))
    return best, indices


def _numbers(plan: WindowPlan) -> tuple[Array, ...] | None:
    """What the kernel takes: taps, steps, gaps, padding, and the places of taps from where windows begin.

    None for other dims, and for windows that differ, or see nothing.
    """
    taps = [taps for _, taps in plan.taps]
    steps = [t.step for t in taps]
    if len(taps) > 2 or None in steps or any([t.nothing is not None for t in taps]):
        return None
    kernel, gaps = tuple([t.most for t in taps]), tuple([t.gap for t in taps])
    padding = tuple([-int(t.begin[0]) for t in taps])
    sizes = (kernel, 1), (tuple([s or 1 for s in steps]), 1), (gaps, 1), (padding, 0)
    return *as_numbers(*sizes), plan.offsets[0]


def _maxima(plan: WindowPlan, self: Array) -> tuple[Array, Array]:
    """Along one dim after the other, the last one first, so that a window costs the sum of its sides."""
    best, chosen = _numbered(plan, self, False)
    if self.dtype.kind == "f" and np.isnan(best).any():
        best, chosen = _numbered(plan, self, True)
    for axis, taps in plan.taps:
        if taps.nothing is not None:
            least = -np.inf if self.dtype.kind == "f" else np.iinfo(self.dtype).min
            best[along(taps.nothing, axis)] = least
    offsets, base = plan.offsets
    indices = offsets.take(chosen)
    indices += base
    return best, indices


def _numbered(plan: WindowPlan, self: Array, by_nan: bool) -> tuple[Array, Array]:
    """The maxima, and the numbers of the taps that see them; ``by_nan``: there is NaN.

    A later tap has the greater number, so what is greater takes the place of a number by maximum.
    """
    if "numbered" not in plan.kept:
        plan.kept["numbered"] = _looks(plan)
    kind, looks = plan.kept["numbered"]
    best, chosen = self, None
    for axis, (first, *others) in looks:
        source, inner = best, chosen
        _, sees, number = first
        value = _seen(source, sees, axis)
        best = value if value.base is None else value.copy()
        chosen = np.full(best.shape, number, kind) if inner is None else _seen(inner, sees, axis) + number
        for places, sees, number in others:
            value = _seen(source, sees, axis)
            numbers = number if inner is None else _seen(inner, sees, axis) + number
            here, known = (best, chosen) if places is ... else (best[places], chosen[places])
            greater = np.greater(value, here)
            if by_nan:
                greater |= value != value
            np.maximum(known, np.multiply(greater.view(np.uint8), numbers, dtype=kind), out=known)
            np.maximum(here, value, out=here)
    return best, chosen


def _seen(x: Array, places: Any, axis: int) -> Array:
    return x[places] if isinstance(places, tuple) else x.take(places, axis)


def _looks(plan: WindowPlan) -> tuple[Any, list[tuple[int, list[tuple[Any, Any, Any]]]]]:
    """The dtype of numbers, and of each dim, the last first, for each tap: places, what they see, its number.

    The first tap is of all places; those for which a tap is outside see what is nearest to it inside, and
    have its number.
    """
    kind: Any = np.uint8 if len(plan.offsets[0]) <= 256 else np.int32
    found, step = [], 1
    for axis, taps, keys in reversed(plan.looks):
        looks: list[tuple[Any, Any, Any]] = [
            (... if taps.is_whole else places, sees, kind(tap * step))
            for tap, (places, sees) in enumerate(keys)
        ]
        if not taps.is_whole:
            behind = (1,) * (len(plan.shape) - axis - 1)
            every = [
                (..., sees, (numbers * step).astype(kind).reshape(-1, *behind))
                for numbers, sees in zip(*[table.T for table in taps.nearest], strict=True)
            ]
            looks = every[:1] + looks[1:] if keys else every
        found.append((axis, looks))
        step *= taps.most
    return kind, found
