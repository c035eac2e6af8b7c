"""What belongs to no other module."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from . import checkpoint, dlpack, pytree

if _typing.TYPE_CHECKING:
    from . import (
        cpp_extension as cpp_extension,
        data as data,
        deterministic as deterministic,
        einops as einops,
        flop_counter as flop_counter,
        hooks as hooks,
        module_tracker as module_tracker,
        opt_einsum as opt_einsum,
        safetensors as safetensors,
        tensorboard as tensorboard,
    )
    from .swapping import swap_tensors as swap_tensors

__all__ = [
    "checkpoint",
    "data",
    "deterministic",
    "dlpack",
    "hooks",
    "pytree",
    "swap_tensors",
]

#: Those that are imported when they are first used.
_LATE = (
    "cpp_extension",
    "data",
    "deterministic",
    "einops",
    "flop_counter",
    "hooks",
    "module_tracker",
    "opt_einsum",
    "safetensors",
    "tensorboard",
)


def __dir__() -> list[str]:
    return sorted(__all__)


def _attribute(name: str) -> _typing.Any:
    """The modules that are imported when they are first used."""
    if name in _LATE:
        return _import_module(f"tengen.utils.{name}")
    if name == "swap_tensors":
        return _import_module("tengen.utils.swapping").swap_tensors
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not _typing.TYPE_CHECKING:  # a checker would believe that every name exists
    __getattr__ = _attribute
