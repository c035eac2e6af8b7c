"""Channels as pixels, and back."""

from __future__ import annotations

from tengen.generated.pixelshuffle_modules import *  # noqa: F403
from tengen.generated.pixelshuffle_modules import __all__ as _generated

__all__ = [*_generated]


def __dir__() -> list[str]:
    return sorted(__all__)
