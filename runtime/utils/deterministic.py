"""What is done for programs that ask for deterministic operators (``use_deterministic_algorithms``)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

from ..kernels.uninitialized import NewMemory

__all__ = ["fill_uninitialized_memory"]


class _Deterministic(ModuleType):
    """This module, with its switch."""

    @property
    def fill_uninitialized_memory(self) -> bool:
        """Whether memory that nobody has written is filled, in deterministic mode: True at first.

        RuntimeError if it is set to no bool.
        """
        return NewMemory.fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise RuntimeError(
                f"fill_uninitialized_memory: expected a bool, but got {type(mode).__name__} ({mode!r})"
            )
        NewMemory.fill = mode


if TYPE_CHECKING:
    fill_uninitialized_memory: bool
else:
    sys.modules[__name__].__class__ = _Deterministic
