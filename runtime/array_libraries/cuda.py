"""The backend CUDA: tensors over ``cupy.ndarray``, on the device ``cuda``. Not run on a GPU yet.

Where there is no GPU, or no driver, all but the import is PyTorch's error of a build without CUDA.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import cupy
import numpy as np

from ..core.scalar_type import dtype
from .library import ArrayLibrary, Namespace, along

#: DLPack's number of the kind of device.
_KIND = 2


class CudaNamespace(Namespace):
    """``cupy``, and what it lacks of the standard."""

    propagates_nan = True

    def _own(self, name: str) -> Any:
        """A function of CuPy's; AssertionError where it had nothing to run on."""
        if not cupy.cuda.is_available():
            raise AssertionError("Torch not compiled with CUDA enabled")
        return super()._own(name)

    def var(self, array: Any, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
        return cupy.var(array, axis=axis, ddof=correction, keepdims=keepdims)

    def vecdot(self, x1: Any, x2: Any, *, axis: int = -1) -> Any:
        return (self.conj(x1) * x2).sum(axis=axis)

    def unstack(self, array: Any, *, axis: int = 0) -> tuple[Any, ...]:
        return tuple(self.moveaxis(array, axis, 0))

    def sort(self, array: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        rows = cupy.sort(array, axis=axis)
        return cupy.flip(rows, axis) if descending else rows

    def argsort(self, array: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        if not descending:
            return cupy.argsort(array, axis=axis, kind="stable")
        # That equal elements keep their order, the last of the rows backwards comes first.
        backwards = cupy.argsort(cupy.flip(array, axis), axis=axis, kind="stable")
        return cupy.flip(array.shape[axis] - 1 - backwards, axis)

    def special(self, name: str) -> Callable[..., Any]:
        its: Callable[..., Any] | None = getattr(import_module("cupyx.scipy.special"), name, None)
        return super().special(name) if its is None else its

    def scatter(self, array: Any, places: Any, values: Any, how: str = "set", axis: int = 0) -> Any:
        if how == "mul":  # which CuPy has not
            return super().scatter(array, places, values, how, axis)
        result, key = array.copy(), along(axis, places)
        if how == "set":
            result[key] = values
        else:
            getattr(import_module("cupyx"), f"scatter_{how}")(result, key, values)
        return result

    def to_host(self, array: Any) -> Any:
        return cupy.asnumpy(array) if isinstance(array, cupy.ndarray) else array

    def from_host(self, array: Any) -> Any:
        return self.asarray(np.array(array))


class CudaLibrary(ArrayLibrary):
    """``cupy`` as a backend's library. Its dtypes are NumPy's."""

    def __init__(self) -> None:
        self.xp = CudaNamespace(cupy)
        self.name = cupy.__name__
        found = dict.fromkeys(dtype.registry.values())
        self.dtypes = {each.array_dtype: each.array_dtype for each in found if hasattr(cupy, each.name)}

    @property
    def dlpack_device(self) -> tuple[int, int]:  # type: ignore[override]
        """The device that is current."""
        return _KIND, cupy.cuda.Device().id

    def from_dlpack(self, source: Any) -> Any:
        """An array over the memory of another library's, without a copy."""
        return cupy.from_dlpack(source)

    def data_ptr(self, a: Any) -> int:
        return int(a.data.ptr)


library = CudaLibrary()
