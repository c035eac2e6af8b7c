"""Exponentials of rows and their sums, which softmax, log_softmax and logsumexp are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import rows, sums
from .dims import reduce_dims
from .dtypes import REDUCED
from .native_kernels import kernels, of_reduced_rows
from .reduced import in_float32
from .reductions import max_along, sum_dim
from .rows import are_contiguous_rows, has_contiguous_rows
from .shares import share_rows

Array = Any

#: Up to here exp does not overflow, and a sum of exps of which one is not too small is exact.
MAX_EXPONENT, MIN_SUM = 64.0, 1e-3
#: Up to here the logarithm of the sum is as exact as is usual, unless next to nothing is left of a number
#: when it is subtracted: less than this much.
MAX_EXPONENT_LOG, NEAR_ZERO = 8.0, 1 / 16
#: Of numbers up to this size the shares in the sum have exact logarithms.
SHARED = 30.0


def exp_shift(
    self: Array, total: Array, axis: int, greatest: float, logarithms: Array | None = None
) -> Array | None:
    """What to subtract before ``exp``: the maximum of a lane along a (valid) axis, or 0; None for all 0.

    ``total`` is the sum of the exponentials along the axis, which is kept, or stands in each place of it;
    ``logarithms`` are the results of ``log_softmax``. The answer for a lane depends on that lane alone, and
    a lane less 0 has the bits that it had. It is much faster to see that all lanes are moderate than to find
    and to subtract their maxima.
    """
    greatest_of_all, least_sum = self.item(self.argmax()), total.item(total.argmin())
    if greatest_of_all <= greatest and least_sum >= MIN_SUM:
        if logarithms is None or greatest_of_all - math.log(least_sum) <= -2 * NEAR_ZERO:
            return None  # no logarithm is near zero, whatever lane the two are of
        if logarithms.item(logarithms.argmax()) <= -NEAR_ZERO:
            return None
    maximum = max_along(self, axis)
    moderate: Array = (maximum <= greatest) & (total >= MIN_SUM)
    if logarithms is not None:
        moderate &= max_along(logarithms, axis) <= -NEAR_ZERO
    return np.where(moderate, np.zeros((), maximum.dtype), maximum)


def logsumexp(self: Array, dim: tuple[int, ...] | None, keepdim: bool) -> Array:
    """``log(sum(exp(self)))`` over ``dim``; ``-inf`` of no elements."""
    if self.dtype.char in REDUCED:
        by_rows = dim and len(dim) == 1 and are_contiguous_rows(self, dim[0])
        found = of_reduced_rows("logsumexp", self, keepdim) if by_rows else None
        return in_float32(logsumexp, self, dim, keepdim) if found is None else found
    if dim and len(dim) == 1 and has_contiguous_rows(self, dim[0]):
        shape = self.shape
        table = self if len(shape) == 2 else self.reshape(-1, shape[-1])
        out = np.empty(len(table), self.dtype)
        if (kernel := kernels.logsumexp) is not None:
            share_rows(kernel, (table,), (), (out,))
        else:
            rows.run(_logsumexp_of_rows, table, out)
        return out.reshape((*shape[:-1], 1) if keepdim else shape[:-1])
    if self.size == 0:
        return np.log(sum_dim(self, dim, keepdim, None))
    maximum = reduce_dims(np.maximum, self.real, dim, True)
    maximum = np.where(np.isfinite(maximum), maximum, maximum.dtype.type(0))
    total = np.log(sum_dim(np.exp(self - maximum), dim, keepdim, None))
    return total + (maximum if keepdim else maximum.reshape(total.shape))


def _logsumexp_of_rows(table: Array, out: Array) -> None:
    total = sums.sum_rows(np.exp(table))
    np.log(total, out=out)
    shift = exp_shift(table, total[:, None], 1, MAX_EXPONENT_LOG)
    if shift is not None:
        shift[~np.isfinite(shift)] = 0  # NaN comes back through the sum, and so do infinities
        shifted = table - shift
        np.log(sums.sum_rows(np.exp(shifted, out=shifted)), out=out)
        out += shift[:, 0]
