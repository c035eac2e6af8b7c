"""``tengen.optim.lr_scheduler``: schedules of learning rates, with PyTorch's names."""

from __future__ import annotations

from tengen.optim.lr_scheduler.combined import ChainedScheduler, SequentialLR
from tengen.optim.lr_scheduler.cosine import CosineAnnealingLR, CosineAnnealingWarmRestarts
from tengen.optim.lr_scheduler.cyclic import CyclicLR
from tengen.optim.lr_scheduler.decay import (
    ConstantLR,
    ExponentialLR,
    LinearLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from tengen.optim.lr_scheduler.lambdas import LambdaLR, MultiplicativeLR
from tengen.optim.lr_scheduler.one_cycle import OneCycleLR
from tengen.optim.lr_scheduler.plateau import ReduceLROnPlateau
from tengen.optim.lr_scheduler.scheduler import LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

_LRScheduler = LRScheduler
