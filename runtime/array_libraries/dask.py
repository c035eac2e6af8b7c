"""The backend Dask: tensors over ``dask.array.Array``, lazily computed, on the device ``dask``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.base import tokenize

from ..dispatch.generic_methods import running_operator
from .library import ArrayLibrary, Check, Holds, Like, Namespace

dtypes = {found.name: found for found in map(np.dtype, ("?", *np.typecodes["AllInteger"], *"efd", *"FD"))}


class _Transforms:
    """Fourier transforms, of whole rows."""

    def __getattr__(self, name: str) -> Any:
        def transform(array: Any, axis: int = -1, n: int | None = None, norm: str | None = None) -> Any:
            return getattr(da.fft, name)(array.rechunk({axis % array.ndim: -1}), n=n, axis=axis, norm=norm)

        return transform


def _named(function: Callable[..., Any]) -> Any:
    """A function that makes an array of none. Left to itself Dask pickles it anew to name what it makes, a
    millisecond and a half.
    """

    def made(*arguments: Any, **options: Any) -> Any:
        return function(*arguments, name=f"{function.__name__}-{tokenize(arguments, options)}", **options)

    return staticmethod(made)


class DaskNamespace(Namespace):
    """``dask.array``, and what it lacks of the standard."""

    propagates_nan = True
    empty, empty_like = _named(da.empty), _named(da.empty_like)
    zeros, zeros_like = _named(da.zeros), _named(da.zeros_like)
    ones, ones_like = _named(da.ones), _named(da.ones_like)
    full, full_like = _named(da.full), _named(da.full_like)

    def __init__(self) -> None:
        super().__init__(da)
        self.fft = _Transforms()

    def scalar(self, value: Any, dtype: Any) -> Any:
        return np.asarray(value, dtype)  # an array of Dask's would be a task

    def var(self, array: Any, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
        return da.var(array, axis=axis, ddof=correction, keepdims=keepdims)

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
        if not array.size:  # of which da.reshape's merging of chunks knows nothing
            sizes = np.empty(array.shape, np.bool_).reshape(shape).shape
            return self.zeros(sizes, dtype=array.dtype)
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
        return self.zeros(shape, dtype=array.dtype)

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
        if not is_lazy(array) or not is_lazy(indices) or not _in_step(array, indices, axis):
            like = (indices.shape, array.dtype)
            return self.on_host(lambda a, i: np.take_along_axis(a, i, axis), [like], array, indices)[0]
        whole = axis % array.ndim
        array = array.rechunk({whole: -1})
        indices = indices.rechunk(dict(enumerate(array.chunks)) | {whole: -1})
        function, meta = partial(np.take_along_axis, axis=axis), np.empty((0,) * array.ndim, array.dtype)
        return da.map_blocks(function, array, indices, chunks=indices.chunks, dtype=array.dtype, meta=meta)

    def elementwise(self, wanted: Callable[..., Any]) -> Callable[..., Any]:
        def called(*arrays: Any) -> Any:
            dtype = next(a.dtype for a in arrays if hasattr(a, "dtype"))
            return da.map_blocks(lambda *a: np.asarray(wanted(*a), dtype), *arrays, dtype=dtype)

        return called

    def at(self, array: Any, places: Any, axis: int = 0) -> Any:
        shape = (*array.shape[:axis], *places.shape, *array.shape[axis + 1 :])
        if not is_lazy(places):
            return da.take(array, places.reshape(-1), axis=axis).reshape(shape)
        return self.on_host(lambda a, i: a.take(i, axis), [(shape, array.dtype)], array, places)[0]

    def known(self, array: Any) -> Any:
        return None if is_lazy(array) else array

    def checked(self, array: Any, check: Check, holds: Holds | None = None) -> Any:
        """Chunk by chunk, when they are computed; the error names the operator that is called now."""
        if not is_lazy(array):
            return super().checked(array, check)
        named = partial(_checked, check, running_operator())
        return da.map_blocks(named, array, dtype=array.dtype, meta=array._meta)

    def put(self, array: Any, key: tuple[Any, ...], values: Any) -> Any:
        if not array.size or 0 in self.empty(array.shape, chunks=-1)[key].shape:
            return array
        result = array.copy()
        result[key] = values
        return result

    def on_host(self, function: Callable[..., Any], like: Sequence[Like] | None, *arrays: Any) -> list[Any]:
        """One task, on whole arrays; computed now where only the values tell what comes out."""
        if like is None:
            return super().on_host(function, like, *arrays)
        task = dask.delayed(_as_tuple)(function, *arrays)  # not pure: named by content, a part got lost
        return [da.from_delayed(task[i], tuple(shape), dtype) for i, (shape, dtype) in enumerate(like)]

    def constant(self, array: Any) -> Any:
        return array

    def to_host(self, array: Any) -> Any:
        return computed([array])[0] if is_lazy(array) else array

    def from_host(self, array: Any) -> Any:
        return da.from_array(np.array(array), chunks=-1)


def _in_step(array: Any, indices: Any, axis: int) -> bool:
    """Whether the shapes are the same but for one dimension."""
    along = axis % array.ndim
    pairs = zip(array.shape, indices.shape, strict=True)
    return all(n == m for d, (n, m) in enumerate(pairs) if d != along)


def is_lazy(array: Any) -> bool:
    """Whether it is an array of Dask's."""
    return isinstance(array, da.Array)


