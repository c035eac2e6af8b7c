"""The accelerator, under PyTorch's names: the CUDA devices of CuPy where there are any, else none.

Without one ``is_available`` and ``device_count`` say so, the counts of memory are 0, and what needs a device
raises RuntimeError.
"""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from types import ModuleType
from typing import Any

from . import cuda
from .core.device import device as Device

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_available() -> bool:
    """Whether there is an accelerator."""
    return cuda.is_available()


def device_count() -> int:
    """How many devices there are; 0 without one."""
    return cuda.device_count()


def current_accelerator(check_available: bool = False) -> Device | None:
    """The kind of device; None where there is none, whether or not one is asked to check."""
    return Device("cuda") if cuda.is_available() else None


def _check() -> None:
    if not cuda.is_available():
        raise RuntimeError("Cannot access accelerator device when none is available.")


def current_device_index() -> int:
    """The number of this thread's device. RuntimeError where there is none."""
    _check()
    return cuda.current_device()


current_device_idx = current_device_index


def set_device_index(device: Any, /) -> None:
    """Make a device the current one of this thread. RuntimeError where there is none."""
    _check()
    cuda.set_device(device)


set_device_idx = set_device_index


class device_index(cuda.device):
    """Within ``with`` the device of this number is the current one; None changes nothing."""

    def __init__(self, device: int | None, /) -> None:
        if device is not None:
            _check()
        super().__init__(-1 if device is None else device)

    def __enter__(self) -> None:
        if self._given != -1:
            super().__enter__()

    def __exit__(self, *error: Any) -> None:
        if self._given != -1:
            super().__exit__(*error)


def current_stream(device: Any = None, /) -> cuda.Stream:
    """The stream that work goes to. RuntimeError where there is no device."""
    _check()
    return cuda.current_stream(device)


def set_stream(stream: cuda.Stream) -> None:
    """Send this thread's work to a stream. RuntimeError where there is no device."""
    _check()
    cuda.set_stream(stream)


def synchronize(device: Any = None, /) -> None:
    """Wait until a device has done all. RuntimeError where there is none."""
    _check()
    cuda.synchronize(device)


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a kind of device: ``tengen.cuda``; for None that of the accelerator, or ``tengen.cpu``.

    RuntimeError for a kind that has none.
    """
    chosen = current_accelerator() if device is None else Device(device)
    kind = "cpu" if chosen is None else chosen.type
    try:
        return import_module(f"tengen.{kind}")
    except ModuleNotFoundError:
        raise RuntimeError(f"no module tengen.{kind} tells of devices of this kind") from None


def empty_cache() -> None:
    """Give back the memory that no tensor uses. RuntimeError where there is no device."""
    _check()
    cuda.empty_cache()


def get_memory_info(device_index: Any = None, /) -> tuple[int, int]:
    """The free and all bytes of a device's memory. RuntimeError where there is none."""
    _check()
    return cuda.mem_get_info(device_index)


def memory_allocated(device_index: Any = None, /) -> int:
    """The bytes that tensors have on the device; 0 where there is none."""
    return cuda.memory_allocated(device_index)


def memory_reserved(device_index: Any = None, /) -> int:
    """The bytes that the device's pool has; 0 where there is none."""
    return cuda.memory_reserved(device_index)


def max_memory_allocated(device_index: Any = None, /) -> int:
    """The most bytes, as far as the pool keeps them; 0 where there is no device."""
    return cuda.max_memory_allocated(device_index)


def max_memory_reserved(device_index: Any = None, /) -> int:
    """The most bytes that the pool had; 0 where there is no device."""
    return cuda.max_memory_reserved(device_index)


def memory_stats(device_index: Any = None, /) -> OrderedDict[str, int]:
    """The bytes by PyTorch's keys; empty where there is no device."""
    return cuda.memory_stats(device_index)


def reset_peak_memory_stats(device_index: Any = None, /) -> None:
    """Nothing: the pool does not keep the most."""


def reset_accumulated_memory_stats(device_index: Any = None, /) -> None:
    """Nothing: the pool adds nothing up."""
