"""Sampling of images at the points of grids, and its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from ..nn import grid_taps as host
from .common import Array
from .indexing import check_gather, check_scatter, gather_along, scatter_along


def _taps(
    xp: Any,
    grid: Array,
    sizes: Sequence[int],
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> tuple[list[host.Tap], list[host.Tap]] | None:
    """The rows and the columns of the points; None where so many derivatives are zero."""
    if max(orders) > host.DEGREES[mode]:
        return None
    dims = len(sizes)
    shape = (prod(grid.shape[: -dims - 1]), 1, prod(grid.shape[-dims - 1 : -1]))
    axes = host.axes_of(sizes, padding, align_corners, orders)
    along = [xp.reshape(grid[..., dims - 1 - d], shape) for d in range(dims)]
    return host.rows_and_columns(
        xp, [host.taps(xp, x, axis, mode) for x, axis in zip(along, axes, strict=True)]
    )


def grid_sample(
    xp: Any,
    input: Array,
    grid: Array,
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Array:
    """The values of images at points, or their derivatives by the coordinates: ``orders`` says which."""
    dims = len(orders)
    sizes = tuple(input.shape[-dims:])
    shape = (*input.shape[:-dims], *grid.shape[-dims - 1 : -1])
    found = _taps(xp, grid, sizes, mode, padding, align_corners, orders)
    if found is None:
        return xp.zeros(shape, dtype=input.dtype)
    lead = tuple(input.shape[: -dims - 1])
    image = xp.reshape(input, (prod(lead), input.shape[-dims - 1], prod(sizes)))
    return xp.reshape(host.sample(xp, partial(gather_along, xp, check_gather), image, *found), shape)


def grid_sample_backward(
    xp: Any,
    grad_output: Array,
    grid: Array,
    input_size: Sequence[int],
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Array:
    """What reaches images with the last sizes of ``input_size`` of a gradient of the values at points."""
    dims = len(orders)
    input_size = tuple(input_size[-dims:])
    lead, channels = tuple(grad_output.shape[: -dims - 1]), grad_output.shape[-dims - 1]
    shape = (*lead, channels, *input_size)
    out = xp.zeros((prod(lead), channels, prod(input_size)), dtype=grad_output.dtype)
    found = _taps(xp, grid, input_size, mode, padding, align_corners, orders)
    if found is None:
        return xp.reshape(out, shape)
    grad = xp.reshape(grad_output, (prod(lead), channels, prod(grad_output.shape[-dims:])))
    return xp.reshape(
        host.spread(xp, partial(scatter_along, xp, check_scatter, fold="sum"), grad, out, *found), shape
    )
