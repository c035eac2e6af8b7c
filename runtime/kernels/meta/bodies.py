"""Operators that are declared by their bodies: the shapes of what these give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..bodies import given, one_shape
from ..dims import wrap_dim
from .array import MetaArray


def run_body(
    kernels: None,
    name: str,
    form: Any,
    kept: Sequence[bool],
    dim: int,
    keepdim: bool,
    rows: Sequence[MetaArray],
    *numbers: float,
) -> Any:
    """The results of ``kernels.bodies.run_body``, without elements. IndexError for a bad dim."""
    shape = one_shape([a.shape for a in rows])
    axis = wrap_dim(dim, len(shape))
    reduced = (*shape[:axis], *([1] * keepdim if shape else []), *shape[axis + 1 :])
    return given([MetaArray(shape if row else reduced, rows[0].dtype) for row in kept])
