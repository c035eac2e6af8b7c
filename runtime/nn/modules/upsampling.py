"""Images in another size."""

from __future__ import annotations

from tengen.generated.upsampling_modules import *  # noqa: F403
from tengen.generated.upsampling_modules import __all__ as _generated

__all__ = [*_generated]


def __dir__() -> list[str]:
    return sorted(__all__)
