"""oneDNN, which no kernel uses. The switches can be set, and change no result."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from .switches import switched

__all__ = [
    "VERBOSE_OFF",
    "VERBOSE_ON",
    "allow_tf32",
    "deterministic",
    "enabled",
    "flags",
    "is_available",
    "set_flags",
    "verbose",
]


def __dir__() -> list[str]:
    return sorted(__all__)


VERBOSE_OFF = 0
VERBOSE_ON = 1
enabled = True
deterministic = False
allow_tf32 = True


def is_available() -> bool:
    """False: there is no such thing here."""
    return False


def set_flags(
    _enabled: bool | None = None, _deterministic: bool | None = None, _allow_tf32: bool | None = None
) -> tuple[bool, bool, bool]:
    """Set the switches that are not None, and return what all were."""
    global enabled, deterministic, allow_tf32
    before = (enabled, deterministic, allow_tf32)
    enabled = enabled if _enabled is None else _enabled
    deterministic = deterministic if _deterministic is None else _deterministic
    allow_tf32 = allow_tf32 if _allow_tf32 is None else _allow_tf32
    return before


def flags(
    enabled: bool = False, deterministic: bool = False, allow_tf32: bool = True
) -> AbstractContextManager[None]:
    """Within ``with`` the switches are these."""
    return switched(globals(), enabled=enabled, deterministic=deterministic, allow_tf32=allow_tf32)


class verbose(nullcontext[None]):
    """A context that changes nothing."""

    def __init__(self, level: int) -> None:
        super().__init__()
