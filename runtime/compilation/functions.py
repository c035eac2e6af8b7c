"""The standard's functions of Arrays, under its names or NumPy's: they make nodes of a program.

Functions of one element that are not here are those of expressions, and those that have routines.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from functools import partial, reduce
from itertools import product as iterated
from math import e as e, inf as inf, nan as nan, pi as pi, prod as product
from typing import Any

import numpy as np

from tengen.generated.kernels import ROUTINES
from tengen.ir.fuse.calls import lies_well
from tengen.ir.fuse.folds import Fold
from tengen.ir.fuse.nodes import Fill, Input, Pieces, Place, Places, Product, Reduce, Result, Scatter, View
from tengen.ir.fuse.views import contiguous
from tengen.ir.lower.instructions import Instructions, Unlowerable
from tengen.ir.routines import FUNCTIONS

from ..core.scalar_type import dtype as scalar_type
from .arrays import (
    Array,
    absolute,
    as_array,
    astype as astype,
    at_key,
    broadcast_to as broadcast_to,
    called,
    filled,
    flattened,
    has_buffer,
    operation,
    permute_dims as permute_dims,
    power,
    program,
    reshape as reshape,
    table,
    where as where,
    whole_array,
)

Axes = int | Sequence[int] | None
#: Of how many elements a reduction is so many operations.
STEPS = 8
#: Of what all elements are in memory, whoever reads them.
_IN_MEMORY = Input | Result | Product | Reduce | Scatter | Pieces


def __getattr__(name: str) -> Any:
    """A dtype by its name, or a function of one element that has instructions."""
    if name in _DTYPES:
        return _DTYPES[name]
    if name in ROUTINES or name in FUNCTIONS:
        return partial(called, name)
    raise AttributeError(f"there is no {name!r}")


#: NumPy's dtypes by the names of scalar types.
_DTYPES = {each.name: each.array_dtype for each in dict.fromkeys(scalar_type.registry.values())}


def zeros(shape: Any, dtype: Any = np.float64) -> Array:
    return filled(_sizes(shape), 0, dtype)


def ones(shape: Any, dtype: Any = np.float64) -> Array:
    return filled(_sizes(shape), 1, dtype)


def full(shape: Any, fill_value: Any, dtype: Any = None) -> Array:
    if isinstance(fill_value, Array):
        return broadcast_to(astype(fill_value, dtype or fill_value.dtype), _sizes(shape))
    return filled(_sizes(shape), fill_value, dtype or np.result_type(fill_value))


def _sizes(shape: Any) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def zeros_like(x: Array, dtype: Any = None) -> Array:
    return filled(x.shape, 0, dtype or x.dtype)


def ones_like(x: Array, dtype: Any = None) -> Array:
    return filled(x.shape, 1, dtype or x.dtype)


def full_like(x: Array, fill_value: Any, dtype: Any = None) -> Array:
    return full(x.shape, fill_value, dtype or x.dtype)


def asarray(value: Any, dtype: Any = None, copy: bool | None = None) -> Array:
    if isinstance(value, Array):
        return value if dtype is None else astype(value, dtype)
    return table(np.asarray(value, dtype))


def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    places: Any = (start,) if stop is None else (start, stop, step)
    return table(np.arange(*places, dtype=dtype))


def _axes(axis: Axes, ndim: int) -> tuple[int, ...]:
    if axis is None:
        return tuple(range(ndim))
    return tuple([a % ndim for a in ([axis] if isinstance(axis, int) else axis)])


def _fold(fold: str, x: Array, axis: Axes = None, keepdims: bool = False, dtype: Any = None) -> Array:
    """A reduction over axes."""
    if dtype is not None:
        x = astype(x, dtype)
    elif fold in ("sum", "prod") and x.dtype.kind in "bui":
        x = astype(x, np.int64)
    axes = _axes(axis, x.ndim)
    kept = tuple([1 if d in axes else n for d, n in enumerate(x.shape)])
    shape = kept if keepdims else tuple([n for d, n in enumerate(x.shape) if d not in axes])
    if builtins.all([x.shape[d] == 1 for d in axes]):
        # One element: what a fold starts from changes no number but the sign of a zero.
        found = operation("+", x, 0) if fold in ("sum", "max", "min") and x.dtype.kind == "f" else x
        return reshape(found, shape)
    if _is_short(x, axes):
        return reshape(reduce(_BY_ELEMENT[fold], _slices(x, axes)), shape)
    if not Fold(Instructions(), fold, x.dtype.name).lowers:
        raise Unlowerable(f"the {fold} of {x.dtype}")
    if fold in ("max", "min") and not product([x.shape[d] for d in axes]):
        raise Unlowerable(f"the {fold} of no elements")
    given = whole_array(x) if isinstance(x.view.node, Fill) else x
    view = program().reduce(fold, given.view, axes, x.dtype.name)
    return reshape(Array(view, x.dtype), shape)


def _is_short(x: Array, axes: Sequence[int]) -> bool:
    """Whether a reduction is few operations of slices: not where rows are computed for it alone."""
    if not 0 < product([x.shape[d] for d in axes]) <= STEPS:
        return False
    is_row = x.view.is_whole and builtins.max(axes) == x.ndim - 1
    return not is_row or isinstance(x.view.node, _IN_MEMORY)


def _slices(x: Array, axes: Sequence[int]) -> list[Array]:
    """The slices at all places along axes."""
    places = iterated(*[range(n) if d in axes else [slice(None)] for d, n in enumerate(x.shape)])
    return [at_key(x, key) for key in places]


def _place(fold: str, x: Array, axis: int | None = None, keepdims: bool = False) -> Array:
    """The first place of an extreme, or of a NaN."""
    given, at = (x, axis) if axis is not None else (flattened(x), 0)
    best, count = _fold(fold, given, at, True), given.shape[at]
    numbers = reshape(arange(count), [count if d == at % given.ndim else 1 for d in range(given.ndim)])
    found = _fold("min", where((given == best) | (given != given), numbers, count), at, keepdims)
    return reshape(found, (1,) * x.ndim) if keepdims and axis is None else found


def mean(x: Array, axis: Axes = None, keepdims: bool = False) -> Array:
    axes = _axes(axis, x.ndim)
    return _fold("sum", x, axis, keepdims) / float(product([x.shape[d] for d in axes]))


def matmul(a: Array, b: Array) -> Array:
    """Products of matrices, and of vectors as NumPy takes them."""
    if a.ndim == 1 or b.ndim == 1:
        first = reshape(a, (1, a.size)) if a.ndim == 1 else a
        second = reshape(b, (b.size, 1)) if b.ndim == 1 else b
        found = matmul(first, second)
        shape = [*found.shape[:-2], *found.shape[-2:][a.ndim == 1 : 2 - (b.ndim == 1)]]
        return reshape(found, tuple(shape))
    if a.dtype != b.dtype or a.dtype.kind != "f" or a.dtype.itemsize < 4:
        raise Unlowerable(f"products of {a.dtype}")
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    m, k, n = *a.shape[-2:], b.shape[-1]
    if b.shape[-2] != k:
        raise ValueError(f"matmul of {a.shape} and {b.shape}")
    if not product((*batch, m, k, n)):
        return filled((*batch, m, n), 0, a.dtype)
    views = [_for_blas(x, batch) for x in (a, b)]
    return Array(program().product(views[0], views[1], batch), a.dtype)


def _for_blas(x: Array, batch: tuple[int, ...]) -> View:
    """Matrices that lie as BLAS takes them, in batches of a shape."""
    if isinstance(x.view.node, Fill) or not lies_well(x.view.strides[-2:], (x.shape[-2], x.shape[-1])):
        x = whole_array(x)
    return broadcast_to(x, (*batch, *x.shape[-2:])).view


def tensordot(a: Array, b: Array, axes: Any = 2) -> Array:
    """Sums of products over axes of both."""
    over_a, over_b = axes if not isinstance(axes, int) else (range(a.ndim - axes, a.ndim), range(axes))
    over_a, over_b = [d % a.ndim for d in over_a], [d % b.ndim for d in over_b]
    rest_a = [d for d in range(a.ndim) if d not in over_a]
    rest_b = [d for d in range(b.ndim) if d not in over_b]
    shape_a, shape_b = [a.shape[d] for d in rest_a], [b.shape[d] for d in rest_b]
    inner = product([a.shape[d] for d in over_a])
    first = reshape(permute_dims(a, (*rest_a, *over_a)), (product(shape_a), inner))
    second = reshape(permute_dims(b, (*over_b, *rest_b)), (inner, product(shape_b)))
    return reshape(matmul(first, second), (*shape_a, *shape_b))


def matrix_transpose(x: Array) -> Array:
    return permute_dims(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


def expand_dims(x: Array, axis: int) -> Array:
    at = axis % (x.ndim + 1)
    return reshape(x, (*x.shape[:at], 1, *x.shape[at:]))


def squeeze(x: Array, axis: Axes = None) -> Array:
    axes = [d for d, n in enumerate(x.shape) if n == 1] if axis is None else _axes(axis, x.ndim)
    return reshape(x, tuple([n for d, n in enumerate(x.shape) if d not in axes]))


def broadcast_arrays(*arrays: Any) -> list[Array]:
    shape = np.broadcast_shapes(*[a.shape for a in arrays])
    return [broadcast_to(a, shape) for a in arrays]


def concat(arrays: Sequence[Array], axis: int = 0) -> Array:
    """The arrays one after the other along an axis."""
    dtype = np.result_type(*[a.dtype for a in arrays])
    arrays = [astype(a, dtype) for a in arrays]
    at = axis % arrays[0].ndim
    shape = [*arrays[0].shape]
    shape[at] = builtins.sum([a.shape[at] for a in arrays])
    steps, begin, parts = contiguous(shape), 0, []
    for a in arrays:
        if a.size:
            given = a if has_buffer(a) else whole_array(a)
            parts.append((given.view, place_of(a.shape, steps, begin * steps[at])))
        begin += a.shape[at]
    if not parts:
        return filled(shape, 0, dtype)
    return Array(program().pieces(parts, shape, True), dtype)


def place_of(shape: Sequence[int], strides: Sequence[int], offset: int) -> Place:
    """Where a part of a buffer is, by the dims that have more than one place."""
    longer = [d for d, n in enumerate(shape) if n != 1]
    return Place(tuple([shape[d] for d in longer]), tuple([strides[d] for d in longer]), offset)


def stack(arrays: Sequence[Array], axis: int = 0) -> Array:
    return concat([expand_dims(a, axis) for a in arrays], axis)


def take(x: Array, index: Array, axis: int | None = None) -> Array:
    """The slices at an index along an axis, which has no place before the first or behind the last."""
    if axis is None:
        x, axis = flattened(x), 0
    at = axis % x.ndim
    shape = (*x.shape[:at], *index.shape, *x.shape[at + 1 :])
    if x.number is not None or not x.size:
        return filled(shape, x.number or 0, x.dtype)
    if isinstance(index.view.node, Places):  # in constant steps: what it takes is a view
        step, strides = x.view.strides[at], x.view.strides
        own = tuple([s * step for s in index.view.strides])
        return Array(
            x.view.with_shape(shape, (*strides[:at], *own, *strides[at + 1 :]), index.view.offset * step),
            x.dtype,
        )
    given = whole_array(index) if isinstance(index.view.node, Fill) else index
    x = x if has_buffer(x) else whole_array(x)
    return Array(program().pick(x.view, astype(given, np.int64).view, at), x.dtype)


def take_along_axis(x: Array, index: Array, axis: int = -1) -> Array:
    """The elements at an index along an axis, the other dims in step."""
    at = axis % x.ndim
    places = astype(index, np.int64) * contiguous(x.shape)[at]
    for d, n in enumerate(index.shape):
        if d != at and n > 1:
            steps = table(np.arange(n) * contiguous(x.shape)[d])
            places = places + reshape(steps, [n if e == d else 1 for e in range(x.ndim)])
    return take(flattened(x), places, 0)


def round(x: Array) -> Array:
    return called("rint", x) if x.dtype.kind == "f" else x


def _of_floats(function: str, x: Array) -> Array:
    return called(function, x) if x.dtype.kind == "f" else x


def sign(x: Array) -> Array:
    if x.dtype.kind not in "if":
        raise Unlowerable(f"the sign of {x.dtype}")
    found = astype(x > 0, x.dtype) - astype(x < 0, x.dtype)
    return where(x == x, found, x)


def _extreme(name: str, symbol: str, a: Any, b: Any) -> Array:
    """The greater or lesser of two numbers, NaN where one is."""
    first, second = (a, as_array(b, a)) if isinstance(a, Array) else (as_array(a, b), b)
    if first.dtype.kind == "f":
        return called(name, first, second)
    return where(operation(symbol, first, second), first, second)


def isfinite(x: Array) -> Array:
    return absolute(x) < float("inf") if x.dtype.kind == "f" else filled(x.shape, True, np.bool_)


def isinf(x: Array) -> Array:
    return absolute(x) == float("inf") if x.dtype.kind == "f" else filled(x.shape, False, np.bool_)


def clip(x: Array, min: Any = None, max: Any = None) -> Array:
    x = x if min is None else _extreme("maximum", ">", x, min)
    return x if max is None else _extreme("minimum", "<", x, max)


def flip(x: Array, axis: Axes = None) -> Array:
    axes = _axes(axis, x.ndim)
    return at_key(x, tuple([slice(None, None, -1) if d in axes else slice(None) for d in range(x.ndim)]))


def isdtype(dtype: Any, kind: Any) -> bool:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return builtins.any([_is_of(np.dtype(dtype), k) for k in kinds])


def _is_of(dtype: Any, kind: Any) -> bool:
    if not isinstance(kind, str):
        return bool(dtype == kind)
    is_float = dtype.kind == "f" or dtype.name == "bfloat16"
    found: dict[str, bool] = {
        "bool": dtype.kind == "b",
        "signed integer": dtype.kind == "i",
        "unsigned integer": dtype.kind == "u",
        "integral": dtype.kind in "iu",
        "real floating": is_float,
        "complex floating": dtype.kind == "c",
        "numeric": dtype.kind in "iufc" or is_float,
    }
    return found[kind]


def isnan(x: Array) -> Array:
    return x != x


def real(x: Array) -> Array:
    return x


def negative(x: Array) -> Array:
    return -x


def square(x: Array) -> Array:
    return x * x


def reciprocal(x: Array) -> Array:
    return 1 / x


def result_type(*given: Any) -> Any:
    return np.result_type(*[getattr(value, "dtype", value) for value in given])


conj = positive = real
abs, pow = absolute, power
finfo, iinfo = np.finfo, np.iinfo
sum, prod = partial(_fold, "sum"), partial(_fold, "prod")
max, min = partial(_fold, "max"), partial(_fold, "min")
argmax, argmin = partial(_place, "max"), partial(_place, "min")
any, all = partial(_fold, "any"), partial(_fold, "all")
maximum, minimum = partial(_extreme, "maximum", ">"), partial(_extreme, "minimum", "<")
floor, ceil = partial(_of_floats, "floor"), partial(_of_floats, "ceil")
trunc = partial(_of_floats, "trunc")
add, subtract = partial(operation, "+"), partial(operation, "-")
multiply, divide = partial(operation, "*"), partial(operation, "/")
equal, not_equal = partial(operation, "=="), partial(operation, "!=")
less, less_equal = partial(operation, "<"), partial(operation, "<=")
greater, greater_equal = partial(operation, ">"), partial(operation, ">=")
bitwise_and, bitwise_or = partial(operation, "&"), partial(operation, "|")
bitwise_xor = partial(operation, "^")
#: How one more element comes to a reduction.
_BY_ELEMENT = {
    "sum": add,
    "prod": multiply,
    "max": maximum,
    "min": minimum,
    "any": bitwise_or,
    "all": bitwise_and,
}
