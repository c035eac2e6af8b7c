"""Operators over rows that are declared by their bodies: by a native kernel where there is one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.costs import STRIDED_ROWS
from ..machine_code import Kernels, goes_across
from .copies import in_rows
from .dims import Dims, axes_of, reduced_shape
from .dtypes import REDUCED
from .native_kernels import as_bits, kernel_of
from .reduced import converted, upcast
from .reductions import check_nonempty
from .rows import run as in_blocks_of_rows
from .scans import scanned
from .shares import share_rows

Array = Any
Shape = tuple[int, ...]


def run_body(
    kernels: Kernels | None,
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
    """What a body makes of the rows of arrays over ``dim``: an array, or as many as ``kept`` says.

    ``sizes`` is what the argument is called that ``dim`` is, where that has the sizes of the last dims.
    Each of ``shared`` is one row for all: it has the sizes of those dims; or it is None.
    ``kernels`` has native ones of the ``name``, for each dtype. ``form`` computes it of the function that
    scans arrays, axes, the length of rows, the arrays and the numbers; ``kept`` says of each result whether
    it has rows: else it has one number for each, and ``keepdim`` says whether the dims are kept.
    ``nonempty``: rows must have elements.
    RuntimeError for arrays of several shapes; IndexError for a bad dim, and where rows have no element that
    should, RuntimeError where that is of all dims.
    """
    first = rows[0]
    shape = first.shape
    if len(rows) > 1:
        one_shape([a.shape for a in rows])
    axes = axes_of_rows(shape, dim, sizes)
    beside = [a for a in shared if a is not None]
    if beside:
        check_shared(shape, axes, [a.shape for a in beside])
    if kernels is not None and axes and first.size:
        kernel = kernel_of(name, first.dtype, kernels)
        if kernel is not None and all([a.dtype == first.dtype for a in (*rows, *beside)]):
            return _natively(kernel, kept, keepdim, axes, rows, beside, numbers)
    if first.dtype.char in REDUCED:
        wide = [upcast(a) for a in rows], [None if a is None else upcast(a) for a in shared]
        where = dim, sizes, keepdim
        found = several(run_body(kernels, name, form, kept, nonempty, *where, *wide, *numbers))
        return given([converted(np.asarray(a), first.dtype) for a in found])
    if not first.size:
        if all(kept):
            return given([np.empty(shape, first.dtype) for _ in kept])
        if nonempty:
            check_rows(shape, dim)
    if not shape:
        one = [None if a is None else a.reshape(1) for a in (*rows, *shared)]
        found = several(form(scanned, 0, 1, *one, *numbers))
        return given([a.reshape(()) for a in found])
    axis = axes[0] if len(axes) == 1 else axes
    wide_shape = sizes_beside(shape, axes)
    broadcast = [None if a is None else a.reshape(wide_shape) for a in shared]
    found = several(form(scanned, axis, length_of(shape, axes), *rows, *broadcast, *numbers))
    return given([a if row or keepdim else a.squeeze(axis) for a, row in zip(found, kept, strict=True)])


def axes_of_rows(shape: Shape, dim: int | Dims, sizes: str) -> Shape:
    """The dims that rows are over: those that ``dim`` names, or the last ones, whose sizes ``dim`` has.

    ``sizes`` is what the argument with sizes is called, else "".
    IndexError for a bad dim; RuntimeError for sizes that the last dims do not have, and for none.
    """
    if not sizes:
        return axes_of(dim, len(shape))
    assert isinstance(dim, Sequence)
    first = len(shape) - len(dim)
    if not dim:
        raise RuntimeError(
            f"Expected {sizes} to be at least 1-dimensional, i.e., containing at least one element, "
            f"but got {sizes} = []"
        )
    if first < 0 or shape[first:] != tuple(dim):
        expected = ", ".join(["*", *[str(n) for n in dim]])
        raise RuntimeError(
            f"Given {sizes}={[*dim]}, expected input with shape [{expected}], "
            f"but got input of size {[*shape]}"
        )
    return tuple(range(first, len(shape)))


def length_of(shape: Shape, axes: Shape) -> int:
    """How many elements rows have."""
    return math.prod([shape[d] for d in axes])


def sizes_beside(shape: Shape, axes: Shape) -> Shape:
    """The sizes of what all rows share, to be broadcast beside arrays."""
    return tuple([n if d in axes else 1 for d, n in enumerate(shape)])


def check_shared(shape: Shape, axes: Shape, shapes: Sequence[Shape]) -> None:
    """RuntimeError for operands that rows share, and that are no row."""
    sizes = tuple([shape[d] for d in axes])
    wrong = next((found for found in shapes if tuple(found) != sizes), None)
    if wrong is not None:
        raise RuntimeError(f"expected what all rows share to have sizes {[*sizes]}, but got {[*wrong]}")


def check_rows(shape: Shape, dim: int | Dims) -> None:
    """Raise where rows have no element: IndexError, or RuntimeError where no dim is named."""
    check_nonempty(shape, (dim,) if isinstance(dim, int) else dim)


def one_shape(shapes: Sequence[Shape]) -> Shape:
    """The shape of the operands of a body. RuntimeError where they have several."""
    other = next((shape for shape in shapes if shape != shapes[0]), None)
    if other is not None:
        raise RuntimeError(f"expected operands of one shape, but got {[*shapes[0]]} and {[*other]}")
    return shapes[0]


def _natively(
    kernel: np.ufunc,
    kept: Sequence[bool],
    keepdim: bool,
    axes: Shape,
    arrays: Sequence[Array],
    beside: Sequence[Array],
    numbers: Sequence[float],
) -> Any:
    """What a kernel makes of arrays of one shape and dtype, which have elements."""
    shape, dtype = arrays[0].shape, arrays[0].dtype
    ndim, number = len(shape), np.float32 if dtype.char in REDUCED else dtype.type
    shared = [*[as_bits(in_rows(a).reshape(-1)) for a in beside], *[number(n) for n in numbers]]
    single, fewer = [reduced_shape(shape, axes, keep) for keep in (True, False)]
    length = length_of(shape, axes)
    results = turned = [np.empty(shape if row else single, dtype) for row in kept]
    if axes[0] != ndim - len(axes):  # the kernel's rows come last
        order = [*[d for d in range(ndim) if d not in axes], *axes]
        arrays = [a.transpose(order) for a in arrays]
        turned = [r.transpose(order) for r in results]
    out = [as_bits(r if row else r.reshape(fewer)) for r, row in zip(turned, kept, strict=True)]
    if len(axes) == 1 and arrays[0].size <= STRIDED_ROWS:  # one element after the other, wherever they are
        kernel(*[as_bits(a) for a in arrays], *shared, out=tuple(out))
    elif turned is results:
        tables = [_table(o, length) if row else o.reshape(-1) for o, row in zip(out, kept, strict=True)]
        share_rows(kernel, [_table(a, length) for a in arrays], shared, tables)
    elif goes_across(kernel) and not shared:
        share_rows(kernel, [as_bits(a) for a in arrays], (), out)
    else:
        _in_copies(kernel, arrays, shared, out, length)
    found = zip(results, kept, strict=True)
    return given([r if row or keepdim else r.reshape(fewer) for r, row in found])


def _table(array: Array, length: int) -> Array:
    """An array as a matrix of its rows, contiguous."""
    return as_bits(in_rows(array).reshape(-1, length))


def _in_copies(
    kernel: np.ufunc, arrays: Sequence[Array], shared: Sequence[Any], out: Sequence[Array], length: int
) -> None:
    """Call a kernel with rows that are not contiguous: block by block with copies."""

    def task(*parts: Array) -> None:
        tables = [_table(a, length) for a in parts[: len(arrays)]]
        for part, found in zip(parts[len(arrays) :], several(kernel(*tables, *shared)), strict=True):
            part[...] = found.reshape(part.shape)

    in_blocks_of_rows(task, *arrays, *out)


def several(found: Any) -> Sequence[Array]:
    """The results of what gives one, or a tuple of them."""
    return found if isinstance(found, tuple) else (found,)


def given(found: Sequence[Array]) -> Any:
    """One result, or a tuple of several."""
    return found[0] if len(found) == 1 else tuple(found)
