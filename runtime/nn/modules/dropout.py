"""Dropout."""

from __future__ import annotations

from tengen.generated.dropout_modules import *  # noqa: F403
from tengen.generated.dropout_modules import (
    __all__ as _generated,
    _DropoutNd as _DropoutNd,
)

__all__ = [*_generated]


def __dir__() -> list[str]:
    return sorted(__all__)
