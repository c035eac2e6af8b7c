"""Losses."""

from __future__ import annotations

from tengen.generated.loss_modules import *  # noqa: F403
from tengen.generated.loss_modules import __all__ as _generated

from .fused_loss import (
    LinearCrossEntropyLoss as LinearCrossEntropyLoss,
    LinearCrossEntropyOptions as LinearCrossEntropyOptions,
)
from .loss_base import Loss as _Loss, WeightedLoss as _WeightedLoss  # noqa: F401

__all__ = [*_generated, "LinearCrossEntropyLoss", "LinearCrossEntropyOptions"]


def __dir__() -> list[str]:
    return sorted(__all__)
