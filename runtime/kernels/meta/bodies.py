"""Operators that are declared by their bodies: the shapes of what these give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bodies import Results, check_shared, check_singles, given, known, one_shape
from ..dims import Dims, axes_of_rows, length_of, reduced_shape
from ..dtypes import DType
from ..named_dims import Names, plan_of
from ..reductions import check_nonempty, result_dtype
from ..row_tables import COLUMNS
from .array import MetaArray


def run_body(
    kernels: None,
    name: str,
    form: Any,
    results: Results,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
    dtype: DType | None,
    rows: Sequence[MetaArray],
    singles: Sequence[MetaArray],
    shared: Sequence[MetaArray | None],
    *numbers: float,
) -> Any:
    """The results of ``kernels.bodies.run_body``, without elements, and its errors."""
    kept, kinds, _, nonempty, _, asked = results
    shape = one_shape([a.shape for a in rows])
    axes = axes_of_rows(shape, dim, sizes)
    sizes_of_rows = tuple([shape[d] for d in axes])
    check_shared(sizes_of_rows, [a.shape for a in shared if a is not None])
    if nonempty and axes and 0 in shape and not all(kept):
        check_nonempty(shape, dim, nonempty)
    known(numbers, length_of(shape, axes))
    fewer = reduced_shape(shape, axes, keepdim)
    check_singles(fewer, [a.shape for a in singles])
    shapes = [
        sizes_of_rows if kind == COLUMNS else shape if row else fewer
        for row, kind in zip(kept, kinds, strict=True)
    ]
    if dtype is not None and dtype.kind == "b" and "running" in kinds:
        raise NotImplementedError("not implemented for 'Bool'")
    computed = rows[0].dtype if dtype is None else dtype
    dtypes = [result_dtype(kind, computed, dtype) for kind in kinds]
    wanted = asked or (True,) * len(shapes)
    made = zip(shapes, dtypes, wanted, strict=True)
    return given([MetaArray(of, computed) if wanted else None for of, computed, wanted in made])


def run_body_by_names(
    kernels: None,
    name: str,
    form: Any,
    results: Results,
    names: Names,
    sizes: tuple[int, ...],
    rows: Sequence[MetaArray],
    singles: Sequence[MetaArray | None],
    shared: Sequence[MetaArray | None],
    *numbers: float,
) -> Any:
    """The results of ``kernels.named_rows.run_body_by_names``, without elements, and its errors."""
    kept, kinds, _, nonempty, _, asked = results
    plan = plan_of(names, len(rows), kept, rows[0].shape, sizes)
    plan.check(rows, singles, shared, nonempty)
    known(numbers, plan.length)
    wanted = asked or (True,) * len(kinds)
    made = zip(plan.results, kinds, wanted, strict=True)
    return given(
        [
            MetaArray(seen.shape, result_dtype(kind, rows[0].dtype)) if want else None
            for seen, kind, want in made
        ]
    )
