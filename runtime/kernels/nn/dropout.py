"""Dropout: elements set to zero at random, the others scaled up."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..index_checks import check_mask
from ..random import source
from .common import Array

Mask = Any


def native_dropout(input: Array, p: float, train: bool | None) -> tuple[Array, Array]:
    """The input with each element kept with probability ``1 - p`` and divided by it; and which were kept.

    Raises RuntimeError unless p is in [0, 1].
    """
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    if train is False or p == 0:
        return input.copy(), np.ones(input.shape, np.bool_)
    if p == 1:
        return np.zeros(input.shape, input.dtype), np.zeros(input.shape, np.bool_)
    kept = source(None).random(input.shape, np.float32) >= p
    out = input * kept
    out *= 1 / (1 - p)
    return out, kept


def dropout_mask(mask: Array, dtype: np.dtype[Any]) -> Mask:
    """Which elements were kept: 1 and 0 to NumPy, of any dtype. RuntimeError unless it is bool."""
    return check_mask(mask)
