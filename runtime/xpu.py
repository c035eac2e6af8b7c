"""Intel's GPUs, which no backend serves: questions have PyTorch's answers of a build without them."""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "get_device_properties",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_available() -> bool:
    """False: there is no such thing here."""
    return False


def is_initialized() -> bool:
    """False: there is no such thing here."""
    return False


def is_current_stream_capturing() -> bool:
    """False: there is no stream."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no such thing here."""
    return False


def device_count() -> int:
    """0, for there is none."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no device whose generator could be seeded."""


def manual_seed_all(seed: int) -> None:
    """Nothing: there is no device whose generator could be seeded."""


def empty_cache() -> None:
    """Nothing: there is no memory of such a device."""


def _absent() -> NoReturn:
    raise AssertionError("Torch not compiled with XPU enabled")


def current_device() -> NoReturn:
    """AssertionError: there is no device."""
    _absent()


def set_device(device: Any) -> NoReturn:
    """AssertionError: there is no device."""
    _absent()


def get_device_name(device: Any = None) -> NoReturn:
    """AssertionError: there is no device."""
    _absent()


def get_device_properties(device: Any = None) -> NoReturn:
    """AssertionError: there is no device."""
    _absent()


def synchronize(device: Any = None) -> NoReturn:
    """AssertionError: there is no device."""
    _absent()
