"""Kernels of the operators that make tensors of nothing but numbers, and what a dtype makes of a number."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.user_stack import program_stacklevel
from . import cpu
from .dtypes import NATIVE_FLOATS, is_complex, is_complex32, is_float8, is_stored
from .layout import check_bytes, contiguous_strides, extent, strides_in
from .uninitialized import unwritten

Array = Any
Operand = Any
Number = bool | int | float | complex
Real = bool | int | float
Shape = Sequence[int]
DType = np.dtype[Any]


# -- constants ----------------------------------------------------------------------------


def check_size(size: Shape) -> tuple[int, ...]:
    """``size`` as a tuple. Raises RuntimeError for a negative dimension."""
    shape = tuple(size)
    for n in shape:
        if n < 0:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n}: {list(shape)}")
    return shape


def as_number(value: Number, dtype: DType) -> Number:
    """``value`` as a number that ``dtype`` takes: truncated for integers, wrapped for uint8's negative ones.

    Raises RuntimeError for what is beyond its greatest number, and for a complex number where it is real.
    """
    if value.__class__ is float and dtype.char in NATIVE_FLOATS and -65504 <= value <= 65504:
        return value
    kind = dtype.kind
    if kind == "b":
        return bool(value)
    if is_complex(dtype):
        _check_range(value.real, dtype)
        _check_range(value.imag, dtype)
        return value
    if isinstance(value, complex):
        if value.imag:
            raise _does_not_fit(dtype)
        value = value.real
    if kind not in "iu":
        _check_range(value, dtype)
        return float(value)
    limits = np.iinfo(dtype)
    least = -limits.max if kind == "u" and isinstance(value, int) else limits.min
    if not least <= value <= limits.max:
        raise _does_not_fit(dtype)
    number = int(value)
    return number % (limits.max + 1) if kind == "u" else number


def cast_number(value: Number, dtype: np.dtype[Any]) -> Array:
    """``value`` as a 0-d array of ``dtype``, cut off towards zero for integers.

    Raises RuntimeError when it does not fit. Negative integers wrap around in unsigned types,
    as they do in PyTorch.
    """
    return np.asarray(held(value, dtype), dtype)


def check_scalar(value: Array) -> None:
    """RuntimeError for an array with dimensions."""
    if value.ndim:
        raise RuntimeError(
            f"only supports a 0-dimensional value tensor, but got tensor with {value.ndim} dimension(s)."
        )


def as_scalar(value: Array | Number, dtype: np.dtype[Any]) -> Operand:
    """A number or 0-d array as ``cast_number``. Raises RuntimeError for an array with dimensions."""
    if isinstance(value, (bool, int, float, complex)):
        return cast_number(value, dtype)
    check_scalar(value)
    return (
        value
        if value.dtype == dtype
        else cast_number(value.astype(float).item() if value.dtype.kind == "V" else value.item(), dtype)
    )


def _check_range(value: Real, dtype: DType) -> None:
    """RuntimeError for a number beyond the greatest of a floating dtype; infinity is one of most."""
    if is_float8(dtype):
        from .float8 import holds

        if holds(value, dtype):
            return
        raise _does_not_fit(dtype)
    if -65504 <= value <= 65504 or value != value or value in (math.inf, -math.inf):
        return  # float16's greatest number; beyond it the dtype decides
    import ml_dtypes

    greatest = float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]
    if not -greatest <= value <= greatest:
        raise _does_not_fit(dtype)


def _does_not_fit(dtype: DType) -> RuntimeError:
    return RuntimeError(f"value cannot be converted to type {dtype} without overflow")


def empty(size: Shape, dtype: DType, memory_format: Any = None) -> Array:
    """Whatever the memory held, in a memory format. Raises RuntimeError for a negative dimension."""
    shape = check_size(size)
    if memory_format is None:
        return unwritten(np.empty(shape, dtype))
    return unwritten(cpu.empty_strided(shape, strides_in(memory_format, shape), dtype))


def full(size: Shape, fill_value: Number, dtype: DType) -> Array:
    """``fill_value`` everywhere.

    Raises RuntimeError for a negative dimension, and for a number that the dtype cannot hold.
    """
    shape = check_size(size)
    if fill_value.__class__ is int and 0 <= fill_value <= 1 and dtype.isbuiltin:
        return np.full(shape, fill_value, dtype) if fill_value else np.zeros(shape, dtype)
    return _full(shape, fill_value, dtype)


def filled(self: Array, value: Number) -> Array:
    """An array like ``self`` with a number everywhere. Raises RuntimeError as ``full``."""
    return _full(self.shape, value, self.dtype)


def fill_with_number(self: Array, value: Number) -> Array:
    """A 0-d array of a number, which stands for each element of ``self``. Raises RuntimeError as ``full``."""
    return np.asarray(_held_by(self.shape, value, self.dtype), self.dtype)


def made(form: Callable[..., Any], *arguments: Any) -> Array:
    """The array whose shape and elements a form says, rounded once to the dtype, its last argument.

    Raises what the form raises, and RuntimeError for a negative size.
    """
    dtype: DType = arguments[-1]
    sizes, elements = form(*arguments)
    shape = check_size(sizes)
    found = elements(*([np.arange(*shape)] if len(shape) == 1 else np.ix_(*map(np.arange, shape))))
    if not isinstance(found, np.ndarray):
        return _full(shape, found, dtype)
    found = found.astype(dtype)
    return found if found.shape == shape else np.broadcast_to(found, shape).copy()


def _full(shape: Shape, value: Number, dtype: DType) -> Array:
    return np.full(shape, _held_by(shape, value, dtype), dtype)


def _held_by(shape: Shape, value: Number, dtype: DType) -> Number | Array:
    """``held``, or what casting makes of a number beyond the greatest, where that fills in."""
    return held(filler(shape, value, dtype) if overflows(shape, value, dtype) else value, dtype)


#: By the reduced type, its greatest number.
_GREATEST = {"e": 65504.0, "E": float.fromhex("0x1.FEp127")}
#: That of float32.
_GREATEST_FLOAT32 = float.fromhex("0x1.fffffep127")


def filler(shape: Shape, value: Number, dtype: DType) -> Number:
    """``as_number``; or what casting makes of a number beyond the greatest, where that fills in."""
    if not overflows(shape, value, dtype):
        return as_number(value, dtype)
    if is_complex32(dtype):
        return complex(*[float(np.float32(part).astype(np.float16)) for part in (value.real, value.imag)])
    wide = np.asarray(float(value))  # type: ignore[arg-type]
    cast: float = cpu.cast(cpu.cast(wide, dtype), wide.dtype).item()
    return cast


def overflows(shape: Shape, value: Number, dtype: DType) -> bool:
    """Whether a number beyond a short type is cast, where that is no error in PyTorch.

    It is none of one element, and of complex32 of any other count, if complex64 has the number.
    """
    if is_complex32(dtype):
        parts = [abs(part) for part in (value.real, value.imag) if not math.isinf(part)]
        return math.prod(shape) != 1 and _GREATEST["e"] < max(parts, default=0) <= _GREATEST_FLOAT32
    small = is_float8(dtype)
    if not (small or dtype.char in _GREATEST) or isinstance(value, complex) or math.prod(shape) != 1:
        return False
    if small:
        from .float8 import holds

        return not holds(value, dtype)
    return abs(value) > _GREATEST[dtype.char]


def held(value: Number, dtype: DType) -> Number | Array:
    """``as_number``; of float8 and complex32 a 0-d array, since NumPy would round otherwise."""
    number = as_number(value, dtype)
    if dtype.char in NATIVE_FLOATS:
        return number
    return cpu.cast(np.asarray(number), dtype) if is_stored(dtype) else number


def fill_by(self: Array, value: Array) -> Array:
    """An array like ``self`` with the element of a 0-d array everywhere; RuntimeError for another."""
    check_fill(value)
    return np.full(self.shape, cpu.cast(value, self.dtype), self.dtype)


def check_fill(value: Array) -> None:
    """Raises RuntimeError unless the array has no dimensions."""
    if value.ndim:
        raise RuntimeError(
            f"only supports 0-dimension value tensor but got tensor with {value.ndim} dimensions."
        )


def strided_size(size: Shape, stride: Shape) -> int:
    """How many elements of memory a tensor of that shape and those strides takes.

    Raises RuntimeError for two lengths, and for a negative dimension or stride.
    """
    if len(size) != len(stride):
        raise RuntimeError(f"mismatch in length of strides and shape: {list(stride)} and {list(size)}")
    check_size(size)
    if any([s < 0 for s in stride]):
        raise RuntimeError(f"Expected strides to be non-negative, but got {list(stride)}")
    return extent(size, stride)


def empty_strided(size: Shape, stride: Shape, dtype: DType) -> Array:
    """Whatever the memory held, with strides in elements."""
    memory = unwritten(np.empty(strided_size(size, stride), dtype))
    return np.ndarray(tuple(size), dtype, memory, 0, tuple([s * dtype.itemsize for s in stride]))


def empty_permuted_strides(size: Shape, physical_layout: Sequence[int]) -> tuple[int, ...]:
    """The strides of a dense tensor whose dimensions lie in memory in that order, the outermost first.

    Raises RuntimeError for what is no order of the dimensions, and for a negative one.
    """
    shape, count = check_size(size), len(size)
    if len(physical_layout) != count:
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. len(size) = "
            f"{count} is not equal to len(physical_layout) = {len(physical_layout)}"
        )
    for i, d in enumerate(physical_layout):
        if not 0 <= d < count:
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {count - 1}, but got {d} at index {i})"
            )
    if len(set(physical_layout)) != count:
        raise RuntimeError(f"Duplicate dim not allowed, but got {list(physical_layout)}")
    in_memory = contiguous_strides(tuple([shape[d] for d in physical_layout]))
    return tuple([in_memory[physical_layout.index(d)] for d in range(count)])


def eye_shape(n: int, m: int) -> tuple[int, int]:
    """The shape of ``eye(n, m)``. Raises RuntimeError for a negative number."""
    for name, value in (("n", n), ("m", m)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater or equal to 0, got {value}")
    return n, m


def eye(n: int, m: int, dtype: DType) -> Array:
    """1 on the diagonal, 0 elsewhere."""
    return np.eye(*eye_shape(n, m), dtype=dtype)


# -- ranges -------------------------------------------------------------------------------


def _check_range_of(start: Real, end: Real, step: Real) -> None:
    """Raises RuntimeError for a zero step, bounds that are not finite, and an end on the wrong side."""
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start} -> {end}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")


def arange_shape(start: Real, end: Real, step: Real, dtype: DType) -> tuple[int]:
    """The shape of ``arange(start, end, step)``; for int64 the numbers are truncated first.

    Raises RuntimeError for a zero step, bounds that are not finite, an end that lies on the wrong
    side of the start, or more bytes than can be counted; ValueError for a step that is 0 as an int64.
    """
    _check_range_of(start, end, step)
    if dtype == np.int64:
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
        count = -int((start - end) // step)
    else:
        count = math.ceil((end - start) / step)
    check_bytes((count,), dtype.itemsize)
    return (count,)


def arange(start: Real, end: Real, step: Real, dtype: DType) -> Array:
    """``start, start + step, ...`` below ``end``, or above it when step is negative.

    Raises what ``arange_shape`` does.
    """
    (count,) = arange_shape(start, end, step, dtype)
    if dtype.kind in "iu":
        start, step = int(start), int(step)
        if start == 0 and step == 1:
            return np.arange(count).astype(dtype, copy=False)
    return (start + np.arange(count) * step).astype(dtype)


def range_shape(start: Real, end: Real, step: Real, dtype: DType) -> tuple[int]:
    """The shape of ``range(start, end, step)``; for integers the numbers are truncated first. This one warns.

    Raises the errors of ``arange_shape``; ValueError for a step that is 0 as any integer.
    """
    warnings.warn(
        "tengen.range is deprecated, for it does not do as Python's range: it includes the end. "
        "Use tengen.arange, whose numbers are those in [start, end).",
        UserWarning,
        stacklevel=program_stacklevel(),
    )
    _check_range_of(start, end, step)
    if dtype.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        if step == 0:
            raise ValueError("step must be nonzero")
    count = int((end - start) / step + 1)
    check_bytes((count,), dtype.itemsize)
    return (count,)


def range_(start: Real, end: Real, step: Real, dtype: DType) -> Array:
    """``start, start + step, ...`` up to and with ``end``. Raises what ``arange_shape`` does."""
    (count,) = range_shape(start, end, step, dtype)
    if dtype.kind in "iu":
        start, step = int(start), int(step)
    return (start + np.arange(count) * step).astype(dtype)


def spaced(start: Number, end: Number, steps: int, dtype: DType) -> tuple[Number, Number, Number]:
    """The first of equally spaced numbers, the last one and their distance.

    Those of integers run in float64 between truncated ends, and are truncated once more. Raises RuntimeError
    for a negative number of steps, and for complex ends of a real dtype; NotImplementedError for several
    steps of bools.
    """
    if steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    if (isinstance(start, complex) or isinstance(end, complex)) and not is_complex(dtype):
        raise RuntimeError(f"the ends are complex, which {dtype.name} cannot hold")
    integral = dtype.kind in "iu"
    first = as_number(start, dtype) if integral and steps else start
    if steps < 2:
        return first, first, 0
    if dtype.kind == "b":
        raise NotImplementedError(f"there are no equal distances between bools: got steps={steps}")
    last = as_number(end, dtype) if integral else end
    return first, last, (last - first) / (steps - 1)


def spaced_powers(
    base: float, start: Number, end: Number, steps: int, dtype: DType
) -> tuple[Number, Number, Number]:
    """Such exponents; a single one is the start as it is, of integers too. Raises what ``spaced`` does."""
    if steps == 1 and dtype.kind in "iu" and not isinstance(start, complex):
        as_number(float(np.power(base, float(start))), dtype)
        return float(start), float(start), 0
    return spaced(start, end, steps, dtype)


def window_sizes(window_length: int, periodic: bool) -> tuple[int, int]:
    """How many numbers a window has, and how far the last one of a whole one is from the first.

    A periodic window is one without its last number, which is the first one of the next; windows of one
    number have no such. Raises RuntimeError for a negative length.
    """
    if window_length < 0:
        raise RuntimeError(f"requires non-negative window_length, got window_length={window_length}")
    return window_length, max(window_length - 1 + periodic, 1)


# -- triangles ----------------------------------------------------------------------------


def tril_indices_shape(row: int, col: int, offset: int) -> tuple[int, int]:
    """The shape of ``tril_indices``. Raises RuntimeError for a negative number of rows or columns."""
    _check_matrix(row, col)
    first = min(max(-offset, 0), row)  # the rows before it have nothing, those from ``full`` on all
    full = min(max(col - offset, first), row)
    growing = (full - first) * (2 * offset + first + full + 1) // 2
    return 2, growing + (row - full) * col


def triu_indices_shape(row: int, col: int, offset: int) -> tuple[int, int]:
    """The shape of ``triu_indices``. Raises RuntimeError for a negative number of rows or columns."""
    return 2, row * col - tril_indices_shape(row, col, offset - 1)[1]


def _check_matrix(row: int, col: int) -> None:
    for name, value in (("row", row), ("col", col)):
        if value < 0:
            raise RuntimeError(f"{name} must be non-negative, got {value}")


def tril_indices(row: int, col: int, offset: int, dtype: DType) -> Array:
    """Row and column indices of the lower triangle, row by row."""
    _check_matrix(row, col)
    return np.stack(np.nonzero(np.tri(row, col, offset, bool))).astype(dtype)


def triu_indices(row: int, col: int, offset: int, dtype: DType) -> Array:
    """Row and column indices of the upper triangle, row by row."""
    _check_matrix(row, col)
    return np.stack(np.nonzero(~np.tri(row, col, offset - 1, bool))).astype(dtype)
