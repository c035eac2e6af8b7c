"""RaggedArray: B arrays, the components, with one number of dimensions. Their sizes may differ.

The components of a ``JaggedArray`` differ in one dimension. ``values`` holds them one behind the other along
that dimension, and ``offsets``, (B + 1,), says where each begins. The components of a ``NestedArray`` may
differ in all dimensions. ``values`` holds their elements in C's order, and ``sizes``, (B, dimensions), their
shapes. The first dimension of both counts the components; the others are those of the components.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, Self

import numpy as np

from ...core.sym_int import SymInt, of_arrays, of_sizes
from ..sparse.array import StoredArray, layout_dtype

Array = np.ndarray[Any, Any]
Shape = tuple[Any, ...]

#: The layout which the dtypes of such arrays name.
REPRESENTATIVE: Final = "jagged"


class RaggedArray(StoredArray):
    """What ragged arrays share."""

    __slots__ = ()

    layout: str
    shape: Shape

    @property
    def stored_as(self) -> str:
        """The layout by which the backend of such arrays is found."""
        return REPRESENTATIVE

    def components(self) -> list[Array]:
        """The components, which share the memory of the values."""
        raise NotImplementedError

    def with_components(self, components: Sequence[Array]) -> Self:
        """An array of other components, of which the ragged sizes are those of this one's."""
        raise NotImplementedError

    def rows(self, trailing: int) -> Array:
        """All elements as ``(n, *the last trailing dimensions)``. RuntimeError where these are ragged."""
        raise NotImplementedError

    def of_rows(self, rows: Array, trailing: int) -> Self:
        """An array of which the last ``trailing`` dimensions are those of ``rows``, which ``rows`` gave."""
        raise NotImplementedError

    def values_beside(self, like: RaggedArray) -> Array | None:
        """The values, which stand beside those of ``like``; None where dimensions or ragged sizes differ."""
        raise NotImplementedError

    def matched_values(self, like: RaggedArray) -> Array:
        """``values_beside``; RuntimeError where it has none."""
        values = self.values_beside(like)
        if values is None:
            raise RuntimeError(
                f"expected nested tensors of the same offsets, in as many values, but got {_told(like)} and "
                f"{_told(self)}"
            )
        return values

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **_: Any) -> Any:
        """NumPy's elementwise functions, of the values."""
        from .pointwise import call_on_values

        return call_on_values(ufunc, method, inputs, out)

    def copy(self) -> Self:
        """A copy of the values in the same places."""
        return self.with_values(self.values.copy())

    def assign(self, other: RaggedArray) -> None:
        """Take over the values of another array of the same sizes."""
        self.values[...] = other.matched_values(self)

    @property
    def written(self) -> Array:
        """The memory that a write goes to."""
        return self.values

    @property
    def dense_dim(self) -> int:
        """How many of the dimensions, the last ones, the values have."""
        return self.ndim - 1

    @property
    def sparse_dim(self) -> int:
        """No dimension is indexed."""
        return 0

    @property
    def nnz(self) -> int:
        """The number of elements, all of which are stored."""
        return self.size


class JaggedArray(RaggedArray):
    """Components that differ in one dimension, ``ragged_idx``; with ``lengths`` there may be gaps."""

    __slots__ = ("lengths", "offsets", "ragged_idx", "ragged_size")

    layout = "jagged"

    offsets: Array
    lengths: Array | None
    ragged_idx: int
    ragged_size: SymInt

    def __init__(
        self, values: Array, offsets: Array, lengths: Array | None = None, ragged_idx: int = 1
    ) -> None:
        self.values = values
        self.offsets = offsets
        self.lengths = lengths
        self.ragged_idx = ragged_idx
        self.ragged_size = of_arrays(offsets, lengths)
        own, at = values.shape, ragged_idx - 1
        self.shape = (len(offsets) - 1, *own[:at], self.ragged_size, *own[at + 1 :])
        self.dtype = layout_dtype(values.dtype, REPRESENTATIVE)

    @property
    def counts(self) -> Array:
        """The size of each component in the ragged dimension."""
        return np.diff(self.offsets) if self.lengths is None else self.lengths

    @property
    def is_dense(self) -> bool:
        """Whether the values are those of the components and no others."""
        if self.lengths is not None:
            return False
        return bool(self.offsets[0] == 0 and self.offsets[-1] == self.values.shape[self.ragged_idx - 1])

    @property
    def size(self) -> int:
        """The number of elements of all components."""
        own, at = self.values.shape, self.ragged_idx - 1
        total: int = int(self.counts.sum()) * prod(own[:at] + own[at + 1 :])
        return total

    def parts(self) -> dict[str, Array]:
        """What is stored, by name."""
        lengths = {} if self.lengths is None else {"lengths": self.lengths}
        return {"offsets": self.offsets, **lengths, "values": self.values}

    def facts(self) -> tuple[Any, ...]:
        """The layout, and which dimension is ragged."""
        return self.layout, self.ragged_idx

    def with_values(self, values: Array) -> JaggedArray:
        """An array of the same places."""
        return JaggedArray(values, self.offsets, self.lengths, self.ragged_idx)

    def turned(self, values: Array, ragged_idx: int) -> JaggedArray:
        """The same components with dimensions in another order, or with more dimensions."""
        return JaggedArray(values, self.offsets, self.lengths, ragged_idx)

    def component_slices(self) -> list[tuple[slice, ...]]:
        """Where each component stands in the values."""
        before = (slice(None),) * (self.ragged_idx - 1)
        starts, counts = self.offsets[:-1].tolist(), self.counts.tolist()
        return [(*before, slice(start, start + count)) for start, count in zip(starts, counts, strict=True)]

    def components(self) -> list[Array]:
        return [self.values[at] for at in self.component_slices()]

    def with_components(self, components: Sequence[Array]) -> JaggedArray:
        if not components:
            return self.with_values(self.values)
        at = self.ragged_idx - 1
        shape = list(components[0].shape)
        shape[at] = self.values.shape[at]
        values = (np.empty if self.is_dense else np.zeros)(shape, components[0].dtype)
        for where, component in zip(self.component_slices(), components, strict=True):
            values[where] = component
        return self.with_values(values)

    def rows(self, trailing: int) -> Array:
        self._check_trailing(trailing)
        last = self.values.shape[self.values.ndim - trailing :]
        if self.is_dense:
            return self.values.reshape(prod(self.values.shape[: self.values.ndim - trailing]), *last)
        kept = [c.reshape(prod(c.shape[: c.ndim - trailing]), *last) for c in self.components()]
        return np.concatenate(kept) if kept else self.values[:0]

    def of_rows(self, rows: Array, trailing: int) -> JaggedArray:
        lead = self.values.shape[: self.values.ndim - trailing]
        if self.is_dense:
            return self.with_values(rows.reshape(*lead, *rows.shape[1:]))
        leads = [component.shape[: component.ndim - trailing] for component in self.components()]
        ends = np.cumsum([prod(one) for one in leads], dtype=np.int64)
        components = np.split(rows, ends[:-1])
        shaped = [
            component.reshape(*one, *rows.shape[1:]) for component, one in zip(components, leads, strict=True)
        ]
        return self.with_components(shaped)

    def _check_trailing(self, trailing: int) -> None:
        if self.ragged_idx > self.values.ndim - trailing:
            raise _no_rows(self, trailing)

    def values_beside(self, like: RaggedArray) -> Array | None:
        if not isinstance(like, JaggedArray) or self.ragged_size != like.ragged_size:
            return None
        own, others = self.values.shape, like.values.shape
        at = self.ragged_idx - 1
        fits = len(own) == len(others) and self.ragged_idx == like.ragged_idx and own[at] == others[at]
        return self.values if fits else None


