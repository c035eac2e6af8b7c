"""CompressedArray: an array of which some elements, or blocks of them, are stored, by rows or by columns.

``compressed`` is an array of integers ``(*batch, count + 1)``: what is stored of the row, or column, ``i``
stands from ``compressed[i]`` to ``compressed[i + 1]``. ``plain`` is ``(*batch, nnz)``, the column or row of
each, and ``values`` is ``(*batch, nnz, *dense sizes)``; of blocked layouts ``(*batch, nnz, *blocksize, *dense
sizes)``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final

import numpy as np

from ...core.memory_format import sparse_bsc, sparse_bsr, sparse_csc, sparse_csr
from ..reduced import upcast
from ..sparse.array import Array, Shape, StoredArray, layout_dtype, unflat_indices

#: By layout: whether rows are compressed, and whether blocks are stored.
KINDS: Final = {
    sparse_csr.name: (True, False),
    sparse_csc.name: (False, False),
    sparse_bsr.name: (True, True),
    sparse_bsc.name: (False, True),
}
#: By whether rows are compressed: the methods that give the compressed and the plain indices.
NAMES: Final = {True: ("crow_indices", "col_indices"), False: ("ccol_indices", "row_indices")}
#: That layout which the dtypes of arrays of all of them name.
REPRESENTATIVE: Final = sparse_csr.name


def layout_of(by_rows: bool, blocked: bool) -> str:
    """The name of a layout."""
    return next(name for name, kind in KINDS.items() if kind == (by_rows, blocked))


class CompressedArray(StoredArray):
    """An array in a compressed format. In-place operators write its values, or ``assign`` other contents."""

    __slots__ = ("compressed", "layout", "plain")

    compressed: Array
    plain: Array
    layout: str

    def __init__(
        self, compressed: Array, plain: Array, values: Array, shape: Sequence[int], layout: str
    ) -> None:
        self.compressed = compressed
        self.plain = plain
        self.values = values
        self.shape = tuple(shape)
        self.layout = layout
        self.dtype = layout_dtype(values.dtype, REPRESENTATIVE)

    @property
    def by_rows(self) -> bool:
        """Whether rows are compressed, not columns."""
        return KINDS[self.layout][0]

    @property
    def blocked(self) -> bool:
        """Whether blocks are stored, not elements."""
        return KINDS[self.layout][1]

    @property
    def written(self) -> Array:
        """What in-place operators write to, where the result stores the same elements."""
        return self.values

    @property
    def batch_dim(self) -> int:
        """How many of the dimensions, the first ones, are of batches."""
        return self.compressed.ndim - 1

    @property
    def sparse_dim(self) -> int:
        """How many of the dimensions are indexed: rows and columns."""
        return 2

    @property
    def dense_dim(self) -> int:
        """How many of the dimensions, the last ones, the values have."""
        return len(self.shape) - 2 - self.batch_dim

    @property
    def nnz(self) -> int:
        """The number of stored values, or blocks of values, of each matrix."""
        count: int = self.values.shape[self.batch_dim]
        return count

    @property
    def batch_shape(self) -> Shape:
        """The sizes of the dimensions of batches."""
        return self.shape[: self.batch_dim]

    @property
    def matrix_shape(self) -> Shape:
        """The numbers of rows and columns."""
        return self.shape[self.batch_dim : self.batch_dim + 2]

    @property
    def dense_shape(self) -> Shape:
        """The sizes of the dimensions that values have."""
        return self.shape[self.batch_dim + 2 :]

    @property
    def blocksize(self) -> tuple[int, int] | None:
        """The sizes of blocks; None where elements are stored."""
        if not self.blocked:
            return None
        start = self.batch_dim + 1
        rows, columns = self.values.shape[start : start + 2]
        return rows, columns

    @property
    def grid(self) -> Shape:
        """How many rows and columns of elements, or blocks, there are."""
        rows, columns = self.matrix_shape
        high, wide = self.blocksize or (1, 1)
        return rows // high if high else 0, columns // wide if wide else 0

    @property
    def entries(self) -> Array:
        """The values of all batches one after the other, each a block: ``(entries, high, wide, *dense)``."""
        return self.values.reshape(
            prod(self.batch_shape) * self.nnz, *self.blocksize or (1, 1), *self.dense_shape
        )

    def parts(self) -> dict[str, Array]:
        """What is stored, by the methods that give it."""
        compressed, plain = NAMES[self.by_rows]
        return {compressed: self.compressed, plain: self.plain, "values": self.values}

    def facts(self) -> tuple[Any, ...]:
        """What makes the array, beside its parts."""
        return self.shape, self.layout

    def ufuncs(self) -> Mapping[np.ufunc, Callable[..., Any]]:
        """Sums, products and quotients."""
        from .ufuncs import KERNELS

        return KERNELS

    def with_values(self, values: Array) -> CompressedArray:
        """An array of the same indices."""
        return CompressedArray(self.compressed, self.plain, values, self.shape, self.layout)

    def element_numbers(self) -> Array:
        """Of each number in ``values``, flat, which element of the array it belongs to, in C's order."""
        from .conversions import elements, flat_places

        size = prod(self.dense_shape)
        first = flat_places(self, elements(self)[0]) * size
        return np.asarray(np.add.outer(first, np.arange(size))).reshape(-1)

    def strided(self) -> Array:
        """All elements."""
        from .conversions import compressed_to_dense

        return compressed_to_dense(self)

    def filled(self) -> CompressedArray:
        """The array with every element stored, by rows or by columns."""
        from .conversions import gathered

        sizes = (prod(self.batch_shape), *self.matrix_shape)
        batch, row, column = unflat_indices(np.arange(prod(sizes)), sizes)
        values = self.strided().reshape(prod(sizes), *self.dense_shape)
        block = self.blocksize or (1, 1)
        return gathered((batch, row, column), values, self.shape, self.batch_dim, self.layout, block)

    def scipy_matrix(self) -> Any:
        """SciPy's matrix in the same format, or by rows. RuntimeError for what is no matrix."""
        from scipy.sparse import bsr_array, csc_array, csr_array

        if self.ndim != 2:
            raise RuntimeError(f"expected a sparse matrix, but got a tensor of size {list(self.shape)}")
        parts = (upcast(self.values), self.plain, self.compressed)
        if self.blocked and not self.by_rows:
            # Blocks by columns are those of the transpose by rows.
            return bsr_array((parts[0].swapaxes(1, 2), *parts[1:]), self.shape[::-1]).T  # type: ignore[arg-type]
        made = bsr_array if self.blocked else csr_array if self.by_rows else csc_array
        return made(parts, self.shape)  # type: ignore[arg-type]

    def assign(self, other: CompressedArray) -> None:
        """Take over the contents of another array."""
        self.compressed, self.plain, self.values = other.compressed, other.plain, other.values
        self.shape, self.layout = other.shape, other.layout

    def places(self) -> tuple[Array, Array, Array]:
        """Of each entry its batch, and the row and the column in the grid."""
        batches, nnz = prod(self.batch_shape), self.nnz
        lines = self.grid[0] if self.by_rows else self.grid[1]
        ends = self.compressed.reshape(batches, lines + 1).astype(np.int64, copy=False)
        counts = ends[:, 1:] - ends[:, :-1]
        major = np.repeat(np.tile(np.arange(lines), batches), counts.reshape(-1))
        minor = self.plain.reshape(-1).astype(np.int64, copy=False)
        batch = np.repeat(np.arange(batches), nnz)
        return (batch, major, minor) if self.by_rows else (batch, minor, major)

    def same_places(self, other: CompressedArray) -> bool:
        """Whether both store the same elements, in the same order."""
        return (
            self.layout == other.layout
            and self.values.shape == other.values.shape
            and (self.compressed is other.compressed or np.array_equal(self.compressed, other.compressed))
            and (self.plain is other.plain or np.array_equal(self.plain, other.plain))
        )


