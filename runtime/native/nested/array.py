"""RaggedArray: several arrays, the parts, of one number of dimensions, of which sizes may differ.

A ``JaggedArray`` is of parts that differ in one dimension: ``values`` holds one part behind the other along
that, and ``offsets`` (parts + 1,) says where each begins. A ``NestedArray`` is of parts that may differ in
all dimensions: ``values`` holds the elements of all in C's order, and ``sizes`` (parts, dimensions) their
shapes. The first dimension of both counts the parts; the other ones are those of the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Final, Self

import numpy as np

from ...core.sym_int import SymInt, of_array, of_sizes
from ..sparse.array import StoredArray, layout_dtype

Array = np.ndarray[Any, Any]
Shape = tuple[Any, ...]

#: The layout which the dtypes of such arrays name.
REPRESENTATIVE: Final = "jagged"


class RaggedArray(StoredArray):
    """What arrays of parts share."""

    __slots__ = ()

    layout: str
    shape: Shape

    @property
    def stored_as(self) -> str:
        """The layout by which the backend of such arrays is found."""
        return REPRESENTATIVE

    def pieces(self) -> list[Array]:
        """The parts, which share the memory of the values."""
        raise NotImplementedError

    def with_pieces(self, pieces: Sequence[Array]) -> Self:
        """An array of other parts, of which the ragged sizes are those of this one's."""
        raise NotImplementedError

    def rows(self, trailing: int) -> Array:
        """All elements as ``(n, *the last trailing dimensions)``. RuntimeError where these are ragged."""
        raise NotImplementedError

    def of_rows(self, rows: Array, trailing: int) -> Self:
        """An array of which the last ``trailing`` dimensions are those of ``rows``, which ``rows`` gave."""
        raise NotImplementedError

    def same_parts(self, other: RaggedArray) -> bool:
        """Whether the ragged sizes of both are the same, so that their values stand beside each other."""
        raise NotImplementedError

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **_: Any) -> Any:
        """NumPy's elementwise functions, of the values."""
        from .pointwise import call_on_values

        return call_on_values(ufunc, method, inputs, out)

    def copy(self) -> Self:
        """A copy of the values in the same places."""
        return self.with_values(self.values.copy())

    def assign(self, other: RaggedArray) -> None:
        """Take over the values of another array of the same sizes."""
        self.values[...] = other.values

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
    """Parts that differ in one dimension, ``ragged_idx`` of the whole; with ``lengths`` there may be gaps."""

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
        self.ragged_size = of_array(offsets if lengths is None else lengths)
        own, at = values.shape, ragged_idx - 1
        self.shape = (len(offsets) - 1, *own[:at], self.ragged_size, *own[at + 1 :])
        self.dtype = layout_dtype(values.dtype, REPRESENTATIVE)

    @property
    def counts(self) -> Array:
        """The size of each part in the ragged dimension."""
        return np.diff(self.offsets) if self.lengths is None else self.lengths

    @property
    def is_dense(self) -> bool:
        """Whether the values are those of the parts and no others."""
        if self.lengths is not None:
            return False
        return bool(self.offsets[0] == 0 and self.offsets[-1] == self.values.shape[self.ragged_idx - 1])

    @property
    def size(self) -> int:
        """The number of elements of all parts."""
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
        """An array of the same parts with dimensions in another order, or with other ones beside them."""
        return JaggedArray(values, self.offsets, self.lengths, ragged_idx)

    def part_slices(self) -> list[tuple[slice, ...]]:
        """Where each part stands in the values."""
        before = (slice(None),) * (self.ragged_idx - 1)
        starts, counts = self.offsets[:-1].tolist(), self.counts.tolist()
        return [(*before, slice(start, start + count)) for start, count in zip(starts, counts, strict=True)]

    def pieces(self) -> list[Array]:
        return [self.values[at] for at in self.part_slices()]

    def with_pieces(self, pieces: Sequence[Array]) -> JaggedArray:
        if not pieces:
            return self.with_values(self.values)
        at = self.ragged_idx - 1
        shape = list(pieces[0].shape)
        shape[at] = self.values.shape[at]
        values = (np.empty if self.is_dense else np.zeros)(shape, pieces[0].dtype)
        for where, piece in zip(self.part_slices(), pieces, strict=True):
            values[where] = piece
        return self.with_values(values)

    def rows(self, trailing: int) -> Array:
        self._check_trailing(trailing)
        last = self.values.shape[self.values.ndim - trailing :]
        if self.is_dense:
            return self.values.reshape(-1, *last)
        kept = [piece.reshape(-1, *last) for piece in self.pieces()]
        return np.concatenate(kept) if kept else self.values[:0]

    def of_rows(self, rows: Array, trailing: int) -> JaggedArray:
        lead = self.values.shape[: self.values.ndim - trailing]
        if self.is_dense:
            return self.with_values(rows.reshape(*lead, *rows.shape[1:]))
        leads = [piece.shape[: piece.ndim - trailing] for piece in self.pieces()]
        ends = np.cumsum([prod(one) for one in leads], dtype=np.int64)
        parts = np.split(rows, ends[:-1])
        shaped = [part.reshape(*one, *rows.shape[1:]) for part, one in zip(parts, leads, strict=True)]
        return self.with_pieces(shaped)

    def _check_trailing(self, trailing: int) -> None:
        if self.ragged_idx > self.values.ndim - trailing:
            raise RuntimeError(
                f"expected the last {trailing} of the dimensions to be of one size in all parts, but got a "
                f"nested tensor of the size {list(self.shape)}"
            )

    def same_parts(self, other: RaggedArray) -> bool:
        return (
            isinstance(other, JaggedArray)
            and self.ragged_size == other.ragged_size
            and self.ndim - self.ragged_idx == other.ndim - other.ragged_idx
        )


