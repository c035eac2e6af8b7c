"""``make_tensor``: random tensors for tests. As in ``torch.testing``."""

from __future__ import annotations

import math
from typing import Any

import tengen


def make_tensor(
    *shape: Any,
    dtype: Any,
    device: Any = None,
    low: float | None = None,
    high: float | None = None,
    requires_grad: bool = False,
    noncontiguous: bool = False,
    exclude_zero: bool = False,
    memory_format: Any = None,
) -> Any:
    """A tensor of a shape, ints or one sequence of them, with values drawn evenly from ``[low, high)``.

    Without bounds values are from -9 to 9, from 0 where the dtype has no negative numbers, and bools are
    both. Bounds are cut to what the dtype has; of complex tensors both parts are drawn. ``noncontiguous``
    makes it every second element of a larger one, if it has two at least; ``exclude_zero`` puts the smallest
    positive number in place of zeros. The numbers follow ``tengen.manual_seed``.

    Raises ValueError for bounds that are NaN, that enclose nothing, or of which the dtype has nothing, for
    ``requires_grad`` of bools and integers, and for ``noncontiguous`` with a ``memory_format``.
    """
    sizes = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else tuple(shape)
    inexact = dtype.is_inexact
    if requires_grad and not inexact:
        raise ValueError(
            f"`requires_grad=True` is not supported for boolean and integral dtypes, but got dtype={dtype}"
        )
    if noncontiguous and memory_format is not None:
        raise ValueError(
            "The parameters `noncontiguous` and `memory_format` are mutually exclusive, but got "
            f"noncontiguous={noncontiguous} and memory_format={memory_format}"
        )
    bounds = _bounds(dtype, low, high)
    whole = (*sizes[:-1], 2 * sizes[-1]) if noncontiguous and math.prod(sizes) > 1 else sizes
    found = _drawn(whole, dtype, *bounds)
    if whole != sizes:
        found = found[..., ::2]
    if exclude_zero:
        found[found == 0] = tengen.finfo(dtype).tiny if inexact else 1
    if memory_format is not None:
        found = found.contiguous(memory_format=memory_format)
    if device is not None:
        found = found.to(device)
    return found.requires_grad_(requires_grad) if requires_grad else found


def _bounds(dtype: Any, low: float | None, high: float | None) -> tuple[float, float]:
    """The interval that is drawn from: as given, or by dtype, within what the dtype has."""
    smallest, largest = _limits(dtype)
    by_default = {"bool": (0, 2)}.get(dtype.category, (max(-9, smallest), 10 if _integral(dtype) else 9))
    low = by_default[0] if low is None else low
    high = by_default[1] if high is None else high
    if math.isnan(low) or math.isnan(high):
        raise ValueError(f"`low` and `high` cannot be NaN, but got low={low} and high={high}")
    if not low < high and not (low == high and not _integral(dtype)):
        raise ValueError(f"`low` must be less than `high`, but got {low} >= {high}")
    if high < smallest or low > largest:
        raise ValueError(
            f"The value interval specified by `low` and `high` is [{low}, {high}), but {dtype} only supports "
            f"[{smallest}, {largest}]"
        )
    above = largest + 1 if _integral(dtype) else largest
    low, high = max(low, smallest), min(high, above)
    return (math.ceil(low), math.ceil(high)) if _integral(dtype) else (low, high)


def _integral(dtype: Any) -> bool:
    return not dtype.is_inexact


def _limits(dtype: Any) -> tuple[float, float]:
    """The smallest and the largest number of a dtype."""
    if dtype.category == "bool":
        return 0, 1
    if dtype.category in ("integral", "unsigned"):
        return tengen.iinfo(dtype).min, tengen.iinfo(dtype).max
    return tengen.finfo(dtype).min, tengen.finfo(dtype).max


def _drawn(shape: tuple[int, ...], dtype: Any, low: float, high: float) -> Any:
    """A contiguous tensor of values in the interval."""
    if _integral(dtype):
        if not low < high:
            raise ValueError(f"no number of {dtype} is in [{low}, {high})")
        return tengen.randint(int(low), int(high), shape, dtype=tengen.int64).to(dtype)
    parts = [tengen.rand(shape, dtype=tengen.float64) for _ in range(2 if dtype.is_complex else 1)]
    # The sum of two products does not overflow where the difference of the bounds would.
    values = [p * high + (1 - p) * low for p in parts]
    found = values[0] if len(values) == 1 else tengen.complex(*values)
    rounded = found.to(dtype)
    if not dtype.is_complex and low < high:
        rounded[rounded >= high] = low  # rounding may arrive at the upper bound
    return rounded
