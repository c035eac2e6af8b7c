"""The checks of hyperparameters that optimisers share."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor


def check_rate(lr: Any) -> None:
    """Raise ValueError for a learning rate that is negative, or a tensor of several elements."""
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    check_not_negative("learning rate", lr)


def check_not_negative(what: str, value: Any) -> None:
    """Raise ValueError for a negative number, and for NaN."""
    if not value >= 0.0:
        raise ValueError(f"Invalid {what}: {value}")


def check_betas(betas: Any) -> None:
    """Raise ValueError for a decay rate outside of [0, 1)."""
    for index in range(2):
        if not 0.0 <= betas[index] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {index}: {betas[index]}")


def check_moments(eps: Any, betas: Any, weight_decay: Any) -> None:
    """Raise ValueError for what is out of range among the hyperparameters of Adam and its kind."""
    check_not_negative("epsilon value", eps)
    check_betas(betas)
    check_not_negative("weight_decay value", weight_decay)
