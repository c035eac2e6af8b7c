"""How histograms are batched: their edges and their counts are operators of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..kernels.histograms import checked_weight

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def histogramdd_from_bin_cts_by_edges(
    self: Tensor, bins: Sequence[int], range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> Tensor:
    """The counts between the edges of equal parts."""
    edges = F._histogramdd_bin_edges(self, bins, range=range)
    return F._histogramdd_from_bin_tensors(self, edges, weight=weight, density=density)


def histogram_by_count_of_points(
    self: Tensor, bins: int, range: Sequence[float] | None, weight: Tensor | None, density: bool
) -> tuple[Tensor, Tensor]:
    """The histogram of elements as that of points with one coordinate, and its edges."""
    (edges,) = F._histogramdd_bin_edges(self.reshape(-1, 1), (bins,), range=range)
    return histogram_by_edges_of_points(self, edges, weight, density)


def histogram_by_edges_of_points(
    self: Tensor, bins: Tensor, weight: Tensor | None, density: bool
) -> tuple[Tensor, Tensor]:
    """As ``histogram_by_count_of_points``, between the given edges."""
    points, weights = self.reshape(-1, 1), checked_weight(self, weight)
    return F._histogramdd_from_bin_tensors(points, [bins], weight=weights, density=density), bins.clone()
