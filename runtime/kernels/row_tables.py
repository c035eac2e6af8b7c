"""Bodies over the rows of tables: with numbers of their own, with sums over all rows, or with a mask.

Few rows are computed at once, more in blocks that stay in a cache. Sums over rows are formed in each block,
and those of blocks are added up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..machine_code import Kernels
from .dims import Dims, other_axes
from .dtypes import REDUCED, DType
from .native_rows import rows_of
from .rows import blocks_of, each_block, rows_of_block
from .shares import share_rows

Array = Any
Shape = tuple[int, ...]
#: What the elements of a sum over rows are; and what native kernels of such are called after others.
COLUMNS, SUMS = "columns", "_sums"
#: What computes results of operands, or puts them into arrays that stand behind these; and which results.
Call = tuple[Callable[..., Any], Sequence[int]]


class Plan(NamedTuple):
    """How a body goes over the rows of arrays of a shape, and which of its results are asked for."""

    #: Shapes of rows, of one number for each and of what they share; what they are reshaped to, if at all.
    shapes: tuple[tuple[Shape, Shape | None], ...]
    order: tuple[int, ...] | None  # of the dims, those of rows last, where they are not
    places: tuple[int, ...] | None  # of the dims in that order
    table: tuple[int, int]
    #: By their numbers the shapes of results, in that order of dims, where they are computed in others;
    #: None of those that are not asked for.
    made: tuple[tuple[int, Shape | None], ...]
    asked: tuple[bool, ...]
    tables: tuple[bool | None, ...]  # whether each is a table, or else a vector (m,); None for sums over rows
    kernels: tuple[tuple[str, tuple[int, ...]], ...]  # native ones, and the numbers of their results
    size: int

    def operands(
        self,
        dtype: DType,
        rows: Sequence[Array],
        singles: Sequence[Array],
        shared: Sequence[Array | None],
    ) -> list[Array] | None:
        """All as tables and vectors; None where shapes or dtypes are others, and of reduced dtypes."""
        if dtype.char in REDUCED:
            return None
        if self.order is not None:
            if [a for a in rows if a.ndim != len(self.order)]:
                return None
            rows = [a.transpose(self.order) for a in rows]
        found, kinds = [], (rows, singles, shared)
        for number, (given, shape) in enumerate(self.shapes):
            for array in kinds[number]:
                if array is not None:
                    if array.shape != given or (array.dtype is not dtype and array.dtype != dtype):
                        return None
                    found.append(array if shape is None else array.reshape(shape))
        return found

    def calls(self, kernels: Kernels, dtype: DType) -> list[Call] | None:
        """The native kernels; None where there are none."""
        if dtype.char not in "fd" or not self.size:
            return None
        found: list[Call] = []
        for name, numbers in self.kernels:
            kernel = getattr(kernels, name)
            if kernel is None:
                return None
            found.append((kernel, numbers))
        return found

    def of_few(self, calls: Sequence[Call], operands: Sequence[Array]) -> list[Array | None]:
        """The results, computed at once."""
        found: list[Any] = [None] * len(self.asked)
        for call, numbers in calls:
            made = call(*operands)
            if len(numbers) == 1:
                found[numbers[0]] = made
            else:
                for i, array in zip(numbers, made, strict=True):
                    found[i] = array
        return self._shaped(found)

    def _shaped(self, found: list[Any]) -> list[Array | None]:
        for i, shape in self.made:
            found[i] = None if shape is None else found[i].reshape(shape)
            if self.places is not None and shape is not None and self.tables[i]:
                found[i] = found[i].transpose(self.places)
        return found

    def of_many(
        self, calls: Sequence[Call], operands: Sequence[Array], each: int, dtypes: Sequence[DType]
    ) -> list[Array | None]:
        """The results, in blocks where rows are summed. All rows share operands but the first, ``each``."""
        (count, length), tables = self.table, self.tables
        own, shared = operands[:each], operands[each:]
        step = rows_of_block(length * own[0].itemsize)
        out: list[Any] = [None] * len(tables)
        for i in [i for _, numbers in calls for i in numbers]:
            shape = (
                (blocks_of(count, step), length) if tables[i] is None else self.table[: 1 + bool(tables[i])]
            )
            out[i] = np.empty(shape, dtypes[i])

        def block(number: int, begin: int, end: int) -> None:
            parts = [a[begin:end] for a in own]
            for call, numbers in calls:
                into = [out[i][number] if tables[i] is None else out[i][begin:end] for i in numbers]
                call(*parts, *shared, *into)

        summed = [o is not None and table is None for o, table in zip(out, tables, strict=True)]
        match calls:
            case [(np.ufunc() as kernel, numbers)] if not any(summed):
                share_rows(kernel, own, shared, [out[i] for i in numbers])
            case _:
                each_block(block, count, step, length)
        return self._shaped([np.add.reduce(o, 0) if s else o for o, s in zip(out, summed, strict=True)])

    def by_form(self, form: Callable[..., Any], rows: int, each: int, others: Sequence[Any]) -> Call:
        """What computes by a form over arrays, which is given all but rows and one number for each of them.

        ``each`` says how many operands these are, ``others`` what all rows share.
        """
        numbers = [i for i, wanted in enumerate(self.asked) if wanted]

        def call(*operands: Array) -> Any:
            singles = [a.reshape(-1, 1) for a in operands[rows:each]]
            found = form(*operands[:rows], *singles, *others)
            found = found if isinstance(found, tuple) else (found,)
            made = tuple([found[i] if self.tables[i] else found[i].reshape(-1) for i in numbers])
            for array, o in zip(made, operands[each:], strict=False):
                o[...] = array
            return made[0] if len(made) == 1 else made

        return call, numbers


@lru_cache(maxsize=1024)
def plan_of(
    name: str,
    kept: tuple[bool, ...],
    kinds: tuple[str, ...],
    asked: tuple[bool, ...] | None,
    shape: Shape,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
) -> Plan:
    """The plan of a body whose native kernels begin with a name; it is kept for the next call.

    ``kept`` says which results have elements along rows. Errors of ``rows_of``.
    """
    where = rows_of(shape, dim, sizes, keepdim)
    order = (*other_axes(len(shape), where.axes), *where.axes)
    turned = order != tuple(range(len(shape)))
    whole, sizes_of_rows = [tuple([shape[d] for d in dims]) for dims in (order, where.axes)]
    table = math.prod(where.single), where.length
    tables = [None if kind == COLUMNS else row for row, kind in zip(kept, kinds, strict=True)]
    wanted = asked or (True,) * len(kinds)
    flat = [table[1:] if t is None else table if t else table[:1] for t in tables]
    made = [sizes_of_rows if t is None else whole if t else where.single for t in tables]
    given = [shape if want else None for shape, want in zip(made, wanted, strict=True)]
    shapes = (whole, table), (where.single, table[:1]), (sizes_of_rows, table[1:])
    of_rows = tuple([i for i, t in enumerate(tables) if t is not None])
    of_sums = tuple([i for i, t in enumerate(tables) if t is None and wanted[i]])
    kernels = [(name, of_rows)] if any([wanted[i] for i in of_rows]) else []
    if of_sums:
        kernels.append((f"{name}{SUMS}{''.join([f'_{i}' for i in of_sums])}", of_sums))
    return Plan(
        tuple([(of, None if of == to else to) for of, to in shapes]),
        order if turned else None,
        tuple([order.index(d) for d in range(len(shape))]) if turned else None,
        table,
        tuple([(i, shape) for i, shape in enumerate(given) if shape != flat[i] or turned]),
        wanted,
        tuple(tables),
        tuple(kernels),
        math.prod(shape),
    )
