"""Tensors on several devices: ``tengen.nn.parallel.comm``."""

from __future__ import annotations

from . import comm as comm

__all__ = [
    "comm",
]


def __dir__() -> list[str]:
    return sorted(__all__)