# -- computing ---------------------------------------------------------------------------------------


def computed(arrays: Sequence[Any], **options: Any) -> list[Any]:
    """The values of arrays as NumPy's, all in one pass of Dask's scheduler, which gets the options.

    RuntimeError where the cluster is gone that had to compute them, or had what they are made of.
    """
    try:
        return [np.asarray(each) for each in dask.compute(*arrays, **options)]
    except Exception as error:
        raise _explained(error) from error


def persisted(arrays: Sequence[Any], **options: Any) -> list[Any]:
    """The arrays with their chunks computed, which stay where they were. Raises what ``computed`` does."""
    try:
        return list(dask.persist(*arrays, **options))
    except Exception as error:
        raise _explained(error) from error


#: What distributed raises of workers and schedulers that do not answer, by its names.
_GONE = frozenset(
    {"CommClosedError", "FutureCancelledError", "CancelledError", "ClosedClientError", "KilledWorker"}
)
_LOST = "Missing dependency"


def _explained(error: Exception) -> Exception:
    """The error of a scheduler's that is gone, said in words; another as it is."""
    text = str(error)
    if type(error).__name__ == "KilledWorker":
        what = "workers died of it, more often than distributed.scheduler.allowed-failures allows"
    elif type(error).__name__ in _GONE or isinstance(error, OSError | TimeoutError):
        what = "the cluster that was to compute it is gone"
    elif isinstance(error, ValueError) and text.startswith(_LOST):
        what = "the cluster that held persisted chunks of it is gone, and they with it"
    else:
        return error
    kept = "Tensors are as they were: what was not persisted can be computed elsewhere"
    return RuntimeError(f"compute(): {what} ({type(error).__name__}: {text}). {kept}")


def _checked(check: Callable[[Any], None], operator: str, chunk: Any) -> Any:
    try:
        check(chunk)
    except Exception as error:
        raise type(error)(f"{operator}: {error}") from None
    return chunk


def _as_tuple(function: Callable[..., Any], *arrays: Any) -> tuple[Any, ...]:
    results = function(*arrays)
    return results if isinstance(results, tuple) else (results,)


class DaskLibrary(ArrayLibrary):
    """``dask.array`` as a backend's library."""

    def __init__(self) -> None:
        super().__init__(da, DaskNamespace())
        self.placement = frozenset({"chunks"})
        self.dtypes = {each: each for each in dtypes.values()}

    def placed(self, array: Any, lead: int, chunks: Any) -> Any:
        """The array in these chunks, as ``dask.array.rechunk`` takes them; ``lead`` dimensions come before.

        TypeError or ValueError for chunks that do not fit, which says so.
        """
        wanted = (*array.chunks[:lead], *_chunks(chunks, array, array.chunks[lead:]))
        if wanted == array.chunks:
            return array
        whole = _single(array)
        return array.rechunk(wanted) if whole is None else da.from_array(whole, chunks=wanted)


def _chunks(chunks: Any, array: Any, before: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The sizes of the chunks along each dimension that ``chunks`` means for an array."""
    shape = tuple([sum(sizes) for sizes in before])
    problem = f"argument 'chunks' ({chunks!r}) does not fit the shape {shape}"
    given = chunks
    if isinstance(chunks, dict):
        dims = range(-len(shape), len(shape))
        wrong = [d for d in chunks if not isinstance(d, int) or d not in dims]
        if wrong:
            raise ValueError(f"{problem}: there is no dimension {wrong[0]!r}")
        by_dim = {d % len(shape): n for d, n in chunks.items()}
        given = tuple([by_dim.get(d, sizes) for d, sizes in enumerate(before)])
    elif not isinstance(chunks, int | str | tuple | list) or isinstance(chunks, bool):
        expected = "an int, a string of bytes as '64MiB', 'auto', a tuple or a dict"
        raise TypeError(f"argument 'chunks' must be {expected}, not {type(chunks).__name__}")
    try:
        found = da.core.normalize_chunks(given, shape, dtype=array.dtype, previous_chunks=before)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{problem}: {error}") from None
    if any(not isinstance(n, int) or n < 0 for sizes in found for n in sizes):
        raise ValueError(f"{problem}: sizes are not negative")
    return tuple(found)


def _single(array: Any) -> Any:
    """The array of NumPy's that is the only chunk, so that it can be cut before it is sent; else None."""
    graph = array.__dask_graph__()
    if len(graph.layers) > 1 or array.npartitions > 1:
        return None
    (only,) = dict(graph).values()
    return only if isinstance(only, np.ndarray) else None


library = DaskLibrary()
