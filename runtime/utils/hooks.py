"""What ``register_hook`` and its like return."""

from __future__ import annotations

from ..autograd.hooks import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]


def __dir__() -> list[str]:
    return sorted(__all__)
