"""``tengen.optim.swa_utils``: averages of a model's parameters over training, and a schedule for it."""

from __future__ import annotations

from .averages import get_ema_avg_fn, get_ema_multi_avg_fn, get_swa_avg_fn, get_swa_multi_avg_fn
from .model import AveragedModel, update_bn
from .schedule import SWALR

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def __dir__() -> list[str]:
    return sorted(__all__)
