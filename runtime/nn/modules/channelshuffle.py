"""Channels in another order."""

from __future__ import annotations

from tengen.generated.channelshuffle_modules import *  # noqa: F403
from tengen.generated.channelshuffle_modules import __all__ as _generated

__all__ = [*_generated]


def __dir__() -> list[str]:
    return sorted(__all__)
