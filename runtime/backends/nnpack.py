"""NNPACK, which no kernel uses."""

from __future__ import annotations

from contextlib import nullcontext

__all__ = ["flags", "is_available", "set_flags"]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_available() -> bool:
    """False: there is no such thing here."""
    return False


def set_flags(_enabled: bool) -> tuple[bool]:
    """Change nothing, and return that it is not used."""
    return (False,)


class flags(nullcontext[None]):
    """A context that changes nothing."""

    def __init__(self, enabled: bool = False) -> None:
        super().__init__()
