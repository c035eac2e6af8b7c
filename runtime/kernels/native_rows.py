"""Native kernels over the rows of arrays, along whatever dims these are, and whatever way they lie."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..core.costs import NATIVE_GRAIN, STRIDED_ROWS
from ..fast_paths import add_columns
from ..machine_code import Kernels, goes_across
from .copies import in_rows
from .dims import Dims, axes_of_rows, length_of, reduced_shape
from .dtypes import FLOAT64, INT64, REDUCED
from .native_kernels import as_bits, kernel_of
from .reductions import folded, result_dtype
from .rows import run as in_blocks_of_rows
from .shares import share_columns, share_rows

Array = Any
Shape = tuple[int, ...]
#: What the names of kernels end in whose rows lie side by side.
IN_COLUMNS = "_in_columns"
#: The dtypes of reductions of parts, where they are no float64.
_OF_STAGES = {"any": np.dtype(bool), "count": INT64}
#: The kernels of which the C machine knows which one does the same of rows side by side.
_told: set[np.ufunc] = set()


class Rows(NamedTuple):
    """Where the rows of arrays of a shape are."""

    axes: Shape
    length: int
    single: Shape  # of a result with one number for each row
    adjacent: bool  # whether each axis is the one behind the one before
    ends: bool  # and nothing is behind the last
    laid: (
        Shape  # of arrays, if so: rows one behind the other, (m, n), or each several side by side, (k, n, m)
    )
    fewer: Shape  # and of one number for each row: (m,), or (k, m)


@lru_cache(maxsize=1024)
def rows_of(shape: Shape, dim: int | Dims, sizes: str, keepdim: bool) -> Rows:
    """Where rows are over ``dim``; it is kept for the next call. Errors of ``axes_of_rows``."""
    axes = axes_of_rows(shape, dim, sizes)
    length = length_of(shape, axes)
    adjacent = bool(axes) and axes[-1] - axes[0] == len(axes) - 1
    before, beside = 1, 1
    if adjacent:
        before, beside = math.prod(shape[: axes[0]]), math.prod(shape[axes[-1] + 1 :])
    laid = (before, length) if beside == 1 else (before, length, beside)
    fewer = (before,) if beside == 1 else (before, beside)
    single = reduced_shape(shape, axes, keepdim)
    return Rows(axes, length, single, adjacent, adjacent and beside == 1, laid, fewer)


class NativeRows(NamedTuple):
    """A native kernel, and how it goes over the rows of arrays of one shape and dtype, with elements."""

    kernels: Kernels
    name: str
    kernel: np.ufunc
    kept: Sequence[bool]  # whether each result has rows
    kinds: Sequence[str]  # and what its elements are (``result_dtype``)
    together: str  # the reduction that brings results of parts of a row together, or ""
    rows: Rows
    dtype: np.dtype[Any]

    def results(
        self,
        rows: Sequence[Array],
        beside: Sequence[Array],
        numbers: Sequence[float],
    ) -> Sequence[Array]:
        """The results of arrays, of what their rows share, and of numbers."""
        shape, others = rows[0].shape, self.shared(beside, numbers) if beside or numbers else ()
        if self.takes_few(rows[0]):
            return self.of_few(rows, others)
        out = [
            np.empty(shape if row else self.rows.single, result_dtype(kind, self.dtype))
            for row, kind in zip(self.kept, self.kinds, strict=True)
        ]
        self.run(rows, others, out)
        return out

    def shared(self, beside: Sequence[Array], numbers: Sequence[float]) -> Sequence[Any]:
        """What all rows share, as the kernel takes it."""
        number = np.float32 if self.dtype.char in REDUCED else self.dtype.type
        return [*[as_bits(in_rows(a).reshape(-1)) for a in beside], *[number(n) for n in numbers]]

    def takes_few(self, first: Array) -> bool:
        """Whether NumPy may go over rows, which are few, and results lie as they should."""
        axes, size = self.rows.axes, int(first.size)
        if self.rows.adjacent and axes[-1] == first.ndim - 1:
            return size < NATIVE_GRAIN
        return size <= STRIDED_ROWS and len(axes) == 1 and not any(self.kept)

    def of_few(self, arrays: Sequence[Array], shared: Sequence[Any]) -> list[Array]:
        """What the kernel makes of few rows, along one dim or the last ones, and of what they share."""
        shape, axes = arrays[0].shape, self.rows.axes
        if len(axes) > 1 or arrays[0].size > STRIDED_ROWS:
            arrays = [in_rows(a) for a in arrays]
        if len(axes) > 1:
            arrays = [a.reshape(self.rows.laid) for a in arrays]
        axis = -1 if len(axes) > 1 else axes[0] - len(shape)
        found = self.kernel(*map(as_bits, arrays), *shared, axis=axis)
        made = found if isinstance(found, tuple) else (found,)
        if self.dtype.char in REDUCED:
            made = tuple([a.view(self.dtype) if a.dtype == np.uint16 else a for a in made])
        single = self.rows.single
        return [
            np.asarray(a).reshape(shape if row else single) for a, row in zip(made, self.kept, strict=True)
        ]

    def run(self, arrays: Sequence[Array], shared: Sequence[Any], results: Sequence[Array]) -> None:
        """Have the kernel put into ``results`` what it makes of arrays, and of what their rows share."""
        rows, kept = self.rows, self.kept
        contiguous = rows.adjacent and all([a.flags.c_contiguous for a in arrays])
        one, size, ndim = len(rows.axes) == 1, arrays[0].size, arrays[0].ndim
        any_order = bool(self.together) and self.together not in ("argmax", "argmin")
        if not contiguous and len(arrays) == 1 and size == rows.length and any_order:
            arrays, contiguous = [arrays[0].ravel("K")], True  # one row, in whatever order it lies
        elif rows.adjacent and rows.axes[-1] == ndim - 1 and not (one and size <= STRIDED_ROWS):
            arrays, contiguous = [*map(in_rows, arrays)], True
        if contiguous:
            tables = [as_bits(a).reshape(rows.laid) for a in arrays]
            out = [
                as_bits(r).reshape(rows.laid if row else rows.fewer)
                for r, row in zip(results, kept, strict=True)
            ]
            if len(rows.laid) > 2:
                self._side_by_side(tables, shared, out)
            elif self._has_parts(tables[0].size):
                self._in_parts(tables, shared, out)
            else:
                share_rows(self.kernel, tables, shared, out)
            return
        order = [*[d for d in range(ndim) if d not in rows.axes], *rows.axes]
        fewer = reduced_shape(arrays[0].shape, rows.axes, False)
        out = [
            as_bits(r.transpose(order) if row else r.reshape(fewer))
            for r, row in zip(results, kept, strict=True)
        ]
        self._turned([as_bits(a.transpose(order)) for a in arrays], shared, out, one)

    def _side_by_side(self, tables: Sequence[Array], shared: Sequence[Any], out: Sequence[Array]) -> None:
        """Of arrays (k, n, m), of which the rows are along n."""
        across = None
        if tables[0].size > STRIDED_ROWS and not any(self.kept):
            across = kernel_of(self.name, self.dtype, self.kernels, IN_COLUMNS)
        if across is None:
            turned = [o.swapaxes(1, 2) if row else o for o, row in zip(out, self.kept, strict=True)]
            self._turned([t.swapaxes(1, 2) for t in tables], shared, turned, True)
            return
        if self.kernel not in _told:
            _told.add(self.kernel)
            add_columns(self.kernel, across)
        if len(tables[0]) == 1:
            share_columns(across, [t[0] for t in tables], shared, [o[0] for o in out])
        else:
            share_rows(across, tables, shared, out)

    def _has_parts(self, size: int) -> bool:
        """Whether all is one long row, whose parts several threads may take; half types would round them."""
        long = size == self.rows.length and size >= 2 * NATIVE_GRAIN
        return long and bool(self.together) and self.dtype.char not in REDUCED

    def _in_parts(self, tables: Sequence[Array], shared: Sequence[Any], out: Sequence[Array]) -> None:
        """Of one long row: the results of its parts are brought together; NumPy finds places in one pass."""
        flat, size = [t.reshape(-1) for t in tables], tables[0].size
        if self.together in ("argmax", "argmin"):
            out[0][...] = getattr(flat[0], self.together)()
        elif self.together == "mean":
            (parts,) = self._of_parts(self.kernel, flat, shared, (self.dtype,))
            rest = size % NATIVE_GRAIN
            parts[: size // NATIVE_GRAIN] *= NATIVE_GRAIN
            parts[size // NATIVE_GRAIN :] *= rest
            out[0][...] = folded(None, "sum", parts, 0) / self.dtype.type(size)
        elif self.together.endswith(";"):
            self._in_stages(flat, [*shared, self.dtype.type(size)], out)
        else:
            (parts,) = self._of_parts(self.kernel, flat, shared, (out[0].dtype,))
            out[0][...] = folded(None, self.together, parts, 0)

    def _in_stages(self, flat: Sequence[Array], numbers: list[Any], out: Sequence[Array]) -> None:
        """Pass by pass: the reductions of one are numbers of the next."""
        for number, names in enumerate(self.together[:-1].split(";")):
            kernel, kinds = getattr(self.kernels, f"{self.name}_stage{number}"), names.split()
            made = self._of_parts(kernel, flat, numbers, [_OF_STAGES.get(name, FLOAT64) for name in kinds])
            hows = ["sum" if name == "count" else name for name in kinds]
            numbers += [folded(None, how, a, 0)[0] for how, a in zip(hows, made, strict=True)]
        last = getattr(self.kernels, f"{self.name}_last")
        last(*numbers, out=tuple([r.reshape(()) for r in out]))

    def _of_parts(
        self, kernel: np.ufunc, flat: Sequence[Array], numbers: Sequence[Any], dtypes: Sequence[Any]
    ) -> list[Array]:
        """What a kernel makes of each part of a row."""
        count, rest = divmod(flat[0].size, NATIVE_GRAIN)
        made = [np.empty(count + (rest > 0), dtype) for dtype in dtypes]
        whole = [a[: a.size - rest].reshape(count, NATIVE_GRAIN) for a in flat]
        share_rows(kernel, whole, numbers, [m[:count] for m in made])
        if rest:
            kernel(
                *[a[a.size - rest :] for a in flat],
                *numbers,
                out=tuple([m[count:].reshape(()) for m in made]),
            )
        return made

    def _turned(self, given: Sequence[Array], shared: Sequence[Any], out: Sequence[Array], one: bool) -> None:
        """Of rows along the last dims, or ``one``, not contiguous: element after element if they are few."""
        if one and given[0].size <= STRIDED_ROWS:
            self.kernel(*given, *shared, out=tuple(out))
        elif goes_across(self.kernel) and one and not shared:
            share_rows(self.kernel, given, (), out)
        else:
            in_blocks_of_rows(self._in_copies(len(given), shared), *given, *out)

    def _in_copies(self, count: int, shared: Sequence[Any]) -> Callable[..., None]:
        """What calls the kernel with copies of so many arrays, and puts what it gives into those behind."""

        def task(*parts: Array) -> None:
            found = self.kernel(*[in_rows(a).reshape(-1, self.rows.length) for a in parts[:count]], *shared)
            found = found if isinstance(found, tuple) else (found,)
            for part, made in zip(parts[count:], found, strict=True):
                part[...] = made.reshape(part.shape)

        return task
