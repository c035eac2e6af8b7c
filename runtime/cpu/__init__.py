"""The CPU as a device, under PyTorch's names: there is one, and its work is done when a call returns."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from typing import Any

from ..core.device import default_device

__all__ = [
    "Event",
    "Stream",
    "StreamContext",
    "current_device",
    "current_stream",
    "device_count",
    "is_available",
    "is_initialized",
    "set_device",
    "stream",
    "synchronize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """``tengen.cpu.amp``, when it is first used."""
    if name == "amp":
        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def is_available() -> bool:
    """True: it is always there."""
    return True


def is_initialized() -> bool:
    """True: it is always there."""
    return True


def device_count() -> int:
    """1, for there is one."""
    return 1


def current_device() -> str:
    """The name of the one device."""
    return default_device.type


def set_device(device: Any) -> None:
    """Nothing: there is one."""


def synchronize(device: Any = None) -> None:
    """Nothing: what was called is done."""


class Stream:
    """The order of work, of which there is one."""

    def __init__(self, priority: int = -1) -> None:
        pass

    def wait_stream(self, stream: Stream) -> None:
        """Nothing: work is done in the order of the calls."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event, behind the work so far."""
        return Event() if event is None else event

    def wait_event(self, event: Event) -> None:
        """Nothing: what came before is done."""

    def synchronize(self) -> None:
        """Nothing: what was called is done."""


class Event:
    """A mark in the order of work, which has always been reached."""

    def query(self) -> bool:
        """True: it is always there."""
        return True

    def record(self, stream: Stream | None = None) -> None:
        """Nothing: what was called is done."""

    def synchronize(self) -> None:
        """Nothing: what was called is done."""

    def wait(self, stream: Stream | None = None) -> None:
        """Nothing: what was called is done."""


_current = Stream()


def current_stream(device: Any = None) -> Stream:
    """The one stream."""
    return _current


class StreamContext(nullcontext[None]):
    """A context that changes nothing."""

    def __init__(self, stream: Stream | None) -> None:
        super().__init__()


def stream(stream: Stream | None) -> AbstractContextManager[None]:
    """A context that changes nothing."""
    return StreamContext(stream)
