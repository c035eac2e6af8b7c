"""Views: elements of a buffer by sizes, strides and an offset. No view is a node of a program."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

Shape = tuple[int, ...]


def contiguous(shape: Sequence[int]) -> Shape:
    """The strides of elements that follow each other, the last dim fastest."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= size
    return tuple(reversed(strides))


def without_ones(shape: Sequence[int]) -> Shape:
    """The sizes of the dims that have more than one place, or none."""
    return tuple([size for size in shape if size != 1])


def reshaped(shape: Shape, strides: Shape, new: Shape) -> Shape | None:
    """The strides of the same elements in order under another shape; None where no strides have them so."""
    if prod(shape) <= 1 or strides == contiguous(shape):
        return contiguous(new)
    # Runs of dims that lie in each other, as one dim each: the size of it, and the last stride.
    runs: list[tuple[int, int]] = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if runs and runs[-1][1] == stride * size:
            runs[-1] = runs[-1][0] * size, stride
        else:
            runs.append((size, stride))
    found: list[int] = []
    left, stride = runs.pop()
    for size in reversed(new):
        if size == 1:
            found.append(0)
            continue
        if left == 1 and runs:
            left, stride = runs.pop()
        if left % size:
            return None
        found.append(stride)
        left //= size
        stride *= size
    return tuple(reversed(found))


def merged(extents: Shape, accesses: Sequence[Shape]) -> list[tuple[int, tuple[int, ...]]]:
    """Loops of these extents as fewer: those that all accesses go through as through one.

    Each has its extent, and the numbers of the loops that it stands for.
    """
    found: list[tuple[int, tuple[int, ...]]] = []
    for axis, extent in enumerate(extents):
        if found:
            size, axes = found[-1]
            if all([strides[axes[-1]] == strides[axis] * extent for strides in accesses]):
                found[-1] = size * extent, (*axes, axis)
                continue
        found.append((extent, (axis,)))
    return found
