"""The backend Dask: tensors over ``dask.array.Array``, lazily computed, on the device ``dask``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import dask
import dask.array as da
import numpy as np

from ..array_api import ArrayLibrary, Like, Namespace

dtypes = {
    name: np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64", "complex64", "complex128",
    )
}  # fmt: skip


class _Transforms:
    """Fourier transforms, of whole rows."""

    def __getattr__(self, name: str) -> Any:
        def transform(array: Any, axis: int = -1, n: int | None = None, norm: str | None = None) -> Any:
            return getattr(da.fft, name)(array.rechunk({axis % array.ndim: -1}), n=n, axis=axis, norm=norm)

        return transform


class DaskNamespace(Namespace):
    """``dask.array``, and what it lacks of the standard."""

    def __init__(self) -> None:
        super().__init__(da)
        self.fft = _Transforms()

    def isdtype(self, dtype: Any, kind: Any) -> bool:
        return bool(np.isdtype(dtype, kind))

    def astype(self, array: Any, dtype: Any, copy: bool = True) -> Any:
        return array.astype(dtype)

    def concat(self, arrays: Sequence[Any], axis: int | None = 0) -> Any:
        return da.concatenate(arrays, axis=axis)

    def permute_dims(self, array: Any, axes: Sequence[int]) -> Any:
        return da.transpose(array, axes)

    def matrix_transpose(self, array: Any) -> Any:
        return da.swapaxes(array, -1, -2)

    def finfo(self, dtype: Any) -> Any:
        return np.finfo(dtype)

    def iinfo(self, dtype: Any) -> Any:
        return np.iinfo(dtype)

    def cumulative_sum(self, array: Any, axis: int = 0, dtype: Any = None) -> Any:
        return da.cumsum(array, axis=axis, dtype=dtype)

    def cumulative_prod(self, array: Any, axis: int = 0, dtype: Any = None) -> Any:
        return da.cumprod(array, axis=axis, dtype=dtype)

    def reshape(self, array: Any, shape: Any) -> Any:
        shape = tuple(shape)
        if shape == array.shape:
            return array
        try:
            return da.reshape(array, shape, merge_chunks=True)
        except NotImplementedError:  # of chunks that the shape cuts unevenly
            return da.reshape(array.rechunk(-1), shape)

    def max(self, array: Any, **options: Any) -> Any:
        return self._extremum(da.max, np.max, array, **options)

    def min(self, array: Any, **options: Any) -> Any:
        return self._extremum(da.min, np.min, array, **options)

    def _extremum(
        self, function: Any, whole: Any, array: Any, axis: Any = None, keepdims: bool = False
    ) -> Any:
        if array.size:
            return function(array, axis=axis, keepdims=keepdims)
        shape = whole(np.empty(array.shape), axis=axis, keepdims=keepdims).shape
        return da.zeros(shape, dtype=array.dtype)

    def _along(
        self, function: Callable[..., Any], axis: int, *arrays: Any, dtype: Any, size: Any = None
    ) -> Any:
        """A function of whole rows, each in one chunk."""
        whole = [da.asarray(a).rechunk({axis % a.ndim: -1}) for a in arrays]
        chunks = None
        if size is not None:
            chunks = tuple((size,) if d == axis % whole[0].ndim else c for d, c in enumerate(whole[0].chunks))
        return da.map_blocks(function, *whole, dtype=dtype, chunks=chunks, meta=np.empty((), dtype))

    def sort(self, array: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        rows = self._along(lambda a: np.sort(a, axis=axis, kind="stable"), axis, array, dtype=array.dtype)
        return da.flip(rows, axis) if descending else rows

    def argsort(self, array: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
        def order(a: Any) -> Any:
            if not descending:
                return np.argsort(a, axis=axis, kind="stable")
            last = a.shape[axis] - 1
            return np.flip(last - np.argsort(np.flip(a, axis), axis=axis, kind="stable"), axis)

        return self._along(order, axis, array, dtype=np.dtype("int64"))

    def take_along_axis(self, array: Any, indices: Any, axis: int = -1) -> Any:
        like = (indices.shape, array.dtype)
        return self.on_host(lambda a, i: np.take_along_axis(a, i, axis), [like], array, indices)[0]

    def special(self, name: str) -> Callable[..., Any]:
        wanted = getattr(import_module("scipy.special"), name)

        def called(*arrays: Any) -> Any:
            dtype = next(a.dtype for a in arrays if hasattr(a, "dtype"))
            return da.map_blocks(lambda *a: np.asarray(wanted(*a), dtype), *arrays, dtype=dtype)

        return called

    def at(self, array: Any, places: Any) -> Any:
        if not _is_lazy(places):
            return da.take(array, places, axis=0)
        like = (places.shape, array.dtype)
        return self.on_host(lambda a, i: a.take(i), [like], array, places)[0]

    def known(self, array: Any) -> Any:
        return None if _is_lazy(array) else array

    def on_host(self, function: Callable[..., Any], like: Sequence[Like] | None, *arrays: Any) -> list[Any]:
        """One task, on whole arrays; computed now where only the values tell what comes out."""
        if like is None:
            return super().on_host(function, like, *arrays)
        task = dask.delayed(_as_tuple, pure=True)(function, *arrays)
        return [da.from_delayed(task[i], tuple(shape), dtype) for i, (shape, dtype) in enumerate(like)]

    def constant(self, array: Any) -> Any:
        return array

    def to_host(self, array: Any) -> Any:
        return np.asarray(array.compute()) if _is_lazy(array) else array

    def from_host(self, array: Any) -> Any:
        return da.from_array(np.array(array), chunks=-1)


def _is_lazy(array: Any) -> bool:
    return isinstance(array, da.Array)


def _as_tuple(function: Callable[..., Any], *arrays: Any) -> tuple[Any, ...]:
    results = function(*arrays)
    return results if isinstance(results, tuple) else (results,)


class DaskLibrary(ArrayLibrary):
    """``dask.array`` as a backend's library."""

    def __init__(self) -> None:
        super().__init__(da, DaskNamespace())
        self.dtypes = {each: each for each in dtypes.values()}


library = DaskLibrary()
