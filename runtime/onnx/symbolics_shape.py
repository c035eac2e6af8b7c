"""Symbolics of shapes, views, joining and creation."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.device import default_device
from ..core.scalar_type import bool_, dtype, int64
from ..dispatch.legacy_type_dispatch import type_of
from ..kernels.move_plans import Form, FormOfWindows, Plans
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .sizes import dynamic, terms_of
from .symbolics import cast, int_vector, number, widened

_LAST = np.iinfo(np.int64).max


def reshaped(self: Ref, shape: Any) -> Ref:
    """The elements in another shape."""
    sizes = list(shape)
    if -1 not in sizes and 0 not in sizes:
        unknown = [i for i, n in enumerate(sizes) if dynamic(n)]
        if len(unknown) > 1 and self.shape is not None:
            # 0 stands for the size that the dimension has.
            same = [i for i in unknown if i < self.ndim and terms_of(self.shape[i]) == terms_of(sizes[i])]
            if len(unknown) - len(same) <= 1:
                sizes = [0 if i in same else n for i, n in enumerate(sizes)]
                unknown = [i for i in unknown if i not in same]
        if len(unknown) == 1:
            sizes[unknown[0]] = -1  # whatever is left
        made: Ref = onnx.Reshape(self, int_vector(sizes))
        return made
    made = onnx.Reshape(self, int_vector(sizes), allowzero=1 if 0 in sizes else None)
    return made


def as_result(self: Ref, result: Any) -> Ref:
    """The elements in the shape of the result."""
    return reshaped(self, result.shape)


def expanded(self: Ref, result: Any) -> Ref:
    """The tensor broadcast to the shape of the result."""
    made: Ref = onnx.Expand(self, int_vector(result.shape))
    return made


def permute_symbolic(self: Ref, dims: Any) -> Ref:
    """The dimensions in another order."""
    if not self.ndim:
        return identity(self)
    made: Ref = onnx.Transpose(self, perm=[d % self.ndim for d in dims])
    return made


def transposed(self: Ref, dim0: int, dim1: int) -> Ref:
    """Two dimensions exchanged."""
    dims = list(range(self.ndim))
    if dims:
        a, b = dim0 % self.ndim, dim1 % self.ndim
        dims[a], dims[b] = b, a
    return permute_symbolic(self, dims)


def identity(self: Ref) -> Ref:
    """The value itself."""
    made: Ref = onnx.Identity(self)
    return made


def select_symbolic(self: Ref, dim: int, index: int) -> Ref:
    """The slice at one index of a dimension, without it."""
    made: Ref = onnx.Gather(self, constant(index, int64), axis=dim % self.ndim)
    return made


def slice_symbolic(self: Ref, dim: int, start: int | None, end: int | None, step: int) -> Ref:
    """The indices from start to end of a dimension."""
    first = 0 if start is None else start
    last = _LAST if end is None else end
    made: Ref = onnx.Slice(self, [first], [last], [dim % self.ndim], [step])
    return made


def narrowed(self: Ref, dim: int, start: int, length: int) -> Ref:
    """So many indices of a dimension, from start on."""
    size = self.shape[dim]
    first = start + size if start < 0 else start
    return slice_symbolic(self, dim, first, first + length, 1)


def split(self: Ref, dim: int, result: Any) -> tuple[Ref, ...]:
    """The parts of the results' sizes along a dimension."""
    axis = dim % self.ndim
    sizes = [r.shape[axis] for r in result]
    if len(sizes) == 1:
        return (identity(self),)
    made: tuple[Ref, ...] = onnx.Split(self, int_vector(sizes), axis=axis, outputs=len(sizes))
    return made


def unbind_symbolic(self: Ref, dim: int, result: Any) -> tuple[Ref, ...]:
    """The slices along a dimension."""
    return tuple(select_symbolic(self, dim, i) for i in range(len(result)))


