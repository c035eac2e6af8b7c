"""Distances between the rows of matrices, by SciPy, which is imported on first use."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def check_rows(x1: Any, x2: Any) -> None:
    """Raise RuntimeError where there are no rows of one length."""
    for name, x in (("X1", x1), ("X2", x2)):
        if x.ndim < 2:
            raise RuntimeError(f"cdist only supports at least 2D tensors, {name} got: {x.ndim}D")
    if x1.shape[-1] != x2.shape[-1]:
        raise RuntimeError(
            f"cdist: X1 and X2 must have the same number of columns. X1: {x1.shape[-1]} X2: {x2.shape[-1]}"
        )


def cdist_shape(x1: Any, x2: Any) -> tuple[int, ...]:
    """The shape of the distances; also used on Meta. RuntimeError for shapes that do not fit."""
    check_rows(x1, x2)
    if x1.shape[:-2] != x2.shape[:-2]:
        raise RuntimeError(f"X1 and X2 must be batches of one shape: {x1.shape[:-2]} and {x2.shape[:-2]}")
    return (*x1.shape[:-1], x2.shape[-2])


def cdist_of(x1: Array, x2: Array, p: float, compute_mode: int | None) -> Array:
    """The p-norm distance of each row of ``x1`` from each row of ``x2``; p 0 counts what differs.

    Raises RuntimeError for a negative p.
    """
    shape = cdist_shape(x1, x2)
    if p < 0:
        raise RuntimeError(f"cdist only supports non-negative p values, but got {p}")
    if not x1.shape[-1] or 0 in shape:
        return np.zeros(shape, x1.dtype)
    out = np.empty(shape, x1.dtype)
    for place in np.ndindex(*shape[:-2]):
        out[place] = _distances(x1[place], x2[place], p)
    return out


def _distances(x1: Array, x2: Array, p: float) -> Any:
    from scipy.spatial import distance

    if p in (0, math.inf):
        return _by_columns(x1, x2, p)
    if p == 1:
        return distance.cdist(x1, x2, "cityblock")
    if p == 2:
        return distance.cdist(x1, x2, "euclidean")
    return distance.cdist(x1, x2, "minkowski", p=p)


def _by_columns(x1: Array, x2: Array, p: float) -> Array:
    """The distances for p 0 and inf, which SciPy loses NaN of: it compares."""
    out = np.zeros((len(x1), len(x2)), x1.dtype)
    for first, second in zip(x1.T, x2.T, strict=True):
        apart = np.abs(first[:, None] - second)
        if p:
            np.maximum(out, apart, out=out)
        else:
            out += np.minimum(np.ceil(apart), 1)  # NaN stays
    return out


def cdist_backward(grad: Array, x1: Array, x2: Array, p: float, cdist: Array) -> Array:
    """The gradient for ``x1``: one column after the other, so that memory is that of the distances."""
    out = np.zeros(x1.shape, x1.dtype)
    if p == 0:
        return out
    scale = grad
    if 1 < p < math.inf or p < 1:
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = np.where(cdist == 0, 0, grad / cdist ** (p - 1)).astype(grad.dtype, copy=False)
    for column in range(x1.shape[-1]):
        d = x1[..., :, None, column] - x2[..., None, :, column]
        out[..., column] = (scale * _slope(d, p, cdist)).sum(-1)
    return out


def _slope(d: Array, p: float, cdist: Array) -> Array:
    """The derivative of the distance by one difference, times ``cdist ** (p - 1)``."""
    if p == 2:
        return d
    if p == 1:
        return np.sign(d)
    if p == math.inf:
        return np.where(np.abs(d) == cdist, np.sign(d), 0)
    with np.errstate(divide="ignore"):
        power: Array = np.abs(d) ** (p - 1)
    return np.where(d == 0, 0, np.sign(d) * power)
