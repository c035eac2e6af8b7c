"""Operators over rows of named dims that are declared by their bodies.

Native kernels go over rows that are along the last dims, with what some rows share beside them; over rows
that lie side by side; and over rows in parts, which lie anywhere. Else large arrays are computed in blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from ..core.costs import CHANNEL_PLACES, ROWS_LARGE
from ..machine_code import Kernels, shared_from
from .bodies import DOUBLED, Form, Results, given, known, narrowed, several, widened, written_out
from .copies import in_rows
from .dtypes import FLOAT32, REDUCED
from .named_dims import Names, Plan, Seen, plan_of
from .reduced import converted
from .reductions import folded, result_dtype
from .row_tables import COLUMNS, SUMS
from .rows import blocks_of, each_block, rows_of_block
from .scans import scanned
from .shares import share_columns, share_rows

Array = Any
Shape = tuple[int, ...]
#: What the names of kernels end in whose rows lie side by side, and in parts.
IN_COLUMNS, IN_PLANES = "_in_columns", "_in_planes"


def run_body_by_names(
    kernels: Kernels | None,
    name: str,
    form: Form,
    results: Results,
    names: Names,
    sizes: tuple[int, ...],
    rows: Sequence[Array],
    singles: Sequence[Array | None],
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """What a body makes of the rows of arrays whose dims have ``names``, of which some have given ``sizes``.

    The others are as those of ``run_body``. RuntimeError for arrays of shapes that the names do not fit;
    IndexError where rows have no element that should.
    """
    kept, kinds, _, nonempty, wide, asked = results
    first, own = rows[0], rows[0].dtype
    there = tuple([a is not None for a in shared]) if shared else ()
    plan, way = _way_of(names, len(rows), kept, kinds, asked, there, first.shape, sizes, own)
    if numbers:
        numbers = known(numbers, plan.length)
    operands = *rows, *singles, *shared
    if own.char in REDUCED or not plan.fits(own, operands):
        plan.check(rows, singles, shared, "")
        dtype = FLOAT32 if own.char in REDUCED else own
        rows = [converted(a, dtype) for a in rows]
        singles, shared = [
            [
                None if a is None else converted(a, dtype).reshape(seen.shape)
                for a, seen in zip(of, all_of, strict=True)
            ]
            for of, all_of in ((singles, plan.singles), (shared, plan.shared))
        ]
        found = run_body_by_names(kernels, name, form, results, names, sizes, rows, singles, shared, *numbers)
        return given([narrowed(a, own) for a in several(found)])
    if kernels is not None and way is not None:
        of_all = [own.type(n) for n in numbers]
        found = way.results(kernels, name, rows, [a for a in singles if a is not None], shared, of_all)
        if found is not None:
            return given(found)
    if nonempty and not first.size:
        plan.check(rows, singles, shared, nonempty)
    if not wide or own not in DOUBLED:
        return given(_by_form(form, plan, results, len(rows), operands, numbers))
    found = _by_form(form, plan, results, len(rows), [widened(a) for a in operands], numbers)
    return given([narrowed(a, own) for a in found])


@lru_cache(maxsize=1024)
def _way_of(
    names: Names,
    count: int,
    kept: tuple[bool, ...],
    kinds: tuple[str, ...],
    asked: tuple[bool, ...] | None,
    there: tuple[bool, ...],
    shape: Shape,
    sizes: tuple[int, ...],
    dtype: np.dtype[Any],
) -> tuple[Plan, _Tables | _Parts | None]:
    """The plan for rows of a shape, and how native kernels go over them, if they do; both are kept."""
    plan = plan_of(names, count, kept, shape, sizes)
    wanted = asked or (True,) * len(kinds)
    if dtype.char not in "fd" or 0 in shape:
        return plan, None
    dtypes = [result_dtype(kind, dtype) for kind in kinds]
    if plan.rows_end:
        return plan, _Tables(plan, kept, kinds, dtypes, wanted, there)
    return plan, None if plan.laid is None else _Parts(plan, plan.laid, kept, dtypes, wanted)


class _Tables:
    """How native kernels go over rows along the last dims: one of results with rows and numbers, one of sums.

    Rows are told apart by the first dims, and behind those by what only some of them share.
    """

    def __init__(
        self,
        plan: Plan,
        kept: Sequence[bool],
        kinds: Sequence[str],
        dtypes: Sequence[np.dtype[Any]],
        asked: Sequence[bool],
        there: Sequence[bool],
    ) -> None:
        shape, ndim = plan.rows.beside, len(plan.rows.beside) - len(plan.axes)
        self.dtypes, self.kept = dtypes, kept
        self.sums = [i for i, kind in enumerate(kinds) if kind == COLUMNS and asked[i]]
        self.rows = [i for i, kind in enumerate(kinds) if kind != COLUMNS]
        some = [seen.beside for seen, given in zip(plan.shared, there, strict=True) if given]
        some += [plan.results[i].beside for i in self.sums]
        own = [d for d in range(ndim) if any([of[d] != 1 for of in some])]
        first = min(own, default=ndim)
        self.inner = shape[first:]
        groups = [math.prod(shape[first:ndim])] if own else []
        self.single = math.prod(shape[:first]), *groups
        self.table = *self.single, plan.length
        self.row = self.table[1:]
        self.spread = [_spread(seen.beside[first:], self.inner, self.row) for seen in plan.shared]
        self.summed = {i: _summed(plan.results[i], self.inner) for i in self.sums}
        self.ending = f"{SUMS}{''.join([f'_{i}' for i in self.sums])}"
        # By the order in which kernels give results their numbers and shapes, None of those not asked for.
        self.made = [(i, plan.results[i].shape if asked[i] else None) for i in self.rows]
        self.of_rows = any([asked[i] for i in self.rows])

    def results(
        self,
        kernels: Kernels,
        name: str,
        rows: Sequence[Array],
        singles: Sequence[Array],
        shared: Sequence[Array | None],
        numbers: Sequence[Any],
    ) -> list[Array | None] | None:
        """The results; None where a kernel is missing."""
        tables = [in_rows(a).reshape(self.table) for a in rows]
        tables += [a.reshape(self.single) for a in singles]
        beside = [spread(a) for a, spread in zip(shared, self.spread, strict=True) if a is not None]
        beside += numbers
        kernel = getattr(kernels, name) if self.of_rows else None
        of_sums = getattr(kernels, name + self.ending) if self.sums else None
        if (self.of_rows and kernel is None) or (self.sums and of_sums is None):
            return None
        found: list[Array | None] = [None] * len(self.dtypes)
        if kernel is not None:
            for (i, shape), array in zip(self.made, self._of_rows(kernel, tables, beside), strict=True):
                found[i] = None if shape is None else array.reshape(shape)
        if of_sums is not None:
            made = self._of_sums(of_sums, tables, beside, len(rows))
            for i, array in zip(self.sums, made, strict=True):
                found[i] = self.summed[i](array)
        return found

    def _of_rows(self, kernel: np.ufunc, tables: Sequence[Array], beside: Sequence[Any]) -> Sequence[Array]:
        first = tables[0]
        if first.size < shared_from(kernel):
            return several(kernel(*tables, *beside))
        shapes = [self.table if self.kept[i] else self.single for i in self.rows]
        out = [np.empty(of, self.dtypes[i]) for of, i in zip(shapes, self.rows, strict=True)]
        if first.ndim == 2 or len(first) >= first.shape[1]:
            share_rows(kernel, tables, beside, out)
        else:  # threads share what is more
            own = [a[:, None] for a in beside if getattr(a, "ndim", 0)]
            turned = [a.swapaxes(0, 1) for a in tables]
            share_rows(kernel, (*turned, *own), beside[len(own) :], [o.swapaxes(0, 1) for o in out])
        return out

    def _of_sums(
        self, kernel: np.ufunc, tables: Sequence[Array], beside: Sequence[Any], rows: int
    ) -> Sequence[Array]:
        first = tables[0]
        if first.ndim > 2:
            tables = [a.swapaxes(0, 1) for a in tables]
        if first.size < shared_from(kernel):
            return several(kernel(*tables, *beside))
        out = [np.empty(self.row, first.dtype) for _ in self.sums]
        share_columns(kernel, tables[:rows], tables[rows:], out, beside)
        return out


class _Parts:
    """How native kernels go over rows told apart along one dim of three: side by side, or in parts."""

    def __init__(
        self,
        plan: Plan,
        laid: Shape,
        kept: Sequence[bool],
        dtypes: Sequence[np.dtype[Any]],
        asked: Sequence[bool],
    ) -> None:
        self.laid, self.kept, self.dtypes = laid, kept, dtypes
        self.shapes = [seen.shape if want else None for seen, want in zip(plan.results, asked, strict=True)]
        before, self.depth, places = laid
        self.flat = places == 1
        self.short = self.flat or (before > 1 and places < CHANNEL_PLACES)
        self.table = before * places, self.depth
        # Whether all results are asked for, and have the shapes in which kernels give them side by side.
        given = [self.table if row else (self.depth,) for row in kept]
        self.plain = self.flat and self.shapes == given

    def results(
        self,
        kernels: Kernels,
        name: str,
        rows: Sequence[Array],
        singles: Sequence[Array],
        shared: Sequence[Array | None],
        numbers: Sequence[Any],
    ) -> list[Array | None] | None:
        """The results; None where the kernel is missing."""
        short = self.short or self._is_turned(rows[0])
        kernel = getattr(kernels, name + (IN_COLUMNS if short else IN_PLANES))
        if kernel is None:
            return None
        made = (self._side_by_side if short else self._in_parts)(kernel, rows, singles, numbers)
        if self.plain:
            return [*made]
        return [
            None if shape is None else a.reshape(shape) for a, shape in zip(made, self.shapes, strict=True)
        ]

    def _is_turned(self, row: Array) -> bool:
        """Whether rows lie side by side in memory, as channels that are innermost do."""
        flags = row.flags
        return not flags.c_contiguous and row.reshape(self.laid).swapaxes(1, 2).flags.c_contiguous

    def _side_by_side(
        self, kernel: np.ufunc, rows: Sequence[Array], singles: Sequence[Array], numbers: Sequence[Any]
    ) -> Sequence[Array]:
        """In tables with a row for each place, and a column for each row."""
        if not self.flat:
            rows = [a.reshape(self.laid).swapaxes(1, 2) for a in rows]
        tables = [in_rows(a).reshape(self.table) for a in rows]
        if tables[0].size < shared_from(kernel):
            made = several(kernel(*tables, *singles, *numbers))
        else:
            made = self._empty(self.table)
            share_columns(kernel, (*tables, *singles), (), made, numbers)
        if self.flat:
            return made
        before, depth, places = self.laid
        whole = before, places, depth
        return [a.reshape(whole).swapaxes(1, 2) if row else a for a, row in zip(made, self.kept, strict=True)]

    def _in_parts(
        self, kernel: np.ufunc, rows: Sequence[Array], singles: Sequence[Array], numbers: Sequence[Any]
    ) -> Sequence[Array]:
        """Each row where it lies."""
        tables = [in_rows(a).reshape(self.laid).swapaxes(0, 1) for a in rows]
        made = self._empty(self.laid)
        out = [a.swapaxes(0, 1) if row else a for a, row in zip(made, self.kept, strict=True)]
        share_rows(kernel, (*tables, *singles), numbers, out)
        return made

    def _empty(self, shape: Shape) -> list[Array]:
        each = zip(self.kept, self.dtypes, strict=True)
        return [np.empty(shape if row else self.depth, dtype) for row, dtype in each]


def _summed(seen: Seen, whole: Shape) -> Callable[[Array], Array]:
    """What gives a result of sums of rows with dims ``whole``: the sum along those that it has not, too."""
    own = seen.beside[len(seen.beside) - len(whole) :]
    order = [
        *[d for d, n in enumerate(own) if n == whole[d]],
        *[d for d, n in enumerate(own) if n != whole[d]],
    ]
    size, shape = math.prod(own), seen.shape
    if size == math.prod(whole):
        return lambda a: a.reshape(shape)
    if order == sorted(order):
        return lambda a: np.add.reduce(a.reshape(size, -1), 1).reshape(shape)
    return lambda a: np.add.reduce(a.reshape(whole).transpose(order).reshape(size, -1), 1).reshape(shape)


def _spread(shape: Shape, whole: Shape, row: Shape) -> Callable[[Array], Array]:
    """What gives an operand a value for each element of ``whole``, as rows; ``shape`` is its own."""
    have = [d for d, n in enumerate(whole) if shape[d] == n]
    if have != list(range(len(have))):
        return lambda a: np.broadcast_to(a.reshape(shape), whole).reshape(row)
    times = math.prod(whole[len(have) :])
    return lambda a: (a if times == 1 else a.repeat(times)).reshape(row)


def _by_form(
    form: Form,
    plan: Plan,
    results: Results,
    count: int,
    operands: Sequence[Array | None],
    numbers: Sequence[float],
) -> list[Array | None]:
    """The results by the form over arrays: at once, or in blocks along what tells most rows apart."""
    kept, kinds, *_, asked = results
    wanted = asked or (True,) * len(kinds)
    shape, axes = plan.rows.beside, plan.axes
    shapes = [shape] * count + [seen.beside for seen in plan.others]
    arrays: list[Any] = [None if a is None else a.reshape(of) for a, of in zip(operands, shapes, strict=True)]
    first = count + len(plan.singles)
    for i, a in enumerate(arrays[first:], first):  # what rows share has a value for all of a row
        arrays[i] = None if a is None else np.broadcast_to(a, plan.along(a.shape))
    before = partial(folded, None), partial(scanned, None), axes, plan.length
    call = partial(written_out(form), *before, *(() if asked is None else (asked,)))
    others = [d for d in range(len(shape)) if d not in axes]
    dim = max(others, key=lambda d: shape[d])
    if arrays[0].size <= ROWS_LARGE or shape[dim] == 1:
        found = several(call(*arrays, *numbers))
    else:
        dtypes = [result_dtype(kind, arrays[0].dtype) for kind in kinds]
        single = tuple([1 if d in axes else n for d, n in enumerate(shape)])
        made = [
            seen.beside if kind == COLUMNS else shape if row else single
            for seen, kind, row in zip(plan.results, kinds, kept, strict=True)
        ]
        empty = [(of, dtype) if want else None for of, dtype, want in zip(made, dtypes, wanted, strict=True)]
        found = _in_blocks(call, dim, arrays, numbers, empty)
    return [
        a.reshape(seen.shape) if want else None
        for a, seen, want in zip(found, plan.results, wanted, strict=True)
    ]


def _in_blocks(
    call: Callable[..., Any],
    dim: int,
    arrays: Sequence[Any],
    numbers: Sequence[float],
    made: Sequence[tuple[Shape, np.dtype[Any]] | None],
) -> list[Array | None]:
    """What a form makes of blocks of arrays along a dim; results that have it not are sums of blocks'."""
    first = arrays[0]
    count = first.shape[dim]
    step = rows_of_block(first.size // count * first.itemsize)
    summed = [of is not None and of[0][dim] != count for of in made]
    out: list[Any] = [
        None if of is None else np.empty((blocks_of(count, step), *of[0]) if apart else of[0], of[1])
        for of, apart in zip(made, summed, strict=True)
    ]

    def block(number: int, begin: int, end: int) -> None:
        part = (*(slice(None),) * dim, slice(begin, end))
        parts = [a if a is None or a.shape[dim] != count else a[part] for a in arrays]
        for o, apart, array in zip(out, summed, several(call(*parts, *numbers)), strict=True):
            if o is not None:
                o[number if apart else part] = array

    each_block(block, count, step, first.size // count)
    return [np.add.reduce(o, 0) if apart else o for o, apart in zip(out, summed, strict=True)]