def cat_symbolic(tensors: Any, dim: int, result: Any) -> Ref:
    """The tensors one behind the other; empty 1-d ones do not count."""
    parts = [cast(t, result.dtype) for t in tensors if t.shape != (0,)]
    if not parts:
        parts = [cast(tensors[0], result.dtype)]
    made: Ref = onnx.Concat(*parts, axis=dim % parts[0].ndim) if len(parts) > 1 else identity(parts[0])
    return made


def stack_symbolic(tensors: Any, dim: int, result: Any) -> Ref:
    """The tensors side by side along a new dimension."""
    axis = dim % result.ndim
    parts = [onnx.Unsqueeze(cast(t, result.dtype), [axis]) for t in tensors]
    made: Ref = onnx.Concat(*parts, axis=axis) if len(parts) > 1 else parts[0]
    return made


def flip_symbolic(self: Ref, dims: Any) -> Ref:
    """The order along dimensions reversed."""
    axes = [d % self.ndim for d in dims] if self.ndim else []
    if not axes:
        return identity(self)
    count = len(axes)
    made: Ref = onnx.Slice(self, [-1] * count, [-_LAST] * count, axes, [-1] * count)
    return made


def repeat_symbolic(self: Ref, repeats: Any) -> Ref:
    """The tensor as a tile, so many times along each dimension."""
    lead = len(repeats) - self.ndim
    value = onnx.Unsqueeze(self, list(range(lead))) if lead > 0 else self
    made: Ref = onnx.Tile(value, int_vector(repeats)) if repeats else identity(value)
    return made


def roll_symbolic(self: Ref, shifts: Any, dims: Any) -> Ref:
    """The elements moved along dimensions; what falls off comes in at the other end."""
    if not dims:
        return reshaped(roll_symbolic(onnx.Reshape(self, [-1]), shifts, (0,)), self.shape)
    for shift, dim in zip(shifts, dims, strict=True):
        size = self.shape[dim]
        if dynamic(size):
            raise Unsupported("roll along a dynamic axis")
        at = int(-shift % size) if size else 0
        if at:
            axis = dim % self.ndim
            shape = self.shape
            self = onnx.Concat(
                slice_symbolic(self, dim, at, None, 1), slice_symbolic(self, dim, 0, at, 1), axis=axis
            )
            self.shape = shape
    return identity(self)


def padded(self: Ref, pad: Any, value: Any, result: Any, mode: str = "constant") -> Ref:
    """The last dimensions made larger, or smaller for negative numbers; the last comes first in ``pad``."""
    if not pad:
        return identity(self)
    if 0 in self.shape:
        return full_result(value, result)
    count = len(pad) // 2
    low, high = [0] * self.ndim, [0] * self.ndim
    for i in range(count):
        low[self.ndim - 1 - i], high[self.ndim - 1 - i] = pad[2 * i], pad[2 * i + 1]
    kept = [d for d in range(self.ndim) if low[d] < 0 or high[d] < 0]
    source = cast(self, dtype.registry["uint8"]) if self.dtype is bool_ else self
    for d in kept:
        source = onnx.Slice(source, [max(0, -low[d])], [-max(0, -high[d]) or _LAST], [d])
    low, high = [max(0, n) for n in low], [max(0, n) for n in high]
    fill = constant(value, source.dtype) if mode == "constant" else None
    made: Ref = onnx.Pad(source, int_vector([*low, *high]), fill, mode=mode)
    return cast(made, self.dtype)


def moved(form: Form, self: Ref, fill: Any, result: Any, *arguments: Any) -> Ref:
    """What the form of a body makes of the elements, by the constant sources of all places."""
    if any([dynamic(n) for n in self.shape]):
        raise Unsupported("elements that move along a dynamic axis")
    if 0 in self.shape:
        return full_result(fill, result)
    plan = form(Plans, tuple(self.shape), *arguments)
    made = identity(self) if plan.axes is None else onnx.Transpose(self, perm=[*plan.axes])
    if plan.axes is None and plan.seen != plan.source:
        made = reshaped(self, plan.seen)
    for d, along in plan.dims.items():
        index, there = along.by_element()
        made = onnx.Gather(made, constant(index), axis=d)
        if there is not None:
            made = onnx.Where(
                constant(there.reshape(-1, *(1,) * (len(plan.seen) - d - 1))),
                made,
                constant(fill, self.dtype),
            )
    if plan.mask is not None:
        made = onnx.Where(constant(plan.mask), made, constant(fill, self.dtype))
    return reshaped(made, plan.shape) if plan.made != plan.shape else made