def compress(
    places: tuple[Array, Array, Array],
    entries: Array,
    shape: Shape,
    batch_dim: int,
    layout: str,
    index_dtype: Any = np.int64,
) -> CompressedArray:
    """The array of entries ``(entries, high, wide, *dense)``, each place once, in any order.

    ``places`` are their batches, and rows and columns in the grid. RuntimeError where batches differ in their
    number of entries.
    """
    by_rows, blocked = KINDS[layout]
    batch, row, column = places
    major, minor = (row, column) if by_rows else (column, row)
    high, wide = entries.shape[1:3]
    rows, columns = shape[batch_dim : batch_dim + 2]
    lines = rows // max(high, 1) if by_rows else columns // max(wide, 1)
    batches = prod(shape[:batch_dim])
    order = np.lexsort((minor, major, batch))
    counts = np.bincount(batch * lines + major, minlength=batches * lines).reshape(batches, lines)
    each = counts.sum(1)
    nnz = int(each[0]) if batches else 0
    if (each != nnz).any():
        raise RuntimeError(
            f"Expect the same number of specified elements per batch, but there are {each.tolist()}"
        )
    compressed = np.zeros((*shape[:batch_dim], lines + 1), index_dtype)
    np.cumsum(counts, 1, out=compressed.reshape(batches, lines + 1)[:, 1:])
    block = (high, wide) if blocked else ()
    values = entries[order].reshape(*shape[:batch_dim], nnz, *block, *entries.shape[3:])
    plain = minor[order].reshape(*shape[:batch_dim], nnz).astype(index_dtype, copy=False)
    return CompressedArray(compressed, plain, values, shape, layout)


def empty_compressed(
    shape: Sequence[int], dtype: Any, layout: str = REPRESENTATIVE, dense_dim: int = 0
) -> CompressedArray:
    """An array of zeros: nothing is stored. RuntimeError for less than two dimensions."""
    sizes = tuple(shape)
    batch_dim = len(sizes) - 2 - dense_dim
    if batch_dim < 0:
        raise RuntimeError(
            f"Only batched sparse compressed (non-block) tensors are supported, but got size {list(sizes)}"
        )
    if KINDS[layout][1]:
        raise RuntimeError(f"expected sparse compressed (non-block) tensor layout but got {layout}")
    nothing = np.zeros(0, np.int64)
    entries = np.zeros((0, 1, 1, *sizes[batch_dim + 2 :]), dtype.base)
    return compress((nothing, nothing, nothing), entries, sizes, batch_dim, layout)


def nothing_stored(self: CompressedArray, base: np.dtype[Any]) -> CompressedArray:
    """An array of zeros in the sizes and the layout of another, with values of NumPy's dtype ``base``."""
    nothing = np.zeros(0, np.int64)
    entries = np.zeros((0, *self.entries.shape[1:]), base)
    places = (nothing, nothing, nothing)
    return compress(places, entries, self.shape, self.batch_dim, self.layout, self.plain.dtype)
