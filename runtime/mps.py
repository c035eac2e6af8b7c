"""Apple's GPUs, which no backend serves: questions have PyTorch's answers of a machine without them."""

from __future__ import annotations

from typing import NoReturn

from .core.tensor_base import TensorBase

__all__ = [
    "current_allocated_memory",
    "device_count",
    "driver_allocated_memory",
    "empty_cache",
    "get_rng_state",
    "is_available",
    "manual_seed",
    "recommended_max_memory",
    "seed",
    "set_per_process_memory_fraction",
    "set_rng_state",
    "synchronize",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def is_available() -> bool:
    """False: there is no such thing here."""
    return False


def device_count() -> int:
    """0, for there is none."""
    return 0


def manual_seed(seed: int) -> None:
    """Nothing: there is no device whose generator could be seeded."""


def seed() -> None:
    """Nothing: there is no device whose generator could be seeded."""


def _absent(what: str) -> NoReturn:
    raise RuntimeError(f"Cannot execute {what}() without MPS backend.")


def get_rng_state(device: object = "mps") -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("get_rng_state")


def set_rng_state(new_state: TensorBase, device: object = "mps") -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("set_rng_state")


def synchronize() -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("synchronize")


def empty_cache() -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("empty_cache")


def set_per_process_memory_fraction(fraction: float) -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("set_per_process_memory_fraction")


def current_allocated_memory() -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("current_allocated_memory")


def driver_allocated_memory() -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("driver_allocated_memory")


def recommended_max_memory() -> NoReturn:
    """RuntimeError: there is no device."""
    _absent("recommended_max_memory")
