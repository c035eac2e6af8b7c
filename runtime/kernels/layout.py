"""Strides, in elements, as arithmetic on tuples: no array is needed.

The rules are ATen's (``computeStride``, ``infer_dense_strides``), so that views have the very
strides PyTorch gives them, also where a dimension of size 1 would leave a choice.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from ..core.memory_format import (
    channels_last,
    channels_last_3d,
    check_rank,
    contiguous_format,
    memory_format,
    preserve_format,
)

Shape = tuple[int, ...]


#: The greatest number of elements, and of bytes.
MAX_NUMEL = 2**63 - 1


def check_bytes(shape: Sequence[int], itemsize: int) -> None:
    """RuntimeError where an array of this shape has more bytes than can be counted."""
    if math.prod(shape) * itemsize > MAX_NUMEL:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")


def contiguous_strides(shape: Shape) -> Shape:
    """Row-major strides; a size of 0 counts as 1."""
    strides = [1] * len(shape)
    step = 1
    for d in range(len(shape) - 1, -1, -1):
        strides[d] = step
        if shape[d] > 1:
            step *= shape[d]
    return tuple(strides)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Whether the elements stand in row-major order without gaps; strides of size-1 dims do not count."""
    expected = 1
    for d in range(len(shape) - 1, -1, -1):
        n = shape[d]
        if n != 1:
            if strides[d] != expected:
                return 0 in shape
            expected *= n
    return True


def is_dense(shape: Shape, strides: Shape) -> bool:
    """Whether, in some order of the dimensions, the elements fill their memory without gap or overlap."""
    if 0 in shape:
        return True
    expected = 1
    for s, n in sorted([(s, n) for n, s in zip(shape, strides, strict=True) if n != 1]):
        if s != expected:
            return False
        expected *= n
    return True


def may_overlap(shape: Shape, strides: Shape) -> bool:
    """Whether two elements might be one place of memory; False is certain."""
    if 0 in shape:
        return False
    reach = 0
    for s, n in sorted([(s, n) for n, s in zip(shape, strides, strict=True) if n != 1]):
        if s <= reach:
            return True
        reach += (n - 1) * s
    return False


def extent(shape: Sequence[int], strides: Sequence[int]) -> int:
    """How many elements of memory there are from the first to the last one, both counted; 0 without any."""
    return 0 if 0 in shape else 1 + sum([(n - 1) * s for n, s in zip(shape, strides, strict=True)])


def check_window(size: Shape, strides: Shape, offset: int, itemsize: int, nbytes: int) -> int:
    """The extent of a view of memory. RuntimeError for negative strides or offset, and places beyond it."""
    if len(size) != len(strides):
        raise RuntimeError("mismatch in length of strides and shape")
    if strides and min(strides) < 0:
        raise RuntimeError(
            f"as_strided: Negative strides are not supported at the moment, got strides: {list(strides)}"
        )
    if offset < 0:
        raise RuntimeError(f"Tensor: invalid storage offset {offset}")
    elements = extent(size, strides)
    needed = (offset + elements) * itemsize
    if elements and needed > nbytes:
        raise RuntimeError(
            f"setStorage: sizes {list(size)}, strides {list(strides)}, storage offset {offset}, and itemsize "
            f"{itemsize} requiring a storage size of {needed} are out of bounds for storage of size {nbytes}"
        )
    return elements


@lru_cache(1024)
def packed_strides(shape: Shape, itemsize: int) -> Shape:
    """``contiguous_strides`` in bytes."""
    return tuple([itemsize * s for s in contiguous_strides(shape)])


