"""Derivatives of sampling on grids: samples whose weights are derivatives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def _raised(orders: Sequence[int]) -> Iterator[tuple[int, tuple[int, ...]]]:
    """For each coordinate of a grid, the last dim of the image first, the orders of the derivative by it."""
    for coordinate, d in enumerate(reversed(range(len(orders)))):
        yield coordinate, tuple([order + (place == d) for place, order in enumerate(orders)])


def grid_sample_gradient(
    grad: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Tensor:
    """The gradient of the points: of each coordinate the slopes of all channels, times ``grad``."""
    slopes = [F._grid_sample(input, grid, mode, padding, align_corners, o) for _, o in _raised(orders)]
    return F.stack([(grad * slope).sum(-1 - len(orders)) for slope in slopes], -1)


def grid_sample_jvp(
    grid_t: Tensor,
    input: Tensor,
    grid: Tensor,
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Tensor:
    """What the values change by, as the points do."""
    if not grid_t.numel():
        return F._grid_sample(input, grid, mode, padding, align_corners, orders)
    parts = [
        F._grid_sample(input, grid, mode, padding, align_corners, raised)
        * _of_channels(grid_t, coordinate, orders)
        for coordinate, raised in _raised(orders)
    ]
    return F.stack(parts).sum(0)


def grid_sample_backward_jvp(
    grid_t: Tensor,
    grad: Tensor,
    grid: Tensor,
    input_size: Sequence[int],
    mode: int,
    padding: int,
    align_corners: bool,
    orders: Sequence[int],
) -> Tensor:
    """What a gradient of images changes by, as the points do."""
    if not grid_t.numel():
        return F._grid_sample_backward(grad, grid, input_size, mode, padding, align_corners, orders)
    parts = [
        F._grid_sample_backward(
            grad * _of_channels(grid_t, coordinate, orders),
            grid,
            input_size,
            mode,
            padding,
            align_corners,
            raised,
        )
        for coordinate, raised in _raised(orders)
    ]
    return F.stack(parts).sum(0)


def _of_channels(grid_t: Tensor, coordinate: int, orders: Sequence[int]) -> Tensor:
    """A coordinate of points, which all channels have in common."""
    return grid_t.select(-1, coordinate).unsqueeze(-1 - len(orders))