def summed_windows(form: FormOfWindows, self: Ref, *arguments: Any) -> Ref:
    """The sums of windows that the form of a body says, by the constant places of all taps."""
    if any([dynamic(n) for n in self.shape]):
        raise Unsupported("windows along a dynamic axis")
    plan = form(Plans, tuple(self.shape), *arguments)

    def summed(made: Ref) -> Ref:
        for axis, taps in plan.taps:
            places, _, there = taps.table
            made = onnx.Gather(made, constant(places), axis=axis)
            if there is not None:
                behind = (1,) * (len(plan.shape) - axis - 1)
                made = onnx.Where(
                    constant(there.reshape(*there.shape, *behind)), made, constant(0, made.dtype)
                )
            made = onnx.ReduceSum(made, int_vector((axis + 1,)), keepdims=0)
        if plan.divisor is not None:
            made = onnx.Div(made, constant(np.asarray(plan.divisor).astype(made.dtype.array_dtype)))
        return made

    found: Ref = widened(summed)(self)
    return found


def filled(shape: Any, value: Any, kind: dtype) -> Ref:
    """A tensor of a shape that has one value everywhere."""
    made: Ref = onnx.Expand(constant(value, kind), int_vector(shape))
    return made


def full_result(value: Any, result: Any) -> Ref:
    """A tensor of the result's shape and dtype that has one value everywhere."""
    return filled(result.shape, value, result.dtype)


def arange_symbolic(start: Any, end: Any, step: Any, result: Any) -> Ref:
    """The numbers from start to end."""
    kind = result.dtype
    if dynamic((start, end, step)):
        made: Ref = onnx.Range(constant(start, kind), constant(end, kind), constant(step, kind))
        return made
    wide = np.int64 if kind.category == "integral" else np.float64
    array = start + np.arange(int(result.shape[0]), dtype=wide) * step
    return constant(array.astype(kind.array_dtype))


def made_here(method: str, *arguments: Any) -> Ref:
    """A constant: what a method of a host's Type makes of numbers, behind which the result stands."""
    *numbers, result = arguments
    if dynamic(numbers):
        raise Unsupported("a tensor of numbers that depend on dynamic axes")
    return constant(getattr(type_of(result.dtype, default_device), method)(*numbers)._array)


def eye_symbolic(rows: int, columns: int, result: Any) -> Ref:
    """Ones on the diagonal."""
    made: Ref = onnx.EyeLike(filled((rows, columns), 0, result.dtype))
    return made


def diagonal_of(self: Ref, offset: int, dim1: int, dim2: int) -> Ref:
    """The diagonals of the matrices that two dimensions hold, along a new last dimension."""
    a, b = dim1 % self.ndim, dim2 % self.ndim
    if dynamic((self.shape[a], self.shape[b])):
        raise Unsupported("a diagonal along a dynamic axis")
    rows, columns = int(self.shape[a]), int(self.shape[b])
    rest = [d for d in range(self.ndim) if d not in (a, b)]
    flat = reshaped(permute_symbolic(self, [*rest, a, b]), [*[self.shape[d] for d in rest], rows * columns])
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    first = max(offset, 0) - min(offset, 0) * columns
    index = first + (columns + 1) * np.arange(length, dtype=np.int64)
    made: Ref = onnx.Gather(flat, constant(index), axis=len(rest))
    return made


