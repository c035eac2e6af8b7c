"""CooArray: an array of which only some elements are stored, by their indices.

``indices`` is an int64 array (sparse_dim, nnz), ``values`` an array (nnz, *dense sizes). What is stored at
the same indices adds up, unless the array is ``coalesced``: then there is one value for each, in C's order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final, Self

import numpy as np

from ...core.memory_format import NotStrided
from ..reduced import upcast

Array = np.ndarray[Any, Any]
Shape = tuple[int, ...]


class LayoutDtype:
    """The dtype of arrays that are not strided: NumPy's, ``base``, and a layout.

    There is one object for each pair, which is the dtype of no strided array: whoever compares dtypes, as the
    engine does, sees that such an array is of another Type.
    """

    __slots__ = ("base", "char", "itemsize", "kind", "layout", "name")

    def __init__(self, base: np.dtype[Any], layout: str) -> None:
        self.base = base
        self.layout = layout
        self.char, self.kind, self.name, self.itemsize = base.char, base.kind, base.name, base.itemsize

    def __repr__(self) -> str:
        return f"<dtype {self.name} of {self.layout} arrays>"


_dtypes: Final[dict[tuple[np.dtype[Any], str], LayoutDtype]] = {}


def layout_dtype(base: np.dtype[Any], layout: str) -> LayoutDtype:
    """The dtype of arrays of a layout whose elements are NumPy's ``base``."""
    found = _dtypes.get((base, layout))
    if found is None:
        found = _dtypes.setdefault((base, layout), LayoutDtype(base, layout))
    return found


class StoredArray:
    """What arrays of the sparse layouts share.

    NumPy's ufuncs find ``__array_ufunc__``; whatever else of NumPy looks for elements is an error.
    """

    __slots__ = ("dtype", "shape", "values")

    shape: Shape
    values: Array
    dtype: LayoutDtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        return prod(self.shape)

    @property
    def nnz(self) -> int:
        """The number of stored values, or blocks of values."""
        raise NotImplementedError

    @property
    def flags(self) -> Any:
        """What arrays of NumPy's say of their strides, which these have not: raises NotStrided."""
        raise NotStrided(self.dtype.layout)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **_: Any) -> Any:
        """NumPy's sums and products, of which the engine's and those of gradients consist."""
        from .ufuncs import call_ufunc

        return call_ufunc(self, ufunc, method, inputs, out)

    def ufuncs(self) -> Mapping[np.ufunc, Callable[..., Any]]:
        """The kernels of the ufuncs that such arrays have."""
        raise NotImplementedError

    @property
    def dense_dim(self) -> int:
        """How many of the dimensions, the last ones, the values have."""
        raise NotImplementedError

    def parts(self) -> dict[str, Array]:
        """What is stored, by name."""
        raise NotImplementedError

    def facts(self) -> tuple[Any, ...]:
        """What makes an array, beside its parts."""
        raise NotImplementedError

    def shares_memory(self, other: Any) -> bool:
        """Whether a part of the array may have a byte in common with another one, or with a part of it."""
        others = other.parts().values() if isinstance(other, StoredArray) else [other]
        return any([np.may_share_memory(own, one) for own in self.parts().values() for one in others])

    def with_values(self, values: Array) -> Self:
        """An array of the same indices."""
        raise NotImplementedError

    @property
    def stored_as(self) -> str:
        """The layout by which the backend of such arrays is found."""
        return self.layout  # type: ignore[attr-defined, no-any-return]

    def distinct(self) -> Self:
        """The array with one value for each index."""
        return self

    def element_numbers(self) -> Array:
        """Of each number in ``values``, flat, which element of the array it belongs to, in C's order."""
        raise NotImplementedError

    def strided(self) -> Array:
        """All elements."""
        raise NotImplementedError

    def filled(self) -> Self:
        """The array with every element stored."""
        raise NotImplementedError

    def scipy_matrix(self) -> Any:
        """SciPy's matrix of the array. RuntimeError where that is no matrix."""
        raise NotImplementedError

    def copy(self) -> Self:
        """A copy, indices too."""
        return type(self)(*[part.copy() for part in self.parts().values()], *self.facts())

    def astype(self, dtype: Any) -> Self:
        """The array with values of a dtype, NumPy's or one of this layout."""
        base = dtype.base
        return self if base == self.values.dtype else self.with_values(self.values.astype(base))

    def __array__(self, *_: Any, **__: Any) -> Array:
        raise NotStrided(self.dtype.layout)

    def __getitem__(self, index: Any) -> Any:
        raise NotStrided(self.dtype.layout)


