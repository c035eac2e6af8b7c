"""Backends of array libraries, whatever they are: members of the group ArrayAPI of backends.yaml.

A library with such a backend needs a module with one line::

    library = ArrayLibrary(array_api_strict)

of which its backends.yaml says ``group: ArrayAPI`` and ``library: mylib.strict:library``. The standard knows
of no strides: arrays are what they are, contiguous, and views share nothing. What a library does better or
otherwise than the standard says, its ``Namespace`` and its ``ArrayLibrary`` override.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from ..core.scalar_type import add_array_dtype, dtype, from_array_dtype
from ..kernels.array_api import numpy_meanings, numpy_names

Shape = tuple[int, ...]
#: The shape and the dtype of a result.
Like = tuple[Shape, Any]
#: What raises an error for values, and what tells of each element of an array whether there is none.
Check = Callable[[Any], None]
Holds = Callable[[Any], Any]


class Namespace:
    """What kernels call ``xp``: the standard's functions, under NumPy's names too, and a few beside them."""

    #: Whether ``max`` and the like give NaN where there is one, and ``argmax`` where the first is.
    propagates_nan = False

    def __init__(self, xp: Any) -> None:
        self.library = xp

    def __getattr__(self, name: str) -> Any:
        """A function, found once: the library's own, of either name, or one made of the standard's."""
        written = getattr(numpy_meanings, name, None)
        found = self._own(name) if written is None else None
        if found is None:
            written = written or getattr(numpy_names, name, None)
            if written is None:
                raise AttributeError(f"the array library {self.library.__name__} has no {name!r}")

            def found(*arguments: Any, **options: Any) -> Any:
                return written(self, *arguments, **options)

        self.__dict__[name] = found
        return found

    def _own(self, name: str) -> Any:
        if hasattr(self.library, name):
            return getattr(self.library, name)
        meant = getattr(np, name, None)
        for other, value in vars(np).items() if meant is not None else ():
            if value is meant and hasattr(self.library, other):
                return getattr(self.library, other)
        return None

    # -- beside the standard: what libraries do in ways of their own

    def special(self, name: str) -> Callable[..., Any]:
        """A function of scipy.special for arrays of the library."""
        return self.elementwise(getattr(import_module("scipy.special"), name))

    def elementwise(self, wanted: Callable[..., Any]) -> Callable[..., Any]:
        """A function of NumPy's arrays, of each element, for arrays of the library."""

        def called(*arrays: Any) -> Any:
            given = [a for a in arrays if hasattr(a, "dtype")]
            shape = np.broadcast_shapes(*[a.shape for a in given])
            dtype = self.numpy_dtype(given[0].dtype)
            return self.on_host(lambda *a: np.asarray(wanted(*a), dtype), [(shape, dtype)], *arrays)[0]

        return called

    def scalar(self, value: Any, dtype: Any) -> Any:
        """A number as an operand of that dtype beside arrays."""
        return self.asarray(value, dtype=dtype)

    def at(self, array: Any, places: Any, axis: int = 0) -> Any:
        """The slices along an axis at places that an array says; its dims stand in the place of the axis."""
        if len(places.shape) == 1:
            return self.library.take(array, places, axis=axis)
        found = self.library.take(array, self.library.reshape(places, (-1,)), axis=axis)
        return self.library.reshape(found, (*array.shape[:axis], *places.shape, *array.shape[axis + 1 :]))

    def known(self, array: Any) -> Any:
        """The values as a NumPy array; None where they are not there before something is computed."""
        return self.to_host(array)

    def checked(self, array: Any, check: Check, holds: Holds | None = None) -> Any:
        """The array, of which ``check`` sees the values: now where they are known, later where they will be.

        It is called on all values, or on parts, and raises what it finds. ``holds`` tells the same of each
        element, for libraries that compute later.
        """
        values = self.known(array)
        if values is not None:
            check(values)
        return array

    def random_source(self, generator: Any) -> Any:
        """What the library draws random numbers from itself; None where they are drawn on the host.

        ``generator`` is the operator's argument, None for the default one.
        """
        return None

    def scatter(self, array: Any, places: Any, values: Any, how: str = "set", axis: int = 0) -> Any:
        """The array with ``values``, of the shape that ``at`` gives, at places along an axis, a copy:
        ``set``, ``add``, ``mul``, ``min`` or ``max``, one after the other where places are alike."""
        return self.on_host(_scatter(how, axis), [(array.shape, array.dtype)], array, places, values)[0]

    def put(self, array: Any, key: tuple[Any, ...], values: Any) -> Any:
        """The array with ``values`` at a basic key (integers, slices and ``...``), a copy."""
        result = self.library.asarray(array, copy=True)
        result[key] = values
        return result

    def on_host(self, function: Callable[..., Any], like: Sequence[Like] | None, *arrays: Any) -> list[Any]:
        """The results of a function of NumPy's arrays.

        ``like`` says what they are before it is called; None where the values decide, which must be known.
        """
        results = function(*[self.to_host(a) for a in arrays])
        results = results if isinstance(results, tuple) else (results,)
        return [self.from_host(r) for r in results]

    def to_host(self, array: Any) -> Any:
        """An array as NumPy's; what is none stays what it is."""
        return np.array(np.from_dlpack(array)) if hasattr(array, "__dlpack__") else array

    def constant(self, array: Any) -> Any:
        """An array of NumPy's that says where elements go, as the library takes it for an index."""
        return self.from_host(array)

    def numpy_dtype(self, dtype: Any) -> Any:
        """NumPy's dtype for one of the library's."""
        return from_array_dtype(dtype).array_dtype

    def from_host(self, array: Any) -> Any:
        """An array of NumPy's as one of the library."""
        array = np.array(array)
        its = getattr(self.library, array.dtype.name, None)
        return self.library.asarray(array, dtype=array.dtype if its is None else its)


