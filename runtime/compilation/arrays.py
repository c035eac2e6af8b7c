"""Arrays that stand for what a program will compute: the backend on which kernels tell what they do.

Operators run on tensors of such arrays by the kernels that all array libraries share. What these call makes
nodes of the Program of the thread at hand. A kernel that asks for values, or for a function that there are no
instructions for, raises Unlowerable: its operator is called by the program as it is.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from tengen.ir.expressions import ELEMENTWISE_COMPARISONS, Call, Constant, Expr, Name, Operation
from tengen.ir.fuse.nodes import Fill, Places, Program, View, whole
from tengen.ir.fuse.views import contiguous, reshaped
from tengen.ir.lower.instructions import Unlowerable

from ..core.thread_state import propagated

Shape = tuple[int, ...]
#: The most bytes of tables that kernels make: what says where many elements go is a call. Along one dim alone
#: they may be longer, for all others share them.
TABLE, LINE = 1 << 15, 1 << 19


class _Thread(threading.local):
    """The program that kernels make nodes of."""

    program: Program | None = None


thread = propagated(_Thread())


def program() -> Program:
    """The program of this thread. RuntimeError where none is made."""
    if thread.program is None:
        raise RuntimeError("no program is being made in this thread")
    return thread.program


class Array:
    """A view of what a program computes, with the functions of an array."""

    __slots__ = ("dtype", "view")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, view: View, dtype: Any) -> None:
        self.view, self.dtype = view, dtype

    @property
    def shape(self) -> Shape:
        return self.view.shape

    @property
    def ndim(self) -> int:
        return len(self.view.shape)

    @property
    def size(self) -> int:
        return prod(self.view.shape)

    @property
    def number(self) -> Any:
        """The number that all elements are; None where they are not known."""
        node = self.view.node
        return np.dtype(self.dtype).type(node.value) if isinstance(node, Fill) else None

    def __getitem__(self, key: Any) -> Array:
        return at_key(self, key)

    def __bool__(self) -> bool:
        if self.number is None:
            raise Unlowerable("the values decide")
        return bool(self.number)

    __int__ = __float__ = __index__ = __complex__ = __bool__

    def __add__(self, other: Any) -> Array:
        return operation("+", self, other)

    def __radd__(self, other: Any) -> Array:
        return operation("+", other, self)

    def __sub__(self, other: Any) -> Array:
        return operation("-", self, other)

    def __rsub__(self, other: Any) -> Array:
        return operation("-", other, self)

    def __mul__(self, other: Any) -> Array:
        return operation("*", self, other)

    def __rmul__(self, other: Any) -> Array:
        return operation("*", other, self)

    def __truediv__(self, other: Any) -> Array:
        return operation("/", self, other)

    def __rtruediv__(self, other: Any) -> Array:
        return operation("/", other, self)

    def __and__(self, other: Any) -> Array:
        return operation("&", self, other)

    def __or__(self, other: Any) -> Array:
        return operation("|", self, other)

    def __xor__(self, other: Any) -> Array:
        return operation("^", self, other)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__

    def __pow__(self, other: Any) -> Array:
        return power(self, other)

    def __rpow__(self, other: Any) -> Array:
        return power(as_array(other, self), self)

    def __eq__(self, other: Any) -> Array:  # type: ignore[override]
        return operation("==", self, other)

    def __ne__(self, other: Any) -> Array:  # type: ignore[override]
        return operation("!=", self, other)

    def __lt__(self, other: Any) -> Array:
        return operation("<", self, other)

    def __le__(self, other: Any) -> Array:
        return operation("<=", self, other)

    def __gt__(self, other: Any) -> Array:
        return operation(">", self, other)

    def __ge__(self, other: Any) -> Array:
        return operation(">=", self, other)

    def __neg__(self) -> Array:
        return 0 - self if self.dtype.kind == "i" else operation("-x", self)

    def __pos__(self) -> Array:
        return self

    def __invert__(self) -> Array:
        if self.dtype != np.bool_:
            raise Unlowerable("~ of numbers")
        return operation("~x", self)

    def __abs__(self) -> Array:
        return absolute(self)


#: Of numbers alone, what NumPy gives.
_OF_NUMBERS: dict[str, Any] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "-x": np.negative,
    "~x": np.invert,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
}


def filled(shape: Sequence[int], value: Any, dtype: Any) -> Array:
    """One number everywhere, as the dtype holds it."""
    dtype = np.dtype(dtype)
    if dtype.kind == "c":
        raise Unlowerable("complex numbers")
    held = np.asarray(value).astype(dtype).item()
    return Array(program().fill(held, tuple(shape), dtype.name), dtype)


def table(value: Any) -> Array:
    """An array of NumPy's as one of the program: what kernels made."""
    value = np.asarray(value)
    is_line = sum([n > 1 for n in value.shape]) <= 1
    return constant(value, LINE if is_line else TABLE)


