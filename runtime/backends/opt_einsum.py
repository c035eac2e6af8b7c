"""The package opt_einsum, which would choose the order of products in ``einsum``."""

from __future__ import annotations

__all__ = ["enabled", "get_opt_einsum", "is_available", "strategy"]


def __dir__() -> list[str]:
    return sorted(__all__)


enabled = False
strategy: str | None = None


def is_available() -> bool:
    """False: ``einsum`` multiplies from left to right."""
    return False


def get_opt_einsum() -> None:
    """None: ``einsum`` does not use it."""