def view_strides(shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """The strides with which the same memory has shape ``new`` (same number of elements).

    None when no strides do: the data would have to be copied.
    """
    if not shape:
        return (1,) * len(new)
    if 0 in shape:
        return strides if shape == new else contiguous_strides(new)
    result = [0] * len(new)
    v = len(new) - 1
    base = strides[-1]  # stride of the innermost element of the present run of mergeable dimensions
    run = viewed = 1
    for d in range(len(shape) - 1, -1, -1):
        run *= shape[d]
        if d == 0 or (shape[d - 1] != 1 and strides[d - 1] != run * base):
            while v >= 0 and (viewed < run or new[v] == 1):
                result[v] = viewed * base
                viewed *= new[v]
                v -= 1
            if viewed != run:
                return None
            if d > 0:
                base = strides[d - 1]
                run = viewed = 1
    return tuple(result) if v == -1 else None


@lru_cache(1024)
def preserved_strides(shape: Shape, *inputs: Shape) -> Shape:
    """Strides of a new array whose dimensions stand in memory in the order of those of the inputs.

    ``inputs`` are strides broadcast to ``shape``; the first one that has an opinion decides.
    """
    if len(inputs) == 1 and is_dense(shape, inputs[0]):
        return inputs[0]
    result = [1] * len(shape)
    step = 1
    for d in memory_order(shape, *inputs):
        result[d] = step
        if shape[d] > 1:
            step *= shape[d]
    return tuple(result)


def memory_order(shape: Shape, *inputs: Shape) -> list[int]:
    """The dimensions in their order in memory, innermost first; the arguments are ``preserved_strides``'."""
    order = list(range(len(shape) - 1, -1, -1))
    for i in range(1, len(order)):
        at = i
        for other in range(i - 1, -1, -1):
            verdict = _comes_after(shape, inputs, order[other], order[at])
            if verdict > 0:
                order[other], order[at] = order[at], order[other]
                at = other
            elif verdict < 0:
                break
    return order


def is_told_by_strides(shape: Shape, strides: Shape, order: Sequence[int]) -> bool:
    """Whether strides admit no other order of the dimensions than this one, innermost first."""
    return all([_comes_after(shape, (strides,), d, e) < 0 for d, e in pairwise(order)])


def operand_strides(shape: Shape, operands: Sequence[tuple[Shape, Shape]]) -> Shape:
    """Strides of a new elementwise result of this shape; of each operand its own shape and strides."""
    rows = []
    for sizes, strides in operands:
        padding = len(shape) - len(sizes)
        own = [s if n != 1 or m == 1 else 0 for n, s, m in zip(sizes, strides, shape[padding:], strict=True)]
        rows.append((*(0,) * padding, *own))
    return preserved_strides(shape, *rows)


def _order_of_channels(ndim: int) -> tuple[int, ...]:
    """The dimensions of images (4) or volumes (5), innermost first, where channels are innermost."""
    return (1, *range(ndim - 1, 1, -1), 0)


def channels_last_strides(shape: Shape) -> Shape:
    """Strides of dense images or volumes whose channels are innermost."""
    strides = [0] * len(shape)
    step = 1
    for d in _order_of_channels(len(shape)):
        strides[d] = step
        step *= shape[d]
    return tuple(strides)


def stands_channels_last(shape: Shape, strides: Shape) -> bool:
    """Whether strides are of images or volumes whose channels are innermost; they may have gaps."""
    if len(shape) not in (4, 5) or 0 in shape or strides[1] == 0:
        return False
    least = 0
    for d in _order_of_channels(len(shape)):
        # Where the first and the second dimension cannot be told apart, it is the usual order.
        if strides[d] < least or (d == 0 and least == strides[1]):
            return False
        least = strides[d] * max(shape[d], 1)
    return True


def suggest_memory_format(shape: Shape, strides: Shape) -> memory_format:
    """The format in which an array of these strides stands: contiguous_format unless it is channels-last."""
    if not stands_channels_last(shape, strides):
        return contiguous_format
    return channels_last if len(shape) == 4 else channels_last_3d


def strides_in(format: memory_format | None, shape: Shape, strides: Shape | None = None) -> Shape:
    """The strides of new memory in a memory format.

    ``strides`` are those of what it is made after: None and preserve_format keep the order of its
    dimensions. RuntimeError where a channels-last format is for another number of dimensions, and for
    preserve_format where there is nothing to keep.
    """
    if format is contiguous_format or (format is None and strides is None):
        return contiguous_strides(shape)
    if format is None or format is preserve_format:
        if strides is None:
            raise RuntimeError("preserve_format: there is no tensor whose memory format could be kept")
        return preserved_strides(shape, strides)
    check_rank(format, shape)
    return channels_last_strides(shape)


def _comes_after(shape: Shape, inputs: tuple[Shape, ...], d: int, e: int) -> int:
    """1 if dimension ``d`` is further out than ``e``, -1 if further in, 0 if it cannot be told."""
    for strides in inputs:
        a, b = strides[d], strides[e]
        if a == 0 or b == 0:
            continue
        if a != b:
            return -1 if a < b else 1
        if shape[d] > shape[e]:
            return 1
    return 0


def broadcast_shapes(*shapes: Shape, name: str = "") -> Shape:
    """The shape that all broadcast to.

    Raises RuntimeError, in torch's words behind ``name``, when they do not.
    """
    first = shapes[0]
    for shape in shapes:
        if shape != first:
            break
    else:
        return first
    ndim = max([len(s) for s in shapes])
    result = [1] * ndim
    for shape in shapes:
        for i in range(1, len(shape) + 1):
            n = shape[-i]
            if n != 1 and n != result[-i]:
                if result[-i] != 1:
                    # The sizes are named in the order in which they stand: a is what came before.
                    raise RuntimeError(
                        f"{name}The size of tensor a ({result[-i]}) must match the size of tensor b ({n}) "
                        f"at non-singleton dimension {ndim - i}"
                    )
                result[-i] = n
    return tuple(result)


def check_fits(shape: Shape, given: Shape) -> None:
    """Raise RuntimeError where ``given`` does not broadcast to ``shape``, that of what is written to."""
    found = broadcast_shapes(shape, given)
    if found != shape:
        raise RuntimeError(f"output with shape {list(shape)} doesn't match the broadcast shape {list(found)}")


def infer_size(shape: Shape, size: int) -> Shape:
    """``shape`` with its -1, if any, replaced so that it has ``size`` elements.

    Raises RuntimeError for two -1, another negative size, or when the sizes do not fit.
    """
    if -1 not in shape:
        if math.prod(shape) != size or (shape and min(shape) < 0):
            _refuse(shape, size)
        return shape
    unknown = shape.index(-1)
    rest = shape[:unknown] + shape[unknown + 1 :]
    if -1 in rest:
        raise RuntimeError("only one dimension can be inferred")
    if rest and min(rest) < 0:
        _refuse(shape, size)
    known = math.prod(rest)
    if known == 0 and size == 0:
        raise RuntimeError(
            f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified "
            "dimension size -1 can be any value and is ambiguous"
        )
    if known == 0 or size % known:
        _refuse(shape, size)
    return (*shape[:unknown], size // known, *shape[unknown + 1 :])


def _refuse(shape: Shape, size: int) -> None:
    negative = [n for n in shape if n < -1]
    if negative:
        raise RuntimeError(f"invalid shape dimension {negative[0]}")
    raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")


def expanded(shape: Shape, strides: Shape, size: Shape) -> tuple[list[int], list[int]]:
    """What ``shape`` and ``strides`` become where they are broadcast to ``size``, in which -1 keeps a size.

    RuntimeError where they are not.
    """
    missing = len(size) - len(shape)
    if missing < 0:
        raise RuntimeError(
            f"the number of sizes provided ({len(size)}) must be greater or equal to the number of "
            f"dimensions in the tensor ({len(shape)})"
        )
    sizes, steps = list(size), [0] * len(size)
    for d in range(len(size) - 1, -1, -1):
        n = size[d]
        if d < missing:
            if n < 0:
                raise RuntimeError(
                    f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing "
                    f"dimension {d}"
                )
            if n == 1 and strides:
                steps[d] = sizes[d + 1] * steps[d + 1] if d + 1 < len(size) else 1
            continue
        have = shape[d - missing]
        if n == -1 or n == have:
            sizes[d], steps[d] = have, strides[d - missing]
        elif have != 1 or n < 0:
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({have}) at "
                f"non-singleton dimension {d}.  Target sizes: {list(size)}.  Tensor sizes: {list(shape)}"
            )
    return sizes, steps
