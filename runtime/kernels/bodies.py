"""Operators over rows that are declared by their bodies: by a native kernel where there is one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..machine_code import Kernels
from .dims import wrap_dim
from .dtypes import REDUCED
from .native_kernels import as_bits, as_rows, kernel_of
from .reduced import converted, upcast
from .rows import are_contiguous_rows
from .shares import share_rows

Array = Any


def run_body(
    kernels: Kernels | None,
    name: str,
    form: Callable[..., Any],
    kept: Sequence[bool],
    dim: int,
    keepdim: bool,
    rows: Sequence[Array],
    *numbers: float,
) -> Any:
    """What a body makes of the rows of arrays along ``dim``: an array, or as many as ``kept`` says.

    ``kernels`` has native ones of the ``name``, for each dtype. ``form`` computes it of an axis, the arrays
    and the numbers; ``kept`` says of each result whether it has rows: else it has one number for each, and
    ``keepdim`` says whether the dim is kept. RuntimeError for arrays of several shapes; IndexError for a bad
    dim, and where a row without elements has no extreme.
    """
    first = rows[0]
    if len(rows) > 1:
        one_shape([a.shape for a in rows])
    if kernels is not None and any([are_contiguous_rows(a, dim) for a in rows]):
        kernel = kernel_of(name, first.dtype, kernels)
        if kernel is not None and all([a.dtype == first.dtype for a in rows]):
            return _natively(kernel, kept, keepdim, rows, numbers)
    if first.dtype.char in REDUCED:
        wide = [upcast(a) for a in rows]
        found = several(run_body(kernels, name, form, kept, dim, keepdim, wide, *numbers))
        return given([converted(np.asarray(a), first.dtype) for a in found])
    axis = wrap_dim(dim, first.ndim)
    if not first.ndim:
        made = several(form(0, *[a.reshape(1) for a in rows], *numbers))
        return given([a.reshape(()) for a in made])
    if not first.size and all(kept):
        return given([np.empty(first.shape, first.dtype) for _ in kept])
    try:
        found = several(form(axis, *rows, *numbers))
    except ValueError:
        if first.shape[axis]:
            raise
        raise IndexError(f"Expected reduction dim {axis} to have non-zero size.") from None
    return given([a if row or keepdim else a.squeeze(axis) for a, row in zip(found, kept, strict=True)])


def one_shape(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape of the operands of a body. RuntimeError where they have several."""
    other = next((shape for shape in shapes if shape != shapes[0]), None)
    if other is not None:
        raise RuntimeError(f"expected operands of one shape, but got {[*shapes[0]]} and {[*other]}")
    return shapes[0]


def _natively(
    kernel: np.ufunc, kept: Sequence[bool], keepdim: bool, arrays: Sequence[Array], numbers: Sequence[float]
) -> Any:
    """What a kernel makes of arrays of one shape and dtype, whose last dimension has the rows."""
    shape, dtype = arrays[0].shape, arrays[0].dtype
    results = [np.empty(shape if row else (*shape[:-1], *[1] * keepdim), dtype) for row in kept]
    out = [as_bits(as_rows(r) if row else r.reshape(-1)) for r, row in zip(results, kept, strict=True)]
    number = np.float32 if dtype.char in REDUCED else dtype.type
    share_rows(kernel, [as_bits(as_rows(a)) for a in arrays], [number(n) for n in numbers], out)
    return given(results)


def several(found: Any) -> Sequence[Array]:
    """The results of what gives one, or a tuple of them."""
    return found if isinstance(found, tuple) else (found,)


def given(found: Sequence[Array]) -> Any:
    """One result, or a tuple of several."""
    return found[0] if len(found) == 1 else tuple(found)
