"""What the nn kernels share: reductions of losses, sizes written once for all dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

Array = Any  # an ndarray, or the scalar that a ufunc makes of 0-d arrays
Number = bool | int | float | complex
Shape = tuple[int, ...]

NONE, MEAN, SUM = 0, 1, 2  # torch's Reduction


def reduce_loss(loss: Array, reduction: int) -> Array:
    """``loss`` elementwise (0), its mean (1) or its sum (2); the mean of nothing is NaN. ValueError for
    another number."""
    if reduction == NONE:
        return loss
    if reduction == MEAN:
        return np.sum(loss) / loss.size
    check_reduction(reduction)
    return np.sum(loss)


def check_reduction(reduction: int) -> None:
    """ValueError for what is neither 0, none, nor 1, mean, nor 2, sum."""
    if reduction not in (NONE, MEAN, SUM):
        raise ValueError(f"{reduction} is not a valid value for reduction")


def loss_scale(reduction: int, size: int) -> float:
    """What each element's gradient is multiplied with: 1, or 1 / size for a mean."""
    return 1.0 / size if reduction == MEAN and size else 1.0


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape that the elements of a loss have."""
    return shapes[0] if shapes.count(shapes[0]) == len(shapes) else np.broadcast_shapes(*shapes)


def gradient_of_elements(grad: Array, reduction: int, *operands: Array | None) -> Array:
    """The gradient of each element of a loss; what is one for all stays one, broadcast."""
    if reduction == NONE:
        return grad
    shape = broadcast_shape([x.shape for x in operands if x is not None])
    return np.broadcast_to(grad * loss_scale(reduction, prod(shape)), shape)


def expand(value: int | Sequence[int], dims: int, name: str) -> Shape:
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


def as_numbers(*sizes: tuple[Shape, int]) -> tuple[Array, ...]:
    """Sizes of one or two dims as native kernels over windows take them: two arrays for each.

    With each comes what an absent first dim has.
    """
    return tuple([np.asarray(n, np.int64) for given, absent in sizes for n in (absent, *given)[-2:]])


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
