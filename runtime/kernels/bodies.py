"""Operators over rows that are declared by their bodies: by a native kernel where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core.costs import ROWS_LARGE
from ..machine_code import Kernels
from .copies import in_rows
from .dims import Dims
from .dtypes import FLOAT32, INTEGRAL, REDUCED, DType, acc_dtype, real_dtype
from .native_kernels import kernel_of
from .native_rows import NativeRows, Rows, rows_of
from .reduced import converted, upcast
from .reductions import ADDED, FOLDS, cast, check_nonempty, fold_rows, folded, result_dtype
from .row_tables import COLUMNS, Plan, plan_of
from .rows import run as in_blocks_of_rows
from .scans import WHOLE_SCANS, scanned, scanned_alone

Array = Any
Shape = tuple[int, ...]
#: What computes a body of the functions that reduce and scan arrays, axes, the length of rows, the arrays and
#: the numbers; or the name of the reduction, or of the scan, that is all of it.
Form = Callable[..., Any] | str
#: Whether each result has rows, or a number for each; what its elements are (``result_dtype``); the reduction
#: that brings the results of parts of a row together, or ""; one for which rows must have elements, or "";
#: whether all is computed in double precision, and whether each is asked for, or None.
Results = tuple[Sequence[bool], Sequence[str], str, str, bool, Sequence[bool] | None]
#: What is all of a body, by its name. Fast paths call it with integers, a dim, and whether that stays.
WHOLE: dict[str, Callable[..., Array]] = {**FOLDS, **WHOLE_SCANS}
#: The dtypes that have another of double precision.
DOUBLED = {np.dtype(np.float32): np.dtype(np.float64), np.dtype(np.complex64): np.dtype(np.complex128)}


def run_body(
    kernels: Kernels | None,
    name: str,
    form: Form,
    results: Results,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
    dtype: DType | None,
    rows: Sequence[Array],
    singles: Sequence[Array],
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """What a body makes of the rows of arrays over ``dim``: an array, or as many as there are ``results``.

    ``sizes`` is what the argument is called that ``dim`` is, where that has the sizes of the last dims.
    Rows are taken in the ``dtype``, if there is one. Each of ``singles`` has a number for each row. Each of
    ``shared`` is one row for all: it has the sizes of those dims; or it is None.
    ``kernels`` has native ones of the ``name``, for each dtype. ``keepdim`` says whether
    results that are one number for each row keep the dims.
    RuntimeError for arrays of several shapes; IndexError for a bad dim, and where rows have no element that
    should, RuntimeError where that is of all dims.
    """
    kept, kinds, together, nonempty, wide, asked = results
    first = rows[0]
    # Reductions need no copy of integers, be it in other integers.
    if dtype is not None and not (dtype.char in INTEGRAL and first.dtype.char in INTEGRAL):
        rows = [cast(a, dtype) for a in rows]
        first = rows[0]
    dim = tuple(dim) if isinstance(dim, list) else dim
    shape, own = first.shape, first.dtype
    if singles or asked or COLUMNS in kinds:
        plan = plan_of(name, kept, kinds, asked, shape, dim, sizes, keepdim)
        numbers = known(numbers, plan.table[1]) if numbers else ()
        if nonempty and not first.size and plan.shapes[2][0]:
            check_nonempty(shape, dim, nonempty)
        return _of_tables(kernels, form, results, plan, dtype, rows, singles, shared, numbers)
    if len(rows) > 1:
        one_shape([a.shape for a in rows])
    where = rows_of(shape, dim, sizes, keepdim)
    axes = where.axes
    if own.char in INTEGRAL and form.__class__ is str and axes and first.size:  # which no kernel has
        return np.asarray(WHOLE[form](first, axes, keepdim, *((dtype,) if form in ADDED else ())))
    if numbers:
        numbers = known(numbers, where.length)
    if shared:
        shared = _beside(shape, axes, shared, own)
    if kernels is not None and axes and first.size and (kernel := kernel_of(name, own, kernels)) is not None:
        beside = [a for a in shared if a is not None]
        if all([a.dtype == own for a in (*rows[1:], *beside)]):
            native = NativeRows(kernels, name, kernel, kept, kinds, together, where, own)
            return given(native.results(rows, beside, numbers))
    if own.char in REDUCED or (wide and (own in DOUBLED or acc_dtype(own) != own)):
        wider, none, beside = [list(map(_widened, of)) for of in (rows, (), shared)]
        at = dim, sizes, keepdim
        found = several(run_body(kernels, name, form, results, *at, None, wider, none, beside, *numbers))
        return given([_narrowed(a, own) for a in found])
    if not first.size:
        if all(kept):
            return given([np.empty(shape, result_dtype(kind, own, dtype)) for kind in kinds])
        if nonempty and axes:
            check_nonempty(shape, dim, nonempty)
    if form in FOLDS and (axes or not shape):
        return fold_rows(dtype, form, first, axes, keepdim)
    functions = partial(folded, dtype), partial(scanned if shape else scanned_alone, dtype)
    form = written_out(form)
    if not axes:  # each element is a row
        each = [
            *[a.reshape((*shape, 1)) for a in rows],
            *[None if a is None else a.reshape(1) for a in shared],
        ]
        found = several(form(*functions, len(shape), 1, *each, *numbers))
        return given([a.reshape(shape) for a in found])
    if first.size > ROWS_LARGE and any(kept) and len(where.laid) == 2 and where.laid[0] > 1:
        out = [
            np.empty(shape if row else where.single, result_dtype(kind, own, dtype))
            for row, kind in zip(kept, kinds, strict=True)
        ]
        _in_blocks(partial(form, *functions, 1, where.length), where, kept, rows, [*shared, *numbers], out)
        return given(out)
    axis = axes[0] if len(axes) == 1 else axes
    wide_shape = sizes_beside(shape, axes) if shared else ()
    broadcast = [None if a is None else a.reshape(wide_shape) for a in shared]
    found = several(form(*functions, axis, where.length, *rows, *broadcast, *numbers))
    return given([a if row or keepdim else a.squeeze(axis) for a, row in zip(found, kept, strict=True)])


def _of_tables(
    kernels: Kernels | None,
    form: Form,
    results: Results,
    plan: Plan,
    dtype: DType | None,
    rows: Sequence[Array],
    singles: Sequence[Array],
    shared: Sequence[Array | None],
    numbers: Sequence[float],
) -> Any:
    """``run_body`` of rows with numbers of their own, with sums over rows, or with a mask."""
    own_dtype = rows[0].dtype
    operands = plan.operands(own_dtype, rows, singles, shared)
    if operands is None:
        one_shape([a.shape for a in rows])
        check_singles(plan.shapes[1][0], [a.shape for a in singles])
        check_shared(plan.shapes[2][0], [a.shape for a in shared if a is not None])
        kind = FLOAT32 if own_dtype.char in REDUCED else own_dtype
        rows = [converted(a, kind) for a in rows]
        singles = [converted(a.reshape(plan.shapes[1][0]), kind) for a in singles]
        shared = [a if a is None else converted(a, kind) for a in shared]
        found = _of_tables(kernels, form, results, plan, dtype and kind, rows, singles, shared, numbers)
        return given([_narrowed(a, own_dtype) for a in several(found)])
    calls = None if kernels is None else plan.calls(kernels, own_dtype)
    *_, wide, asked = results
    if calls is None and wide and (own_dtype in DOUBLED or acc_dtype(own_dtype) != own_dtype):
        rows, singles, shared = [list(map(_widened, of)) for of in (rows, singles, shared)]
        found = _of_tables(None, form, results, plan, None, rows, singles, shared, numbers)
        return given([_narrowed(a, own_dtype) for a in several(found)])
    if calls is not None:
        if numbers:
            operands += [own_dtype.type(n) for n in numbers]
    else:
        each = len(rows) + len(singles)
        before = partial(folded, dtype), partial(scanned, dtype), 1, plan.table[1]
        function = partial(written_out(form), *before, *(() if asked is None else (asked,)))
        beside = [a if a is None else a.reshape(1, -1) for a in shared]
        calls = [plan.by_form(function, len(rows), each, [*beside, *numbers])]
        operands = operands[:each]
    if plan.size <= ROWS_LARGE:
        found = plan.of_few(calls, operands)
    else:
        dtypes = [result_dtype(kind, own_dtype, dtype) for kind in results[1]]
        found = plan.of_many(calls, operands, len(rows) + len(singles), dtypes)
    return given(found)


def _beside(shape: Shape, axes: Shape, shared: Sequence[Array | None], own: DType) -> Sequence[Array | None]:
    """What all rows share, in their dtype unless that is a half type. RuntimeError for what is no row."""
    check_shared(tuple([shape[d] for d in axes]), [a.shape for a in shared if a is not None])
    return shared if own.char in REDUCED else [None if a is None else cast(a, own) for a in shared]


def known(numbers: Sequence[Any], length: int) -> tuple[Any, ...]:
    """The numbers, of which functions of the length of rows may give some.

    One that has an error or a warning to tell gives another function, which does: fast paths leave there.
    """
    found = [number(length) if callable(number) else number for number in numbers]
    return tuple([number() if callable(number) else number for number in found])


def _widened(array: Array | None) -> Array | None:
    """A half type as what it is computed in, another as that of double precision."""
    if array is None:
        return None
    if array.dtype.char in REDUCED:
        return upcast(array)
    acc = acc_dtype(array.dtype)
    return array.astype(DOUBLED.get(acc, acc) if acc == array.dtype else acc)


def _narrowed(array: Array | None, own: DType) -> Array | None:
    """What was computed of widened rows, as it is of rows of their own dtype."""
    if array is None:
        return None
    array = np.asarray(array)
    if own.char in REDUCED:
        return converted(array, own) if array.dtype == FLOAT32 else array
    if array.dtype.kind not in "fc":
        return array
    return array.astype(own if array.dtype.kind == "c" else real_dtype(own), copy=False)


def _in_blocks(
    form: Callable[..., Any],
    where: Rows,
    kept: Sequence[bool],
    rows: Sequence[Array],
    others: Sequence[Any],
    out: Sequence[Array],
) -> None:
    """Put into ``out`` what a form makes of rows: in blocks of them that stay in a cache, in threads.

    ``others`` is what all rows share, arrays or numbers.
    """
    beside = [a.reshape(1, -1) if isinstance(a, np.ndarray) else a for a in others]
    tables = [in_rows(a).reshape(where.laid) for a in rows]
    results = [r.reshape(where.laid) if row else r.reshape(-1, 1) for r, row in zip(out, kept, strict=True)]

    def block(*parts: Array) -> None:
        found = several(form(*parts[: len(tables)], *beside))
        for part, made in zip(parts[len(tables) :], found, strict=True):
            part[...] = made

    in_blocks_of_rows(block, *tables, *results)


def written_out(form: Form) -> Callable[..., Any]:
    """The form as a function, be it one reduction or one scan."""
    if not isinstance(form, str):
        return form
    if form in FOLDS:
        return lambda fold, scan, axis, n, row: fold(form, row, axis)
    return lambda fold, scan, axis, n, row: scan(form, row, axis, False)


def sizes_beside(shape: Shape, axes: Shape) -> Shape:
    """The sizes of what all rows share, to be broadcast beside arrays."""
    return tuple([n if d in axes else 1 for d, n in enumerate(shape)])


def check_shared(sizes: Shape, shapes: Sequence[Shape]) -> None:
    """RuntimeError for operands that rows share, and that are no row of these sizes."""
    for wrong in [found for found in shapes if tuple(found) != sizes]:
        raise RuntimeError(f"expected what all rows share to have sizes {[*sizes]}, but got {[*wrong]}")


def check_singles(single: Shape, shapes: Sequence[Shape]) -> None:
    """RuntimeError for operands that have not one number for each row."""
    for wrong in [found for found in shapes if math.prod(found) != math.prod(single)]:
        raise RuntimeError(f"expected a number for each row, of shape {[*single]}, but got {[*wrong]}")


def one_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape of the operands of a body. RuntimeError where they have several."""
    other = next((shape for shape in shapes if shape != shapes[0]), None)
    if other is not None:
        raise RuntimeError(f"expected operands of one shape, but got {[*shapes[0]]} and {[*other]}")
    return shapes[0]


def several(found: Any) -> Sequence[Array]:
    """The results of what gives one, or a tuple of them."""
    return found if isinstance(found, tuple) else (found,)


def given(found: Sequence[Array]) -> Any:
    """One result, or a tuple of several."""
    return found[0] if len(found) == 1 else tuple(found)