class CooArray(StoredArray):
    """An array in coordinate format. In-place operators give it other contents (``assign``)."""

    __slots__ = ("coalesced", "indices")

    layout: Final = "sparse_coo"

    indices: Array
    coalesced: bool

    def __init__(self, indices: Array, values: Array, shape: Sequence[int], coalesced: bool = False) -> None:
        self.indices = indices
        self.values = values
        self.shape = tuple(shape)
        self.dtype = layout_dtype(values.dtype, self.layout)
        self.coalesced = coalesced or len(values) < 2  # one index is in order

    @property
    def sparse_dim(self) -> int:
        """How many of the dimensions, the first ones, are indexed."""
        return len(self.indices)

    @property
    def dense_dim(self) -> int:
        """How many of the dimensions, the last ones, the values have."""
        return self.values.ndim - 1

    @property
    def nnz(self) -> int:
        """The number of stored values."""
        return len(self.values)

    @property
    def sparse_shape(self) -> Shape:
        """The sizes of the dimensions that are indexed."""
        return self.shape[: len(self.indices)]

    @property
    def dense_shape(self) -> Shape:
        """The sizes of the dimensions that values have."""
        return self.shape[len(self.indices) :]

    def parts(self) -> dict[str, Array]:
        """What is stored, by name."""
        return {"indices": self.indices, "values": self.values}

    def facts(self) -> tuple[Any, ...]:
        """The shape, and whether it is coalesced."""
        return self.shape, self.coalesced

    def ufuncs(self) -> Mapping[np.ufunc, Callable[..., Any]]:
        """Sums, products and quotients."""
        from .ufuncs import KERNELS

        return KERNELS

    def with_values(self, values: Array, coalesced: bool | None = None) -> CooArray:
        """An array of the same indices."""
        return CooArray(self.indices, values, self.shape, self.coalesced if coalesced is None else coalesced)

    def distinct(self) -> CooArray:
        """The array coalesced."""
        from .conversions import coo_coalesce

        return coo_coalesce(self)

    def element_numbers(self) -> Array:
        """Of each number in ``values``, flat, which element of the array it belongs to, in C's order."""
        size = prod(self.dense_shape)
        flat = flat_indices(self.indices, self.sparse_shape)
        return np.asarray(np.add.outer(flat * size, np.arange(size))).reshape(-1)

    def strided(self) -> Array:
        """All elements."""
        from .conversions import coo_to_dense

        return coo_to_dense(self)

    def filled(self) -> CooArray:
        """The array with every element stored, in C's order."""
        count = prod(self.sparse_shape)
        values = self.strided().reshape(count, *self.dense_shape)
        return CooArray(unflat_indices(np.arange(count), self.sparse_shape), values, self.shape, True)

    def scipy_matrix(self) -> Any:
        """SciPy's matrix, by rows. RuntimeError for an array of other than two indexed dimensions."""
        from scipy.sparse import csr_array

        if self.sparse_dim != 2 or self.dense_dim:
            raise RuntimeError(
                f"expected a sparse matrix with 2 sparse dimensions and no dense ones, but got "
                f"{self.sparse_dim} sparse and {self.dense_dim} dense dimensions"
            )
        return csr_array((upcast(self.values), (self.indices[0], self.indices[1])), self.shape)  # type: ignore[arg-type]

    def assign(self, other: CooArray) -> None:
        """Take over the contents of another array."""
        self.indices, self.values, self.shape = other.indices, other.values, other.shape
        self.coalesced = other.coalesced


def empty_coo(shape: Sequence[int], dtype: Any, dense_dim: int = 0) -> CooArray:
    """An array of zeros: nothing is stored."""
    sizes = tuple(shape)
    sparse_dim = len(sizes) - dense_dim
    values = np.zeros((0, *sizes[sparse_dim:]), dtype.base)
    return CooArray(np.zeros((sparse_dim, 0), np.int64), values, sizes, True)


def flat_indices(indices: Array, shape: Shape) -> Array:
    """The indices as numbers of elements in C's order."""
    flat = np.zeros(indices.shape[1], np.int64)
    for size, row in zip(shape, indices, strict=True):
        flat = flat * size + row
    return flat


def unflat_indices(flat: Array, shape: Shape) -> Array:
    """The indices, a row for each dimension, of numbers of elements."""
    if not shape:
        return np.zeros((0, len(flat)), np.int64)
    return (
        np.stack(np.unravel_index(flat, shape)).astype(np.int64, copy=False)
        if len(flat)
        else np.zeros((len(shape), 0), np.int64)
    )
