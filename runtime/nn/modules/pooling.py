"""Pooling, and its inverse."""

from __future__ import annotations

from tengen.generated.pooling_modules import *  # noqa: F403
from tengen.generated.pooling_modules import (
    __all__ as _generated,
    _AdaptiveAvgPoolNd as _AdaptiveAvgPoolNd,
    _AdaptiveMaxPoolNd as _AdaptiveMaxPoolNd,
    _AvgPoolNd as _AvgPoolNd,
    _LPPoolNd as _LPPoolNd,
    _MaxPoolNd as _MaxPoolNd,
    _MaxUnpoolNd as _MaxUnpoolNd,
)

__all__ = [*_generated]


def __dir__() -> list[str]:
    return sorted(__all__)