def constant(value: Any, most: int | None = None) -> Array:
    """An array of NumPy's as one of the program. Unlowerable where it is in memory and has too many bytes."""
    found = _in_steps(value)
    if found is not None:
        return found
    if most is not None and value.nbytes > most:
        raise Unlowerable(f"a table of {value.size} elements")
    value = np.ascontiguousarray(value)
    key = (value.dtype.name, value.shape, value.tobytes())
    return Array(program().table(value, key, value.shape, value.dtype.name), value.dtype)


def _in_steps(value: Any) -> Array | None:
    """An array of one number everywhere, or of integers in constant steps along each dim; None of others."""
    if not value.size or value.dtype.kind == "c":
        return None
    first = value.flat[0]
    if value.size == 1 or (value.flat[-1] == first and value.tobytes() == first.tobytes() * value.size):
        return filled(value.shape, first, value.dtype)
    if value.dtype != np.int64:
        return None
    steps, numbers = [], first
    for d, n in enumerate(value.shape):
        line = value[(0,) * d + (slice(None),) + (0,) * (value.ndim - d - 1)]
        steps.append(int(line[1] - first) if n > 1 else 0)
        numbers = numbers + (np.arange(n) * steps[-1]).reshape(-1, *(1,) * (value.ndim - d - 1))
    if not bool((numbers == value).all()):
        return None
    return Array(program().numbered(value.shape, steps, int(first)), value.dtype)


def as_array(value: Any, like: Array) -> Array:
    """A number as an array of the dtype of another; arrays as they are."""
    if isinstance(value, Array):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return table(value)
    return filled((), value, like.dtype)


def together(*values: Any) -> tuple[list[Array], Any]:
    """Operands of one dtype, to which they promote as NumPy has it, and that dtype."""
    given = [table(v) if isinstance(v, np.ndarray | np.generic) else v for v in values]
    dtype = np.result_type(*[v.dtype if isinstance(v, Array) else v for v in given])
    made = [astype(v, dtype) if isinstance(v, Array) else filled((), v, dtype) for v in given]
    return made, dtype


def pointwise(expr: Expr, operands: Sequence[Array], dtype: Any) -> Array:
    """An expression of operands, which broadcast."""
    shape = np.broadcast_shapes(*[a.shape for a in operands])
    dtype = np.dtype(dtype)
    if all([isinstance(a.view.node, Fill) for a in operands]):  # computed once, for all elements
        view = program().pointwise(expr, [a.view for a in operands], (), dtype.name)
        return broadcast_to(Array(view, dtype), shape)
    return Array(program().pointwise(expr, [a.view for a in operands], shape, dtype.name), dtype)


def operation(symbol: str, *operands: Any) -> Array:
    """An operator of Python's."""
    given, dtype = together(*operands)
    if symbol == "/" and dtype.kind in "iub":
        dtype = np.dtype("float64")
        given = [astype(a, dtype) for a in given]
    result = np.dtype("bool") if symbol in ELEMENTWISE_COMPARISONS else dtype
    numbers = [a.number for a in given]
    if None not in numbers:
        with np.errstate(all="ignore"):
            value = _OF_NUMBERS[symbol](*numbers)
        return filled(np.broadcast_shapes(*[a.shape for a in given]), value, result)
    names = tuple([Name(f"a{i}") for i in range(len(given))])
    return pointwise(Operation(symbol, names), given, result)


def called(function: str, *operands: Any) -> Array:
    """A function of the language of expressions, or one that has a routine."""
    given, dtype = together(*operands)
    names = tuple([Name(f"a{i}") for i in range(len(given))])
    return pointwise(Call(Name(function), names), given, dtype)


def where(condition: Any, then: Any, otherwise: Any) -> Array:
    """One of two, by a condition."""
    if not isinstance(condition, Array):
        condition = table(np.asarray(condition))
    given, dtype = together(then, otherwise)
    if condition.number is not None:
        chosen = given[0] if condition.number else given[1]
        return broadcast_to(chosen, np.broadcast_shapes(condition.shape, *[a.shape for a in given]))
    if dtype.kind == "i" and None not in [a.number for a in given]:  # of which no dtype tells
        return astype(condition, dtype) * (given[0] - given[1]) + given[1]
    names = (Name("a0"), Name("a1"), Name("a2"))
    return pointwise(Call(Name("where"), names), (condition, *given), dtype)


def absolute(x: Array) -> Array:
    """The magnitudes."""
    if x.dtype.kind == "f" or x.dtype.kind == "V":
        return called("abs", x)
    return x if x.dtype.kind in "ub" else where(x < 0, -x, x)


def astype(x: Array, dtype: Any, copy: bool = True) -> Array:
    """The elements as another dtype."""
    dtype = np.dtype(dtype)
    if x.dtype == dtype:
        return x
    if dtype.kind == "c" or x.dtype.kind == "c":
        raise Unlowerable("complex numbers")
    if x.number is not None:
        with np.errstate(all="ignore"):
            return filled(x.shape, x.number.astype(dtype), dtype)
    return pointwise(Name("a0"), (x,), dtype)


