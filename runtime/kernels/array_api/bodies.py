"""Operators that are declared by their bodies, over arrays of any library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..bodies import given, one_shape, several
from ..dims import wrap_dim
from .common import Array


def run_body(
    xp: Any,
    kernels: None,
    name: str,
    form: Callable[..., Any],
    kept: Sequence[bool],
    dim: int,
    keepdim: bool,
    rows: Sequence[Array],
    *numbers: float,
) -> Any:
    """What ``kernels.bodies.run_body`` gives. IndexError for a bad dim."""
    ndim = len(one_shape([a.shape for a in rows]))
    axis = wrap_dim(dim, ndim)
    if all(kept) and 0 in rows[0].shape:
        return given([xp.zeros(rows[0].shape, dtype=rows[0].dtype) for _ in kept])
    results = several(form(axis, *[a if ndim else xp.reshape(a, (1,)) for a in rows], *numbers))
    if not ndim:
        results = [xp.reshape(r, ()) for r in results]
    elif not keepdim:
        results = [r if row else xp.squeeze(r, axis=axis) for r, row in zip(results, kept, strict=True)]
    return given(results)
