"""Differences between what a function gives and what its program gives."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor
from .signature import alike

#: By how much results of a dtype may differ, in units of the greatest element.
_TOLERANCES = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3, "float64": 1e-8}
_TOLERANCES |= {"complex64": 1e-3, "complex128": 1e-8}


def problem(expected: Any, found: Any, allowed: float = 0.0) -> str:
    """How a program's result differs from a function's, by more than is allowed; "" if it does not."""
    if isinstance(expected, Tensor) and isinstance(found, Tensor):
        return _of_tensors(expected, found, allowed)
    return "" if expected is found or alike(expected, found) else f"is {found!r}, not {expected!r}"


def _of_tensors(a: Any, b: Any, allowed: float) -> str:
    if a.dtype is not b.dtype or a.shape != b.shape or _layout(a) != _layout(b):
        return "has another dtype, shape or layout"
    if a._requires_grad is not b._requires_grad:
        return "requires grad in one of them"
    tolerance = _TOLERANCES.get(a.dtype.name, 0.0)
    first, second = _as_computed(a), _as_computed(b)
    if not tolerance:
        return "" if bool((first == second).all()) else "has other elements"
    if not first.numel():
        return ""
    scale = first.where(first.isfinite(), 0).abs().max().item()
    close = first.isclose(second, tolerance, max(tolerance * scale, allowed), True)
    return "" if bool(close.all()) else f"differs by {(first - second).abs().max().item():.3g}"


def _layout(tensor: Any) -> list[int]:
    """The strides that tell where elements are: not those of dims of one, or of tensors without elements."""
    array = tensor._array
    return [step for step, n in zip(array.strides, array.shape, strict=True) if n != 1 and array.size]


def spread(a: Any, b: Any) -> float:
    """By how much two results differ, 0 where they are not of floating point."""
    if not isinstance(a, Tensor) or a.dtype.name not in _TOLERANCES or not a.numel():
        return 0.0
    change = (_as_computed(a) - _as_computed(b)).abs()
    largest: float = change.where(change.isfinite(), 0).max().item()
    return largest


def _as_computed(tensor: Any) -> Any:
    """The values of a tensor, of half types in float32."""
    values = tensor.detach()
    return values.float() if tensor.dtype.name in ("float16", "bfloat16") else values
