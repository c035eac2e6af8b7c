"""``tengen.profiler``: profiles of loops, by a schedule, with names as in ``torch.profiler``."""

from __future__ import annotations

from ..autograd.profiler import DeviceType, _ExperimentalConfig, record_function
from .profiler import (
    ProfilerActivity,
    kineto_available,
    profile,
    supported_activities,
    tensorboard_trace_handler,
)
from .schedule import ProfilerAction, schedule

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "_ExperimentalConfig",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


def __dir__() -> list[str]:
    return sorted(__all__)
