"""Operators that are declared by their bodies, over arrays of any library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..bodies import (
    Form,
    Results,
    check_shared,
    check_singles,
    given,
    known,
    one_shape,
    several,
    sizes_beside,
    written_out,
)
from ..dims import Dims, axes_of_rows, length_of, reduced_shape
from ..named_dims import Names, plan_of
from ..reductions import check_nonempty
from ..row_tables import COLUMNS
from .common import Array, cast, is_bool, is_complex, is_integral
from .reductions import folded
from .sorting import scanned


def run_body(
    xp: Any,
    kernels: None,
    name: str,
    form: Form,
    results: Results,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
    dtype: Any,
    rows: Sequence[Array],
    singles: Sequence[Array],
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """What ``kernels.bodies.run_body`` gives, and its errors."""
    form = written_out(form)
    kept, kinds, _, nonempty, wide, asked = results
    before = () if asked is None else (asked,)
    rows = [cast(xp, a, dtype) for a in rows]
    functions = partial(folded, xp, dtype), partial(scanned, xp, dtype)
    shape = one_shape([tuple(a.shape) for a in rows])
    axes = axes_of_rows(shape, dim, sizes)
    sizes_of_rows = tuple([shape[d] for d in axes])
    check_shared(sizes_of_rows, [tuple(a.shape) for a in shared if a is not None])
    check_singles(reduced_shape(shape, axes, keepdim), [tuple(a.shape) for a in singles])
    numbers = known(numbers, length_of(shape, axes))
    own = rows[0].dtype
    doubled = xp.complex128 if is_complex(xp, rows[0]) else xp.float64
    if wide and own != doubled:
        rows, singles, shared = [
            [None if a is None else cast(xp, a, doubled) for a in of] for of in (rows, singles, shared)
        ]
        at = dim, sizes, keepdim
        found = several(
            run_body(xp, kernels, name, form, results, *at, None, rows, singles, shared, *numbers)
        )
        return given([None if a is None else xp.astype(a, narrowed(xp, a, own)) for a in found])
    if 0 in shape:
        if all(kept) and COLUMNS not in kinds:
            return given([xp.zeros(shape, dtype=result_dtype(xp, kind, rows[0], dtype)) for kind in kinds])
        if nonempty and axes:
            check_nonempty(shape, dim, nonempty)
    shapes = [shape if row else reduced_shape(shape, axes, keepdim) for row in kept]
    if COLUMNS in kinds:
        shapes = [sizes_of_rows if kind == COLUMNS else of for kind, of in zip(kinds, shapes, strict=True)]
    if not axes:  # each element is a row
        each = [xp.reshape(a, (*shape, 1)) for a in (*rows, *singles)]
        each += [None if a is None else xp.reshape(a, (1,)) for a in shared]
        found = several(form(*functions, len(shape), 1, *before, *each, *numbers))
        return given([r if r is None else xp.reshape(r, of) for r, of in zip(found, shapes, strict=True)])
    axis = axes[0] if len(axes) == 1 else axes
    wide_shape = sizes_beside(shape, axes)
    beside = [None if a is None else xp.reshape(a, wide_shape) for a in shared]
    each = [xp.reshape(a, reduced_shape(shape, axes, True)) for a in singles]
    found = several(form(*functions, axis, length_of(shape, axes), *before, *rows, *each, *beside, *numbers))
    return given(
        [r if r is None or r.shape == of else xp.reshape(r, of) for r, of in zip(found, shapes, strict=True)]
    )


def run_body_by_names(
    xp: Any,
    kernels: None,
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
    """What ``kernels.named_rows.run_body_by_names`` gives, and its errors."""
    kept, _, _, nonempty, wide, asked = results
    plan = plan_of(names, len(rows), kept, tuple(rows[0].shape), sizes)
    plan.check(rows, singles, shared, nonempty)
    own = rows[0].dtype
    computed = own if not wide else xp.complex128 if is_complex(xp, rows[0]) else xp.float64
    shapes = [plan.rows.beside] * len(rows) + [seen.beside for seen in plan.others]
    operands = [
        None if a is None else cast(xp, xp.reshape(a, of), computed)
        for a, of in zip((*rows, *singles, *shared), shapes, strict=True)
    ]
    first = len(rows) + len(singles)
    operands[first:] = [a if a is None else xp.broadcast_to(a, plan.along(a.shape)) for a in operands[first:]]
    before = partial(folded, xp, None), partial(scanned, xp, None), plan.axes, plan.length
    call = partial(written_out(form), *before, *(() if asked is None else (asked,)))
    found = several(call(*operands, *known(numbers, plan.length)))
    made = [None if a is None else xp.reshape(a, of.shape) for a, of in zip(found, plan.results, strict=True)]
    return given([a if a is None or not wide else xp.astype(a, narrowed(xp, a, own)) for a in made])


def narrowed(xp: Any, array: Array, own: Any) -> Any:
    """The dtype of what was computed in double precision of rows of their own dtype."""
    if array.dtype == xp.complex128:
        return own
    return array.dtype if array.dtype != xp.float64 else xp.float32 if own == xp.complex64 else own


def result_dtype(xp: Any, kind: str, row: Array, asked: Any) -> Any:
    """The dtype of a result that has rows, by what its elements are: as ``kernels.bodies.result_dtype``."""
    if kind in ("bool", "int64"):
        return getattr(xp, kind)
    counted = kind == "running" and asked is None and (is_integral(xp, row) or is_bool(xp, row))
    return xp.int64 if counted else row.dtype
