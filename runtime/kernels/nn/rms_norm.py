"""Division of rows by their root mean square, in one pass forward and one backward.

``rstd`` is ``1 / sqrt(mean(x^2) + eps)`` of each row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...core.costs import ROWS_LARGE
from .. import rows, sums
from ..native_kernels import kernel_of_floats
from ..native_rows import rows_of
from .common import Array, Shape

Gradients = tuple[Array | None, Array | None]


def _means(first: Array, second: Array) -> Array:
    """The mean of the products of each two rows."""
    means: Array = np.vecdot(first, second)
    means /= first.shape[1] or 1
    return means


def native_rms_norm_backward(
    grad_out: Array,
    input: Array,
    normalized_shape: Shape,
    rstd: Array,
    weight: Array | None,
    output_mask: Sequence[bool],
) -> Gradients:
    """Gradients of input and weight; None where there is none or the mask does not ask for it."""
    groups, count = rows_of(input.shape, tuple(normalized_shape), "normalized_shape", True).laid
    grad, table, rstds = grad_out.reshape(groups, count), input.reshape(groups, count), rstd.reshape(-1)
    large = input.size > ROWS_LARGE
    # A block is read twice, and stays in the cache meanwhile.
    step = rows.rows_of_block(2 * count * input.itemsize) if large else max(groups, 1)
    out = np.empty(input.shape, input.dtype) if output_mask[0] else None
    result = None if out is None else out.reshape(groups, count)
    scale = None if weight is None else weight.reshape(-1)
    parts = None
    if scale is not None and output_mask[1]:
        parts = np.zeros((rows.blocks_of(groups, step), count), input.dtype)

    def block(number: int, begin: int, end: int) -> None:
        of_rows = grad[begin:end], table[begin:end], rstds[begin:end]
        if result is not None:
            _input_gradient(*of_rows, scale, result[begin:end])
        if parts is not None:
            _weight_gradient(*of_rows, parts[number])

    if large:
        rows.each_block(block, groups, step, count)
    elif input.size:
        block(0, 0, groups)
    if parts is None or weight is None:
        return out, None
    return out, (parts if len(parts) == 1 else np.add.reduce(parts, 0)).reshape(weight.shape)


def _input_gradient(grad: Array, table: Array, rstd: Array, weight: Array | None, out: Array) -> None:
    """``rstd * (g - n * mean(g n))``: n is the rows times ``rstd``, g the gradient times the weight."""
    shared = () if weight is None else (weight,)
    name = "rms_normalize_scaled_backward" if shared else "rms_normalize_backward"
    if (kernel := kernel_of_floats(name, table.dtype)) is not None:
        kernel(grad, table, rstd, *shared, out=out)
        return
    scaled = grad if weight is None else grad * weight
    through_rstd = _means(scaled, table)
    through_rstd *= rstd * rstd
    np.multiply(table, through_rstd[:, None], out=out)
    np.subtract(scaled, out, out=out)
    np.multiply(out, rstd[:, None], out=out)


def _weight_gradient(grad: Array, table: Array, rstd: Array, out: Array) -> None:
    """The sums of columns of ``g * n``."""
    if (kernel := kernel_of_floats("scale_gradients", table.dtype)) is not None:
        kernel(grad, table, rstd, out=out)
    else:
        out[...] = sums.sum_columns(grad * table, rstd)
