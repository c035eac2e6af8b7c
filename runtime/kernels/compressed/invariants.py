"""What must be true of the indices and values of an array in a compressed format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..sparse.array import Array, Shape
from .array import KINDS, NAMES


def _require(holds: Any, what: str) -> None:
    if not holds:
        raise RuntimeError(what)


def check_dimensions(compressed: Array, plain: Array, values: Array, layout: str) -> None:
    """RuntimeError for numbers of dimensions, batches or dtypes that do not agree."""
    by_rows, blocked = KINDS[layout]
    first, second = NAMES[by_rows]
    _require(compressed.ndim >= 1, f"{first} must have dimensionality >= 1 but got {compressed.ndim}")
    _require(
        compressed.ndim == plain.ndim,
        f"{first} and {second} dimensionalities must be equal but got {compressed.ndim} and {plain.ndim}, "
        "respectively",
    )
    batch = compressed.ndim - 1
    least = batch + 2 * blocked
    _require(
        values.ndim > least,
        f"values must have dimensionality > sum of batch and block dimensionalities (={batch} + "
        f"{2 * blocked}) "
        f"but got {values.ndim}",
    )
    dtypes = compressed.dtype, plain.dtype
    _require(
        dtypes[0] == dtypes[1],
        f"{first} and {second} must have the same dtype, but got {dtypes[0]} and {dtypes[1]}",
    )
    _require(
        dtypes[0] in (np.int32, np.int64),
        f"{first} and {second} dtype must be int32 or int64, but got {dtypes[0]}",
    )
    _require(
        compressed.shape[:-1] == plain.shape[:-1] == values.shape[:batch],
        f"all batch dimensions of {first} (={list(compressed.shape[:-1])}), {second} "
        f"(={list(plain.shape[:-1])}), "
        f"and values (={list(values.shape[:batch])}) must be equal",
    )
    _require(compressed.shape[-1] >= 1, f"{first}.shape[-1] must be at least 1, but got 0")
    _require(
        plain.shape[-1] == values.shape[batch],
        f"{second}.shape[-1] must be equal to nnz (={values.shape[batch]}) as defined by "
        f"values.shape[{batch}], but "
        f"got {plain.shape[-1]}",
    )


def inferred_shape(compressed: Array, plain: Array, values: Array, layout: str) -> Shape:
    """The smallest sizes that hold all. RuntimeError for a negative index."""
    by_rows, blocked = KINDS[layout]
    batch = compressed.ndim - 1
    _require(
        not plain.size or plain.min() >= 0,
        f"{NAMES[by_rows][1]}: found a negative index {plain.min(initial=0)}",
    )
    lines, across = compressed.shape[-1] - 1, int(plain.max(initial=-1)) + 1
    rows, columns = (lines, across) if by_rows else (across, lines)
    high, wide = values.shape[batch + 1 : batch + 3] if blocked else (1, 1)
    return (*compressed.shape[:-1], rows * high, columns * wide, *values.shape[batch + 1 + 2 * blocked :])


def check_sizes(compressed: Array, plain: Array, values: Array, size: Sequence[int], layout: str) -> None:
    """RuntimeError for sizes that do not hold the values, and for indices that leave them."""
    by_rows, blocked = KINDS[layout]
    first, second = NAMES[by_rows]
    shape, batch = tuple(size), compressed.ndim - 1
    dense = values.shape[batch + 1 + 2 * blocked :]
    _require(all([n >= 0 for n in shape]), f"sizes must be non-negative, got {list(shape)}")
    _require(
        len(shape) == batch + 2 + len(dense),
        "tensor dimensionality must be sum of batch, base, and dense dimensionalities "
        f"(={batch} + 2 + {len(dense)}) but got {len(shape)}",
    )
    _require(
        shape[:batch] == compressed.shape[:-1] and shape[batch + 2 :] == dense,
        f"the batch and dense sizes of the tensor (={list(shape[:batch])} and "
        f"{list(shape[batch + 2 :])}) must be "
        f"those of the values (={list(compressed.shape[:-1])} and {list(dense)})",
    )
    block = values.shape[batch + 1 : batch + 3] if blocked else (1, 1)
    for d, (n, m) in enumerate(zip(shape[batch : batch + 2], block, strict=True)):
        _require(
            m > 0 and n % m == 0,
            f"tensor shape[{batch + d}] (={n}) must be divisible with blocksize[{d}] (={m}) as "
            "defined by values shape",
        )
    rows, columns = shape[batch] // block[0], shape[batch + 1] // block[1]
    lines, across = (rows, columns) if by_rows else (columns, rows)
    what = ("rows", "ncols") if by_rows else ("columns", "nrows")
    _require(
        compressed.shape[-1] == lines + 1,
        f"{first}.shape[-1] must be equal to the number of {what[0]} + 1 (={lines + 1}), but got "
        f"{compressed.shape[-1]}",
    )
    nnz = plain.shape[-1]
    steps = np.diff(compressed, axis=-1)
    _require((compressed[..., 0] == 0).all(), f"`{first}[..., 0] == 0` is not satisfied.")
    _require((compressed[..., -1] == nnz).all(), f"`{first}[..., -1] == nnz` is not satisfied.")
    _require(
        ((steps >= 0) & (steps <= max(across, nnz))).all(),
        f"`0 <= {first}[..., 1:] - {first}[..., :-1] <= {what[1]}` is not satisfied.",
    )
    _require(
        not plain.size or (plain.min() >= 0 and plain.max() < across),
        f"`0 <= {second} < {what[1]}` is not satisfied.",
    )


def check_order(compressed: Array, plain: Array, layout: str) -> None:
    """RuntimeError where the indices of a row, or column, are not in order, each once."""
    first, second = NAMES[KINDS[layout][0]]
    nnz = plain.shape[-1]
    rising = np.ones((*plain.shape[:-1], nnz + 1), np.bool_)
    rising[..., 1:-1] = np.diff(plain, axis=-1) > 0
    np.put_along_axis(rising, compressed.astype(np.int64), True, -1)  # where a new row begins
    _require(
        rising.all(),
        f"`{second}[..., {first}[..., i - 1]:{first}[..., i]] for all i are sorted and distinct along "
        "the last "
        "dimension values` is not satisfied.",
    )
