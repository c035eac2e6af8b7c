"""Operators that are declared by their bodies: the shapes of what these give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bodies import axes_of_rows, check_rows, check_shared, given, one_shape
from ..dims import Dims, reduced_shape
from .array import MetaArray


def run_body(
    kernels: None,
    name: str,
    form: Any,
    kept: Sequence[bool],
    nonempty: bool,
    dim: int | Dims,
    sizes: str,
    keepdim: bool,
    rows: Sequence[MetaArray],
    shared: Sequence[MetaArray | None],
    *numbers: float,
) -> Any:
    """The results of ``kernels.bodies.run_body``, without elements, and its errors."""
    shape = one_shape([a.shape for a in rows])
    axes = axes_of_rows(shape, dim, sizes)
    check_shared(shape, axes, [a.shape for a in shared if a is not None])
    if nonempty and 0 in shape and not all(kept):
        check_rows(shape, dim)
    fewer = reduced_shape(shape, axes, keepdim)
    return given([MetaArray(shape if row else fewer, rows[0].dtype) for row in kept])