def unfold_symbolic(self: Ref, dimension: int, size: int, step: int) -> Ref:
    """The windows of a size along a dimension; their elements are a new last dimension."""
    if not self.ndim:
        made: Ref = onnx.Unsqueeze(self, [0])
        return made
    axis = dimension % self.ndim
    if dynamic(self.shape[axis]):
        raise Unsupported("unfold along a dynamic axis")
    count = (int(self.shape[axis]) - size) // step + 1
    index = step * np.arange(count)[:, None] + np.arange(size)
    found = onnx.Gather(self, constant(index.astype(np.int64)), axis=axis)
    dims = [d if d <= axis else d + 1 for d in range(self.ndim)]
    made = onnx.Transpose(found, perm=[*dims, axis + 1])
    return made


def written_slice(self: Ref, src: Ref, dim: int, index: np.ndarray[Any, Any]) -> Ref:
    """The tensor with other elements at indices of a dimension."""
    axis = dim % self.ndim
    if not index.size:
        return identity(self)
    value = number(self)
    turned = [axis, *[d for d in range(self.ndim) if d != axis]]
    back = [turned.index(d) for d in range(self.ndim)]
    made: Ref = onnx.ScatterND(
        onnx.Transpose(value, perm=turned),
        constant(index.reshape(-1, 1).astype(np.int64)),
        onnx.Transpose(cast(src, value.dtype), perm=turned),
    )
    return cast(onnx.Transpose(made, perm=back), self.dtype)


def slice_written(self: Ref, src: Ref, dim: int, start: int | None, end: int | None, step: int) -> Ref:
    """The tensor with other elements in a slice."""
    size = self.shape[dim]
    if dynamic((size, start, end)):
        raise Unsupported("a write to a slice of a dynamic axis")
    return written_slice(self, src, dim, np.arange(int(size))[start:end:step])


def select_written(self: Ref, src: Ref, dim: int, index: int) -> Ref:
    """The tensor with other elements at an index of a dimension."""
    size = self.shape[dim]
    if dynamic((size, index)):
        raise Unsupported("a write to an index of a dynamic axis")
    source = onnx.Unsqueeze(src, [dim % self.ndim])
    source.shape = tuple(1 if d == dim % self.ndim else n for d, n in enumerate(self.shape))
    return written_slice(self, source, dim, np.asarray([index % int(size)]))


def diagonal_written(self: Ref, src: Ref, offset: int, dim1: int, dim2: int) -> Ref:
    """The tensor with other elements on the diagonals of two dimensions."""
    a, b = dim1 % self.ndim, dim2 % self.ndim
    if dynamic((self.shape[a], self.shape[b])):
        raise Unsupported("a write to a diagonal of a dynamic axis")
    rows, columns = int(self.shape[a]), int(self.shape[b])
    length = max(0, min(rows + min(offset, 0), columns - max(offset, 0)))
    if not length:
        return identity(self)
    index = np.stack([np.arange(length) - min(offset, 0), np.arange(length) + max(offset, 0)], -1).astype(
        np.int64
    )
    rest = [d for d in range(self.ndim) if d not in (a, b)]
    turned = [a, b, *rest]
    value = number(self)
    source = onnx.Transpose(cast(src, value.dtype), perm=[len(rest), *range(len(rest))])
    made = onnx.ScatterND(onnx.Transpose(value, perm=turned), constant(index), source)
    return cast(onnx.Transpose(made, perm=[turned.index(d) for d in range(self.ndim)]), self.dtype)


def as_strided_symbolic(self: Ref, size: Any, stride: Any, storage_offset: int | None) -> Ref:
    """What strides show of a tensor whose elements lie one behind the other."""
    if dynamic((size, stride, self.shape)):
        raise Unsupported("as_strided with a dynamic axis")
    index = np.full((), storage_offset or 0, np.int64)
    for n, s in zip(size, stride, strict=True):
        index = index[..., None] + np.arange(n) * s
    made: Ref = onnx.Gather(onnx.Reshape(self, [-1]), constant(np.asarray(index, np.int64)), axis=0)
    return made
