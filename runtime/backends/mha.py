"""The fast path of attention modules in inference."""

from __future__ import annotations

__all__ = ["get_fastpath_enabled", "set_fastpath_enabled"]


def __dir__() -> list[str]:
    return sorted(__all__)


_enabled = True


def get_fastpath_enabled() -> bool:
    """What ``set_fastpath_enabled`` was given."""
    return _enabled


def set_fastpath_enabled(value: bool) -> None:
    """Keep the switch, which changes no result."""
    global _enabled
    _enabled = value
