"""Backends of libraries that follow the array API standard, whatever they are.

A library with such a backend needs a module with two lines::

    library = ArrayLibrary(array_api_strict)
    __getattr__ = namespace(array_api_strict)

of which its backends.yaml names ``library: mylib.strict:library`` and ``namespace: mylib.strict``.
The standard knows of no strides: arrays are what they are, contiguous, and views share nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from .core.scalar_type import add_array_dtype, dtype

Shape = tuple[int, ...]


def namespace(xp: Any) -> Callable[[str], Any]:
    """The ``__getattr__`` of a module that is a standard namespace under NumPy's names too.

    NumPy has the standard's functions under both: what is the same there is the same here.
    """

    def attribute(name: str) -> Any:
        if hasattr(xp, name):
            return getattr(xp, name)
        meant = getattr(np, name, None)
        for other, value in vars(np).items() if meant is not None else ():
            if value is meant and hasattr(xp, other):
                return getattr(xp, other)
        raise AttributeError(f"the array library {xp.__name__} has no {name!r}")

    return attribute


class ArrayLibrary:
    """What ``tengen.dispatch.backend`` asks of a library, by the standard alone."""

    dlpack_device = None

    def __init__(self, xp: Any) -> None:
        self.xp = xp
        #: The library's dtype for each of NumPy's that it has.
        self.dtypes: dict[Any, Any] = {}
        for each in dict.fromkeys(dtype.registry.values()):
            its = getattr(xp, each.name, None)
            if its is not None:
                self.dtypes[each.array_dtype] = its
                add_array_dtype(its, each)

    @property
    def device_name(self) -> str:
        """The library's name."""
        return str(self.xp.__name__)

    def _its(self, numpy_dtype: Any) -> Any:
        return self.dtypes.get(numpy_dtype, numpy_dtype)

    # -- new arrays

    def zeros(self, shape: Shape, dtype: Any) -> Any:
        return self.xp.zeros(shape, dtype=self._its(dtype))

    def ones(self, shape: Shape, dtype: Any) -> Any:
        return self.xp.ones(shape, dtype=self._its(dtype))

    def empty(self, shape: Shape, dtype: Any) -> Any:
        return self.xp.empty(shape, dtype=self._its(dtype))

    def full(self, shape: Shape, value: Any, dtype: Any) -> Any:
        return self.from_numpy(np.full(shape, value, dtype))

    def empty_strided(self, shape: Shape, strides: Shape, dtype: Any) -> Any:
        return self.empty(shape, dtype)

    # -- what the engine computes

    def add(self, a: Any, b: Any) -> Any:
        return a + b

    def add_(self, a: Any, b: Any) -> Any:
        a[...] = a + b
        return a

    def sum_to(self, a: Any, shape: Shape) -> Any:
        lead = a.ndim - len(shape)
        axes = [d for d, n in enumerate(a.shape) if d < lead or (n != 1 and shape[d - lead] == 1)]
        return self.xp.reshape(self.xp.sum(a, axis=tuple(axes), dtype=a.dtype), shape) if axes else a

    def isnan_any(self, a: Any) -> bool:
        return bool(self.xp.any(self.xp.isnan(a)))

    # -- conversion and copying

    def cast(self, a: Any, dtype: Any) -> Any:
        its = self._its(dtype)
        if a.dtype == its:
            return a
        if self.xp.isdtype(a.dtype, "complex floating") and not self.xp.isdtype(its, "complex floating"):
            a = self.xp.real(a)
        return self.xp.astype(a, its)

    def copyto(self, destination: Any, source: Any) -> None:
        destination[...] = self.xp.astype(source, destination.dtype, copy=False)

    def copy(self, a: Any) -> Any:
        return self.xp.asarray(a, copy=True)

    def contiguous(self, a: Any) -> Any:
        return a

    def from_numpy(self, a: Any) -> Any:
        return self.xp.asarray(np.array(a), dtype=self._its(np.asarray(a).dtype))

    def to_numpy(self, a: Any) -> Any:
        return np.from_dlpack(a) if hasattr(a, "__dlpack__") else np.asarray(a)

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
        return int(self.to_numpy(root).nbytes)

    def as_strided(self, a: Any, size: Shape, strides: Shape, offset: int) -> Any:
        raise RuntimeError(f"arrays of {self.device_name} have no strides")

    def broadcast_to(self, a: Any, shape: Shape) -> Any:
        return self.xp.broadcast_to(a, shape)