#: How ``scatter`` brings values together.
_FOLDS: dict[str, np.ufunc] = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def _scatter(how: str, axis: int) -> Callable[..., Any]:
    def function(array: Any, places: Any, values: Any) -> Any:
        result, key = np.array(array), along(axis, places)
        if how == "set":
            result[key] = values
        else:
            _FOLDS[how].at(result, key, values)
        return result

    return function


def along(axis: int, places: Any) -> tuple[Any, ...]:
    """The key of slices at places along an axis."""
    return (*(slice(None),) * axis, places)


def _dtype(found: Any) -> Any:
    """The dtype that a library's ``float32`` stands for: NumPy's classes and JAX's functions are none."""
    if isinstance(found, type) and issubclass(found, np.generic):
        return np.dtype(found)
    return getattr(found, "dtype", found)


class ArrayLibrary:
    """What ``tengen.dispatch.backend`` asks of a library, by the standard alone."""

    dlpack_device = None
    #: The options of ``to`` that say how the library places arrays, which ``placed(array, **options)`` takes.
    placement: frozenset[str] = frozenset()

    def __init__(self, xp: Any, namespace: Namespace | None = None) -> None:
        self.xp: Any = Namespace(xp) if namespace is None else namespace
        self.name = str(xp.__name__)
        #: The library's dtype for each of NumPy's that it has.
        self.dtypes: dict[Any, Any] = {}
        for each in dict.fromkeys(dtype.registry.values()):
            its = getattr(xp, each.name, None)
            if its is not None:
                self.dtypes[each.array_dtype] = its = _dtype(its)
                add_array_dtype(its, each)

    @property
    def device_name(self) -> str:
        """The library's name."""
        return self.name

    def array_dtype(self, numpy_dtype: Any) -> Any:
        """The library's dtype for NumPy's."""
        return self.dtypes.get(numpy_dtype) if isinstance(numpy_dtype, np.dtype) else numpy_dtype

    def function(self, module: str, name: str) -> Callable[..., Any]:
        """A function of NumPy's arrays, as ``scipy.special`` has, of this library's, elementwise."""
        if module == "scipy.special":
            found: Callable[..., Any] = self.xp.special(name)
        else:
            found = self.xp.elementwise(getattr(import_module(module), name))
        return found

    # -- new arrays

    def zeros(self, shape: Shape, dtype: Any) -> Any:
        return self.xp.zeros(shape, dtype=self.array_dtype(dtype))

    def ones(self, shape: Shape, dtype: Any) -> Any:
        return self.xp.ones(shape, dtype=self.array_dtype(dtype))

    def empty(self, shape: Shape, dtype: Any) -> Any:
        return self.xp.zeros(shape, dtype=self.array_dtype(dtype))

    def full(self, shape: Shape, value: Any, dtype: Any) -> Any:
        if hasattr(value, "dtype"):
            return self.xp.broadcast_to(self.cast(value, dtype), shape)
        return self.xp.full(shape, value, dtype=self.array_dtype(dtype))

    def empty_strided(self, shape: Shape, strides: Shape, dtype: Any) -> Any:
        return self.empty(shape, dtype)

    # -- what the engine computes

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def add_(self, a: Any, b: Any) -> Any:
        return a + b

    def sum_to(self, a: Any, shape: Shape) -> Any:
        lead = a.ndim - len(shape)
        axes = [d for d, n in enumerate(a.shape) if d < lead or (n != 1 and shape[d - lead] == 1)]
        return self.xp.reshape(self.xp.sum(a, axis=tuple(axes), dtype=a.dtype), shape) if axes else a

    def stack(self, arrays: Sequence[Any]) -> Any:
        """The arrays, all of one shape, along a new first dimension."""
        return self.xp.stack(arrays)

    def isnan_any(self, a: Any) -> bool:
        return bool(self.xp.any(self.xp.isnan(a)))

    # -- conversion and copying

    def cast(self, a: Any, dtype: Any) -> Any:
        its = self.array_dtype(dtype)
        if a.dtype == its:
            return a
        if self.xp.isdtype(a.dtype, "complex floating") and not self.xp.isdtype(its, "complex floating"):
            if self.xp.isdtype(its, "bool"):
                return a != 0
            a = self.xp.real(a)
        return self.xp.astype(a, its)

    def fitted(self, a: Any, shape: Shape, dtype: Any) -> Any:
        """``a`` broadcast and converted, as ``copyto`` writes it."""
        a = self.cast(a, dtype)
        return a if tuple(a.shape) == tuple(shape) else self.xp.broadcast_to(a, tuple(shape))

    def copyto(self, destination: Any, source: Any) -> None:
        raise RuntimeError(f"arrays of {self.device_name} cannot be written to")

    def copy(self, a: Any) -> Any:
        return a  # nothing can write to either

    def contiguous(self, a: Any) -> Any:
        return a

    def from_numpy(self, a: Any) -> Any:
        return self.xp.from_host(a)

    def to_numpy(self, a: Any) -> Any:
        return self.xp.to_host(a)

    def item(self, a: Any) -> Any:
        return self.to_numpy(a).reshape(()).item()

    # -- memory

    def is_contiguous(self, a: Any) -> bool:
        return True

    def same_layout(self, a: Any, b: Any) -> bool:
        return bool(a.shape == b.shape and a.dtype == b.dtype)

    def strides(self, a: Any) -> Shape:
        return tuple(prod(a.shape[d + 1 :]) for d in range(a.ndim))

    def storage_offset(self, a: Any) -> int:
        return 0

    def root(self, a: Any) -> Any:
        return self.xp.reshape(a, (-1,))

    def data_ptr(self, a: Any) -> int:
        return id(a)

    def may_share_memory(self, a: Any, b: Any) -> bool:
        return a is b

    def nbytes(self, root: Any) -> int:
        return int(prod(root.shape) * self.xp.numpy_dtype(root.dtype).itemsize)

    def as_strided(self, a: Any, size: Shape, strides: Shape, offset: int) -> Any:
        raise RuntimeError(f"arrays of {self.device_name} have no strides")

    def broadcast_to(self, a: Any, shape: Shape) -> Any:
        return self.xp.broadcast_to(a, tuple(shape))
