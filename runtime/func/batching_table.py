"""What generated/batching.py makes its table of: every kind of batching rule."""

from __future__ import annotations

from .batching_random import Random, Sized
from .batching_rules import (
    Become,
    Broadcast,
    Cases,
    Decompose,
    Fold,
    Leading,
    Loss,
    Physical,
    Pointwise,
    Reduction,
    Refuse,
)

__all__ = [
    "Become",
    "Broadcast",
    "Cases",
    "Decompose",
    "Fold",
    "Leading",
    "Loss",
    "Physical",
    "Pointwise",
    "Random",
    "Reduction",
    "Refuse",
    "Sized",
]
