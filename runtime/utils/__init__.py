"""What belongs to no other module."""

from __future__ import annotations

import typing as _typing
from importlib import import_module as _import_module

from . import checkpoint, dlpack, pytree

if _typing.TYPE_CHECKING:
    from . import data

__all__ = ["checkpoint", "data", "dlpack", "pytree"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _attribute(name: str) -> _typing.Any:
    """``data``, which is imported when it is first used."""
    if name == "data":
        return _import_module("tengen.utils.data")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


if not _typing.TYPE_CHECKING:  # a checker would believe that every name exists
    __getattr__ = _attribute