class NestedArray(RaggedArray):
    """Parts that may differ in all sizes, one behind the other; PyTorch calls their layout strided."""

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
        """The number of elements of all parts."""
        return int(self.values.size)

    def parts(self) -> dict[str, Array]:
        """What is stored, by name."""
        return {"sizes": self.sizes, "values": self.values}

    def facts(self) -> tuple[Any, ...]:
        """The layout; no dimension is the ragged one."""
        return self.layout, 0

    def with_values(self, values: Array) -> NestedArray:
        """An array of parts of the same sizes."""
        return NestedArray(values, self.sizes)

    def pieces(self) -> list[Array]:
        shapes = [tuple(shape) for shape in self.sizes.tolist()]
        ends = np.cumsum([prod(shape) for shape in shapes], dtype=np.int64).tolist()
        return [
            self.values[end - prod(shape) : end].reshape(shape)
            for shape, end in zip(shapes, ends, strict=True)
        ]

    def with_pieces(self, pieces: Sequence[Array]) -> NestedArray:
        return of_pieces(pieces) if pieces else self

    def rows(self, trailing: int) -> Array:
        last = self.shape[self.ndim - trailing :]
        if any([isinstance(n, SymInt) for n in last]):
            raise RuntimeError(
                f"expected the last {trailing} of the dimensions to be of one size in all parts, but got a "
                f"nested tensor of the size {list(self.shape)}"
            )
        return self.values.reshape(-1, *last)

    def of_rows(self, rows: Array, trailing: int) -> NestedArray:
        lead = self.sizes[:, : self.sizes.shape[1] - trailing]
        last = np.broadcast_to(np.array(rows.shape[1:], np.int64), (len(lead), rows.ndim - 1))
        return NestedArray(rows.reshape(-1), np.concatenate([lead, last], 1))

    def same_parts(self, other: RaggedArray) -> bool:
        return isinstance(other, NestedArray) and self.shape == other.shape


def of_pieces(pieces: Sequence[Array]) -> NestedArray:
    """The array of these parts, of one dtype and number of dimensions."""
    ndim = pieces[0].ndim if pieces else 0
    sizes = np.array([piece.shape for piece in pieces], np.int64).reshape(len(pieces), ndim)
    flat = [piece.reshape(-1) for piece in pieces]
    return NestedArray(np.concatenate(flat) if flat else np.empty(0, np.float32), sizes)


def of_parts(*given: Any) -> RaggedArray:
    """An array of what ``parts`` and ``facts`` say."""
    *arrays, layout, ragged_idx = given
    if layout == NestedArray.layout:
        sizes, values = arrays
        return NestedArray(values, sizes)
    offsets, *lengths, values = arrays
    return JaggedArray(values, offsets, lengths[0] if lengths else None, ragged_idx)
