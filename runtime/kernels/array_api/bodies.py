"""Operators that are declared by their bodies, over arrays of any library."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..bodies import (
    Form,
    Results,
    check_shared,
    given,
    known,
    one_shape,
    several,
    sizes_beside,
    written_out,
)
from ..dims import Dims, axes_of_rows, length_of
from ..reductions import check_nonempty
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
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """What ``kernels.bodies.run_body`` gives, and its errors."""
    form = written_out(form)
    kept, kinds, _, nonempty, wide = results
    rows = [cast(xp, a, dtype) for a in rows]
    functions = partial(folded, xp, dtype), partial(scanned, xp, dtype)
    shape = one_shape([tuple(a.shape) for a in rows])
    axes = axes_of_rows(shape, dim, sizes)
    numbers = known(numbers, length_of(shape, axes))
    own = rows[0].dtype
    doubled = xp.complex128 if is_complex(xp, rows[0]) else xp.float64
    if wide and own != doubled:
        wide_rows = [cast(xp, a, doubled) for a in rows]
        more = wide_rows, [None if a is None else cast(xp, a, doubled) for a in shared]
        found = several(
            run_body(xp, kernels, name, form, results, dim, sizes, keepdim, None, *more, *numbers)
        )
        return given([xp.astype(a, narrowed(xp, a, own)) for a in found])
    check_shared(shape, axes, [tuple(a.shape) for a in shared if a is not None])
    if 0 in shape:
        if all(kept):
            return given([xp.zeros(shape, dtype=result_dtype(xp, kind, rows[0], dtype)) for kind in kinds])
        if nonempty and axes:
            check_nonempty(shape, dim, nonempty)
    if not axes:  # each element is a row
        each = [xp.reshape(a, (*shape, 1)) for a in rows]
        each += [None if a is None else xp.reshape(a, (1,)) for a in shared]
        found = several(form(*functions, len(shape), 1, *each, *numbers))
        return given([xp.reshape(r, shape) for r in found])
    axis = axes[0] if len(axes) == 1 else axes
    wide_shape = sizes_beside(shape, axes)
    beside = [None if a is None else xp.reshape(a, wide_shape) for a in shared]
    found = several(form(*functions, axis, length_of(shape, axes), *rows, *beside, *numbers))
    if not keepdim:
        found = [r if row else xp.squeeze(r, axis=axes) for r, row in zip(found, kept, strict=True)]
    return given(found)


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
