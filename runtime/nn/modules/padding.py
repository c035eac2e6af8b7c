"""Inputs continued at their ends."""

from __future__ import annotations

from tengen.generated.padding_modules import *  # noqa: F403
from tengen.generated.padding_modules import (
    __all__ as _generated,
    _CircularPadNd as _CircularPadNd,
    _ConstantPadNd as _ConstantPadNd,
    _ReflectionPadNd as _ReflectionPadNd,
    _ReplicationPadNd as _ReplicationPadNd,
)

__all__ = [*_generated]


def __dir__() -> list[str]:
    return sorted(__all__)
