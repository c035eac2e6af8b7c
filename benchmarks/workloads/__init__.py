"""What is timed: the rows of the table in README.md, by subject."""

from __future__ import annotations

from .kernels import KERNELS
from .large import LARGE
from .layers import LAYERS
from .overhead import OVERHEAD
from .rows import ROW_WISE
from .small import SMALL
from .training import TRAINING
from .workload import Workload

WORKLOADS: tuple[Workload, ...] = (
    *OVERHEAD,
    *SMALL,
    *TRAINING,
    *LAYERS,
    *LARGE,
    *KERNELS,
    *ROW_WISE,
)

__all__ = ["WORKLOADS", "Workload"]
