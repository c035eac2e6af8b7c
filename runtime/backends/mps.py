"""Apple's GPUs, which no backend serves."""

from __future__ import annotations

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_built() -> bool:
    """False: there is no such thing here."""
    return False


def is_available() -> bool:
    """False: there is no such thing here."""
    return False


def is_macos_or_newer(major: int, minor: int) -> bool:
    """False: no Apple GPU is used on any system."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """False: no Apple GPU is used on any system."""
    return False
