"""Modules and tensors over several devices: ``DataParallel``, and ``tengen.nn.parallel.comm``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import comm as comm, scatter_gather as scatter_gather
from .scatter_gather import gather as gather, scatter as scatter

if TYPE_CHECKING:
    from .data_parallel import DataParallel as DataParallel, data_parallel as data_parallel
    from .distributed import DistributedDataParallel as DistributedDataParallel

_LAZY = {
    "DataParallel": "data_parallel",
    "DistributedDataParallel": "distributed",
    "data_parallel": "data_parallel",
}

__all__ = [*_LAZY, "comm", "gather", "scatter", "scatter_gather"]


def __getattr__(name: str) -> Any:
    """Its module has it, when it is asked for: a function takes the place of a module of its name."""
    if name in _LAZY:
        module = import_module(f"{__name__}.{_LAZY[name]}")
        globals().update({n: getattr(module, n) for n in module.__all__})
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
