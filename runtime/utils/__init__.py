"""What belongs to no other module."""

from __future__ import annotations

from . import checkpoint, dlpack, pytree

__all__ = ["checkpoint", "dlpack", "pytree"]


def __dir__() -> list[str]:
    return sorted(__all__)
