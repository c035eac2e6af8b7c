"""The layouts of results, where they are not as kernels make them: the words of ``layout`` in declarations.

Each function gives the array itself where its strides are right (those of dimensions of size 1 do not
matter), else a copy, so that what a view of a result may be is as in PyTorch.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ..kernels.layout import (
    channels_last_strides,
    contiguous_strides,
    may_overlap,
    operand_strides,
    preserved_strides,
    stands_channels_last,
)

Shape = tuple[int, ...]


def contiguous(lib: Any, array: Any) -> Any:
    """In row-major order."""
    return lib.contiguous(array)


def column_major(lib: Any, array: Any) -> Any:
    """Matrices column by column, as LAPACK has them; what is before them in row-major order."""
    shape = array.shape
    strides = contiguous_strides((*shape[:-2], shape[-1], shape[-2]))
    return _laid_out(lib, array, (*strides[:-2], strides[-1], strides[-2]))


def like(lib: Any, array: Any, *operands: Any) -> Any:
    """Dense, its dimensions in the order of the operands': the first one that has an order decides."""
    shape = array.shape
    if len(shape) < 2:
        return array
    given = tuple([(a.shape, lib.strides(a)) for a in operands if a is not None])
    strides = _like_operands(shape, given)
    return array if strides is None else _laid_out(lib, array, strides)


@lru_cache(1024)
def _like_operands(shape: Shape, given: tuple[tuple[Shape, Shape], ...]) -> Shape | None:
    """The strides of a result like operands of these shapes and strides; None where it has too few dims."""
    if any([len(sizes) > len(shape) for sizes, _ in given]):
        return None
    return operand_strides(shape, given)


def strided_as(lib: Any, array: Any, operand: Any) -> Any:
    """With the very strides of the operand, also where these leave gaps; dense where its elements overlap."""
    shape, strides = array.shape, lib.strides(operand)
    if may_overlap(shape, strides):
        strides = preserved_strides(shape, strides)
    return _laid_out(lib, array, strides)


def channels_last(lib: Any, array: Any, *operands: Any) -> Any:
    """The second dimension innermost where that is so of an operand, images or volumes; else row-major.

    The strides of dimensions of size 1 matter here: by them an image of one element stands so or not.
    """
    for a in operands:
        strides = _channels_last(array.shape, a.shape, lib.strides(a))
        if strides is not None:
            laid_out = _laid_out(lib, array, strides)
            if lib.strides(laid_out) == strides or 0 in array.shape:
                return laid_out
            return lib.as_strided(laid_out, array.shape, strides, lib.storage_offset(laid_out))
    return lib.contiguous(array)


@lru_cache(1024)
def _channels_last(shape: Shape, sizes: Shape, strides: Shape) -> Shape | None:
    """The strides of a result of this shape where those of an operand are channels-last, else None."""
    if len(shape) != len(sizes) or not stands_channels_last(sizes, strides):
        return None
    return channels_last_strides(shape)


def contiguous_or_channels_last(lib: Any, array: Any, operand: Any) -> Any:
    """As ``channels_last``, but in row-major order where the operand can be read as being so."""
    if lib.is_contiguous(operand):
        return lib.contiguous(array)
    return channels_last(lib, array, operand)


def _laid_out(lib: Any, array: Any, strides: Shape) -> Any:
    shape = array.shape
    has = lib.strides(array)
    if has == strides or 0 in shape:
        return array
    for n, wanted, found in zip(shape, strides, has, strict=True):
        if n != 1 and wanted != found:
            break
    else:
        return array
    fresh = lib.empty_strided(shape, strides, array.dtype)
    lib.copyto(fresh, array)
    return fresh
