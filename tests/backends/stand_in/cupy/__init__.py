"""A stand-in for CuPy over NumPy: with its folder in PYTHONPATH the device ``cuda`` is there without a GPU.

It has CuPy's names as far as tengen uses them, and lacks what CuPy lacks: what is tested over it is the
backend's glue, not CuPy, and no GPU.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from . import cuda as cuda

__version__ = "stand-in"
#: What CuPy 14 has not of NumPy.
LACKS = frozenset({"vecdot", "unstack", "__array_namespace_info__", "bfloat16"})


class ndarray(np.ndarray[Any, Any]):
    """CuPy's arrays: results of functions are arrays, never scalars."""

    @property
    def data(self) -> Any:  # type: ignore[override]
        return SimpleNamespace(ptr=self.ctypes.data)

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        return array.view(ndarray)

    def __getitem__(self, key: Any) -> Any:
        return _device(super().__getitem__(key))

    def __dlpack_device__(self) -> tuple[int, int]:
        return cuda.KIND, 0


def _device(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)([_device(v) for v in value]) if type(value) in (tuple, list) else value
    return np.asarray(value).view(ndarray) if isinstance(value, np.ndarray | np.generic) else value


def __getattr__(name: str) -> Any:
    if name in LACKS or name.startswith("__"):
        raise AttributeError(f"module 'cupy' has no attribute {name!r}")
    found = getattr(np, name)
    if not callable(found) or isinstance(found, type):
        return found
    return lambda *arguments, **options: _device(found(*arguments, **options))


def sort(a: Any, axis: int = -1, kind: str | None = None) -> Any:
    return _device(np.sort(a, axis, kind="stable"))


def argsort(a: Any, axis: int = -1, kind: str | None = None) -> Any:
    return _device(np.argsort(a, axis, kind="stable"))


def asnumpy(a: Any) -> Any:
    return np.array(a).view(np.ndarray)


class _Host:
    """An exporter that says that its memory is the host's, as it is."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **options: Any) -> Any:
        return self.source.__dlpack__(max_version=(1, 0))  # else NumPy takes it to be read-only


def from_dlpack(source: Any) -> Any:
    return _device(np.from_dlpack(_Host(source)))


def get_default_memory_pool() -> Any:
    return cuda.POOL
