"""Operators that are declared by their bodies, over arrays of any library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..bodies import check_rows, check_shared, given, length_of, one_shape, several, sizes_beside
from ..dims import Dims, axes_of
from .common import Array
from .sorting import scanned


def run_body(
    xp: Any,
    kernels: None,
    name: str,
    form: Callable[..., Any],
    kept: Sequence[bool],
    nonempty: bool,
    dim: int | Dims,
    keepdim: bool,
    rows: Sequence[Array],
    shared: Sequence[Array],
    *numbers: float,
) -> Any:
    """What ``kernels.bodies.run_body`` gives, and its errors."""
    scan = partial(scanned, xp)
    shape = one_shape([tuple(a.shape) for a in rows])
    axes = axes_of(dim, len(shape))
    check_shared(shape, axes, [tuple(a.shape) for a in shared])
    if 0 in shape:
        if all(kept):
            return given([xp.zeros(shape, dtype=rows[0].dtype) for _ in kept])
        if nonempty:
            check_rows(shape, dim)
    if not shape:
        results = several(form(scan, 0, 1, *[xp.reshape(a, (1,)) for a in (*rows, *shared)], *numbers))
        return given([xp.reshape(r, ()) for r in results])
    axis = axes[0] if len(axes) == 1 else axes
    beside = [xp.reshape(a, sizes_beside(shape, axes)) for a in shared]
    results = several(form(scan, axis, length_of(shape, axes), *rows, *beside, *numbers))
    if not keepdim:
        results = [r if row else xp.squeeze(r, axis=axes) for r, row in zip(results, kept, strict=True)]
    return given(results)
