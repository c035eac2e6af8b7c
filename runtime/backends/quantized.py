"""Engines of quantised kernels, of which there are none."""

from __future__ import annotations

__all__ = ["engine", "supported_engines"]


def __dir__() -> list[str]:
    return sorted(__all__)


engine = "none"
supported_engines: list[str] = ["none"]
