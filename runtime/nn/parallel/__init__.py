"""Modules and tensors over several devices: ``DataParallel``, and ``tengen.nn.parallel.comm``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from . import comm as comm

if TYPE_CHECKING:
    from .data_parallel import (
        DataParallel as DataParallel,
        DistributedDataParallel as DistributedDataParallel,
        data_parallel as data_parallel,
    )

__all__ = ["DataParallel", "DistributedDataParallel", "comm", "data_parallel"]


def __getattr__(name: str) -> Any:
    """What data_parallel.py has, when it is asked for: the function takes the place of the module."""
    if name in __all__:
        module = import_module(f"{__name__}.data_parallel")
        globals().update({n: getattr(module, n) for n in module.__all__})
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
