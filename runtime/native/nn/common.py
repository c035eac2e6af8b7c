"""What the nn kernels share: reductions of losses, sizes written once for all dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.costs import SELECT_LARGE

Array = Any  # an ndarray, or the scalar that a ufunc makes of 0-d arrays
Number = bool | int | float | complex
Shape = tuple[int, ...]

NONE, MEAN, SUM = 0, 1, 2  # torch's Reduction


def reduce_loss(loss: Array, reduction: int) -> Array:
    """``loss`` elementwise (0), its mean (1) or its sum (2); the mean of nothing is NaN."""
    if reduction == NONE:
        return loss
    if reduction == MEAN:
        return np.mean(loss)
    if reduction == SUM:
        return np.sum(loss)
    raise ValueError(f"{reduction} is not a valid value for reduction")


def loss_scale(reduction: int, size: int) -> float:
    """What each element's gradient is multiplied with: 1, or 1 / size for a mean."""
    return 1.0 / size if reduction == MEAN and size else 1.0


def expand(value: int | Shape, dims: int, name: str) -> Shape:
    """``value`` for each of ``dims`` dimensions; one number stands for all.

    Raises RuntimeError for another count.
    """
    if isinstance(value, int):
        return (value,) * dims
    if len(value) == dims:
        return tuple(value)
    if len(value) == 1:
        return tuple(value) * dims
    raise RuntimeError(
        f"{name} must either be a single int, or a tuple of {dims} ints, but got {list(value)}"
    )


_INTEGERS = {2: np.int16, 4: np.int32, 8: np.int64}


def select(mask: Array, a: Array | float, b: Array | float) -> Array:
    """``np.where(mask, a, b)``; a number takes the dtype of the other operand.

    np.where branches on every element, which on a mask without pattern costs ten times what the
    arithmetic on bits does that takes its place for large arrays: ``b ^ ((a ^ b) & mask)``.
    """
    array = a if isinstance(a, np.ndarray) else b
    if (
        not isinstance(array, np.ndarray)
        or array.size < SELECT_LARGE
        or array.dtype.kind not in "fiu"
        or array.itemsize not in _INTEGERS
    ):
        return np.where(mask, a, b)
    integer = _INTEGERS[array.itemsize]
    operands = []
    for operand in (a, b):
        if not isinstance(operand, np.ndarray):
            operand = np.asarray(operand, array.dtype)
        elif operand.dtype != array.dtype or operand.shape != mask.shape:
            return np.where(mask, a, b)
        operands.append(np.ascontiguousarray(operand).view(integer))
    first, second = operands
    bits = mask.astype(integer, order="C")
    if first.ndim == 0 and not first:
        bits -= 1  # all bits set where the mask is not
        bits &= second
    else:
        np.negative(bits, out=bits)  # all bits set where the mask is
        if second.ndim == 0 and not second:
            bits &= first
        else:
            bits &= first ^ second
            bits ^= second
    out: Array = bits.view(array.dtype)
    return out


def stable_sigmoid(x: Array) -> Array:
    """``1 / (1 + exp(-x))`` in a new array; large negative x gives 0 without an overflow error."""
    out = np.negative(x)
    if out.__class__ is np.ndarray:
        np.exp(out, out=out)
        out += 1
        return np.reciprocal(out, out=out)
    return 1 / (np.exp(out) + 1)


def as_array(x: Array) -> np.ndarray[Any, np.dtype[Any]]:
    """``x`` as an ndarray that may be written to when it is a fresh result."""
    return x if x.__class__ is np.ndarray else np.array(x)
