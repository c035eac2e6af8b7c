"""Stand-ins for names of PyTorch's that are not available: programs import them, and may never use them."""

from __future__ import annotations

from typing import Any, NoReturn


class Absent(type):
    """The class of a stand-in: RuntimeError with its ``reason`` for who calls it, or what it has.

    ``isinstance`` of one is False, it can be a base class, and what it has can be named.
    """

    reason: str

    def __call__(cls, *args: Any, **keywords: Any) -> NoReturn:
        raise RuntimeError(f"{cls.__module__}.{cls.__qualname__} is not available: {cls.reason}")

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return absent(f"{cls.__module__}.{cls.__qualname__}", name, cls.reason)


def absent(module: str, name: str, reason: str) -> type:
    """The stand-in for a name of a module."""
    return Absent(name, (), {"__module__": module, "reason": reason})
