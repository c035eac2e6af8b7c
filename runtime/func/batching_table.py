"""What generated/batching.py makes its table of: every kind of batching rule."""

from __future__ import annotations

from .batching_random import BatchedSize, Random
from .batching_rules import (
    Become,
    Broadcast,
    Cases,
    Decompose,
    Fold,
    Leading,
    Loss,
    PhysicalFunction,
    Pointwise,
    Reduction,
    Refuse,
)

__all__ = [
    "BatchedSize",
    "Become",
    "Broadcast",
    "Cases",
    "Decompose",
    "Fold",
    "Leading",
    "Loss",
    "PhysicalFunction",
    "Pointwise",
    "Random",
    "Reduction",
    "Refuse",
]