_ONE = Constant(1.0)
#: Powers that NumPy and the native kernels compute in shorter ways.
_POWERS: dict[float, Expr] = {
    2.0: Operation("*", (Name("a0"), Name("a0"))),
    3.0: Operation("*", (Operation("*", (Name("a0"), Name("a0"))), Name("a0"))),
    0.5: Call(Name("sqrt"), (Name("a0"),)),
    -1.0: Operation("/", (_ONE, Name("a0"))),
    -0.5: Operation("/", (_ONE, Call(Name("sqrt"), (Name("a0"),)))),
}


def power(x: Any, exponent: Any) -> Array:
    """Powers: of floating-point numbers with an exponent that has a shorter way."""
    (base, by), dtype = together(x, exponent)
    if dtype.kind != "f" or by.number is None:
        raise Unlowerable("power has no routine")
    number = float(by.number)
    if number in (0.0, 1.0):
        return filled(base.shape, 1, dtype) if number == 0.0 else base
    if number not in _POWERS:
        raise Unlowerable("power has no routine")
    return broadcast_to(pointwise(_POWERS[number], (base,), dtype), np.broadcast_shapes(base.shape, by.shape))


# -- views ---------------------------------------------------------------------------------------


def broadcast_to(x: Array, shape: Sequence[int]) -> Array:
    """The array seen under a shape to which it broadcasts. ValueError where it does not."""
    shape = tuple(shape)
    if np.broadcast_shapes(x.shape, shape) != shape:
        raise ValueError(f"{x.shape} does not broadcast to {shape}")
    lead = len(shape) - x.ndim
    both = zip(x.shape, shape[lead:], x.view.strides, strict=True)
    strides = (0,) * lead + tuple([0 if n == 1 and m != 1 else s for n, m, s in both])
    return Array(x.view.with_shape(shape, strides), x.dtype)


def reshape(x: Array, shape: int | Sequence[int]) -> Array:
    """The same elements in order; of one size -1, that which fits."""
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if -1 in sizes:
        rest = -prod(sizes)
        sizes[sizes.index(-1)] = x.size // rest if rest else 0
    new = tuple(sizes)
    if prod(new) != x.size:
        raise ValueError(f"cannot reshape {x.shape} into {new}")
    if isinstance(x.view.node, Fill):
        return Array(x.view.with_shape(new, (0,) * len(new)), x.dtype)
    strides = reshaped(x.shape, x.view.strides, new)
    if strides is None:
        return Array(whole(program().copied(x.view).node, new), x.dtype)
    return Array(x.view.with_shape(new, strides), x.dtype)


def permute_dims(x: Array, axes: Sequence[int]) -> Array:
    """The dims in another order."""
    axes = [a % x.ndim for a in axes] if x.ndim else []
    shape = tuple([x.shape[a] for a in axes])
    return Array(x.view.with_shape(shape, tuple([x.view.strides[a] for a in axes])), x.dtype)


def at_key(x: Array, key: Any) -> Array:
    """What a basic key shows: integers, slices, None and an ellipsis. Raises Unlowerable for any other."""
    keys = list(key) if isinstance(key, tuple) else [key]
    if not all([k is None or k is Ellipsis or isinstance(k, int | np.integer | slice) for k in keys]):
        raise Unlowerable("an index that is no basic one")
    named = sum([k is not None and k is not Ellipsis for k in keys])
    rest = [slice(None)] * (x.ndim - named)
    place = next((i for i, k in enumerate(keys) if k is Ellipsis), None)
    keys = [*keys, *rest] if place is None else [*keys[:place], *rest, *keys[place + 1 :]]
    shape: list[int] = []
    strides: list[int] = []
    offset, dim = 0, 0
    for k in keys:
        if k is None:
            shape.append(1)
            strides.append(0)
            continue
        size, stride = x.shape[dim], x.view.strides[dim]
        dim += 1
        if isinstance(k, slice):
            start, stop, step = k.indices(size)
            count = len(range(start, stop, step))
            shape.append(count)
            strides.append(stride * step)
            offset += start * stride if count else 0
        else:
            if not -size <= k < size:
                raise IndexError(f"index {k} is out of bounds for size {size}")
            offset += (int(k) % size) * stride
    return Array(x.view.with_shape(tuple(shape), tuple(strides), offset), x.dtype)


def has_buffer(x: Array) -> bool:
    """Whether the elements are in memory, and not numbers that loops know."""
    return not isinstance(x.view.node, Fill | Places)


def whole_array(x: Array) -> Array:
    """The array with a contiguous buffer of its own, or that it has."""
    if has_buffer(x) and x.view.is_whole:
        return x
    return Array(program().copied(x.view), x.dtype)


def flattened(x: Array) -> Array:
    """All elements in one dim, which follow each other."""
    found = whole_array(x)
    return Array(found.view.with_shape((x.size,), contiguous((x.size,))), x.dtype)
