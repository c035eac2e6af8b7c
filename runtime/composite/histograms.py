"""Histograms of points, which are made of their edges and their counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Histogram = tuple["Tensor", tuple["Tensor", ...]]


def histogramdd(
    self: Tensor,
    bins: Sequence[int],
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """The counts in ``bins`` equal parts along each coordinate, and the edges of these."""
    edges = F._histogramdd_bin_edges(self, bins, range=range, weight=weight, density=density)
    hist = F._histogramdd_from_bin_cts(self, bins, range=range, weight=weight, density=density)
    return hist, tuple(edges)


def histogramdd_int_bins(
    self: Tensor,
    bins: int,
    range: Sequence[float] | None = None,
    weight: Tensor | None = None,
    density: bool = False,
) -> Histogram:
    """``histogramdd`` with one number for all coordinates."""
    return histogramdd(self, (bins,) * self.size(-1), range, weight, density)