class NestedArray(RaggedArray):
    """Components that may differ in all sizes, one behind the other; PyTorch calls their layout strided."""

    __slots__ = ("sizes",)

    layout = "strided"

    sizes: Array

    def __init__(self, values: Array, sizes: Array) -> None:
        self.values = values
        self.sizes = sizes
        columns = [tuple(column) for column in sizes.T.tolist()]
        own = [column[0] if len(set(column)) == 1 else of_sizes(column) for column in columns]
        self.shape = (len(sizes), *own)
        self.dtype = layout_dtype(values.dtype, REPRESENTATIVE)

    @property
    def size(self) -> int:
        """The number of elements of all components."""
        return int(self.values.size)

    def parts(self) -> dict[str, Array]:
        """What is stored, by name."""
        return {"sizes": self.sizes, "values": self.values}

    def facts(self) -> tuple[Any, ...]:
        """The layout; no dimension is the ragged one."""
        return self.layout, 0

    def with_values(self, values: Array) -> NestedArray:
        """A ragged array of the same sizes."""
        return NestedArray(values, self.sizes)

    def components(self) -> list[Array]:
        shapes = [tuple(shape) for shape in self.sizes.tolist()]
        ends = np.cumsum([prod(shape) for shape in shapes], dtype=np.int64).tolist()
        return [
            self.values[end - prod(shape) : end].reshape(shape)
            for shape, end in zip(shapes, ends, strict=True)
        ]

    def with_components(self, components: Sequence[Array]) -> NestedArray:
        return of_components(components) if components else self

    def rows(self, trailing: int) -> Array:
        """The last ``trailing`` dimensions as rows, one after the other. RuntimeError where they are
        ragged."""
        last = self.shape[self.ndim - trailing :]
        if trailing >= self.ndim or any([isinstance(n, SymInt) for n in last]):
            raise _no_rows(self, trailing)
        count = int(self.sizes[:, : self.sizes.shape[1] - trailing].prod(1).sum())
        return self.values.reshape(count, *last)

    def of_rows(self, rows: Array, trailing: int) -> NestedArray:
        lead = self.sizes[:, : self.sizes.shape[1] - trailing]
        last = np.broadcast_to(np.array(rows.shape[1:], np.int64), (len(lead), rows.ndim - 1))
        return NestedArray(rows.reshape(-1), np.concatenate([lead, last], 1))

    def values_beside(self, like: RaggedArray) -> Array | None:
        return self.values if isinstance(like, NestedArray) and self.shape == like.shape else None


def _told(self: RaggedArray) -> str:
    return f"the size {list(self.shape)} with values of {list(self.values.shape)}"


def _no_rows(self: RaggedArray, trailing: int) -> RuntimeError:
    return RuntimeError(
        f"expected the last {trailing} of the dimensions to be of components, of one size in all, "
        f"but got a nested tensor of the size {list(self.shape)}"
    )


def of_components(components: Sequence[Array]) -> NestedArray:
    """The array of these components, of one dtype and number of dimensions."""
    ndim = components[0].ndim if components else 0
    sizes = np.array([component.shape for component in components], np.int64).reshape(len(components), ndim)
    flat = [component.reshape(-1) for component in components]
    return NestedArray(np.concatenate(flat) if flat else np.empty(0, np.float32), sizes)


def of_parts(*given: Any) -> RaggedArray:
    """An array of what ``parts`` and ``facts`` say."""
    *arrays, layout, ragged_idx = given
    if layout == NestedArray.layout:
        sizes, values = arrays
        return NestedArray(values, sizes)
    offsets, *lengths, values = arrays
    return JaggedArray(values, offsets, lengths[0] if lengths else None, ragged_idx)
