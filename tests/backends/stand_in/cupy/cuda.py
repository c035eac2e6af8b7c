"""The stand-in's one device: all work is done at once, and a stream is never behind."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

#: DLPack's number of the kind of device.
KIND = 2
#: What is allocated is NumPy's, and not counted.
POOL = SimpleNamespace(used_bytes=lambda: 0, total_bytes=lambda: 0, free_all_blocks=lambda: None)
_MEMORY = 1 << 30


def _properties(index: int) -> dict[str, Any]:
    return {"name": b"a stand-in for a GPU", "major": 0, "minor": 0, "totalGlobalMem": _MEMORY}


runtime = SimpleNamespace(
    getDeviceCount=lambda: 1,
    getDeviceProperties=_properties,
    deviceCanAccessPeer=lambda device, peer: 0,
    memGetInfo=lambda: (_MEMORY, _MEMORY),
    runtimeGetVersion=lambda: 0,
    driverGetVersion=lambda: 0,
)


def is_available() -> bool:
    return True


class Device:
    """The device 0."""

    def __init__(self, device: int | None = None) -> None:
        self.id = device or 0

    def use(self) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *error: Any) -> None:
        pass


class Event:
    """A mark: the time of day."""

    done = True

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.seconds: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        self.seconds = time.perf_counter()

    def synchronize(self) -> None:
        pass


def get_elapsed_time(start_event: Event, end_event: Event) -> float:
    assert start_event.seconds is not None and end_event.seconds is not None
    return (end_event.seconds - start_event.seconds) * 1e3


class Stream:
    """A name for a queue that is always empty."""

    null: Stream
    done = True

    def __init__(self, null: bool = False, non_blocking: bool = False, ptds: bool = False) -> None:
        self.ptr = 0 if null else id(self)
        self._before: list[Stream] = []

    def use(self) -> Stream:
        _current.stream = self
        return self

    def synchronize(self) -> None:
        pass

    def wait_event(self, event: Event) -> None:
        pass

    def __enter__(self) -> Stream:
        self._before.append(get_current_stream())
        return self.use()

    def __exit__(self, *error: Any) -> None:
        self._before.pop().use()


Stream.null = Stream(null=True)
_current = threading.local()


def get_current_stream(device_id: int | None = None) -> Stream:
    found: Stream = getattr(_current, "stream", Stream.null)
    return found
