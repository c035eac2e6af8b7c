"""Operators that are declared by their bodies, over arrays of any library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ..bodies import (
    axes_of_rows,
    check_rows,
    check_shared,
    given,
    length_of,
    one_shape,
    several,
    sizes_beside,
)
from ..dims import Dims
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
    sizes: str,
    keepdim: bool,
    rows: Sequence[Array],
    shared: Sequence[Array | None],
    *numbers: float,
) -> Any:
    """What ``kernels.bodies.run_body`` gives, and its errors."""
    scan = partial(scanned, xp)
    shape = one_shape([tuple(a.shape) for a in rows])
    axes = axes_of_rows(shape, dim, sizes)
    check_shared(shape, axes, [tuple(a.shape) for a in shared if a is not None])
    if 0 in shape:
        if all(kept):
            return given([xp.zeros(shape, dtype=rows[0].dtype) for _ in kept])
        if nonempty:
            check_rows(shape, dim)
    if not shape:
        one = [None if a is None else xp.reshape(a, (1,)) for a in (*rows, *shared)]
        results = several(form(scan, 0, 1, *one, *numbers))
        return given([xp.reshape(r, ()) for r in results])
    axis = axes[0] if len(axes) == 1 else axes
    wide_shape = sizes_beside(shape, axes)
    beside = [None if a is None else xp.reshape(a, wide_shape) for a in shared]
    results = several(form(scan, axis, length_of(shape, axes), *rows, *beside, *numbers))
    if not keepdim:
        results = [r if row else xp.squeeze(r, axis=axes) for r, row in zip(results, kept, strict=True)]
    return given(results)
