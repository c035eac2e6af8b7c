"""Shapes of histograms; arguments are checked as far as that needs no data."""

from __future__ import annotations

from collections.abc import Sequence

from ..histograms import check_bins, check_edges
from .array import MetaArray


def meta_histogramdd_bin_edges(self: MetaArray, bins: Sequence[int]) -> list[MetaArray]:
    """The edges of so many bins along each coordinate."""
    return [MetaArray((n + 1,), self.dtype) for n in check_bins(self.shape, bins)]


def meta_histogramdd_from_bin_cts(self: MetaArray, bins: Sequence[int]) -> MetaArray:
    """The counts in so many bins along each coordinate."""
    return MetaArray(check_bins(self.shape, bins), self.dtype)


def meta_histogramdd_from_bin_tensors(self: MetaArray, bins: Sequence[MetaArray]) -> MetaArray:
    """The counts between edges."""
    return MetaArray(check_edges(self.shape, self.dtype, bins), self.dtype)


def meta_histogram_by_count(self: MetaArray, bins: int) -> tuple[MetaArray, MetaArray]:
    """The counts in equal parts, and the edges of these."""
    shape = check_bins((self.size, 1), (bins,))
    return MetaArray(shape, self.dtype), MetaArray((bins + 1,), self.dtype)


def meta_histogram_by_edges(self: MetaArray, bins: MetaArray) -> tuple[MetaArray, MetaArray]:
    """The counts between edges, and these."""
    shape = check_edges((self.size, 1), self.dtype, [bins])
    return MetaArray(shape, self.dtype), MetaArray(bins.shape, bins.dtype)
