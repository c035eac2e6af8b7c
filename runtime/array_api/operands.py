"""What the functions of the standard have in common: operands of one dtype, axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from ..core.device import device as Device
from ..core.promotion import promote_types
from ..core.scalar_type import dtype as DType, get_default_dtype
from ..tensors.tensor import Tensor

#: Python's numbers, which take the dtype of the array beside them.
Scalar: TypeAlias = bool | int | float | complex
#: An operand of a function of two.
Operand: TypeAlias = Tensor | bool | int | float | complex
#: One axis or several; None: all.
Axes: TypeAlias = int | tuple[int, ...] | None
Where: TypeAlias = Device | str | None

_INTEGERS: Final = ("integral", "unsigned")


def is_integer(dtype: DType) -> bool:
    """Whether the dtype is of integers, signed or not; bool is not."""
    return dtype.category in _INTEGERS and dtype.name != "bool"


def is_signed(dtype: DType) -> bool:
    """Whether the dtype of integers has a sign."""
    return not dtype.name.startswith("u")


def promoted(first: DType, second: DType) -> DType:
    """The dtype that two promote to by the standard: dtypes alone decide, no shape.

    TypeError for uint64 with a signed integer, which have none in common.
    """
    if first == second:
        return first
    if not (is_integer(first) and is_integer(second)):
        return promote_types(first, second)
    if is_signed(first) == is_signed(second):
        return max(first, second, key=lambda d: d.itemsize)
    signed, unsigned = (first, second) if is_signed(first) else (second, first)
    size = max(signed.itemsize, 2 * unsigned.itemsize)
    for each in DType.registry.values():
        if each.itemsize == size and is_integer(each) and is_signed(each):
            return each
    raise TypeError(f"{first} and {second} promote to no dtype: no integers hold the values of both")


def with_scalar(dtype: DType, scalar: Scalar) -> DType:
    """The dtype of an array and a number: the array's, unless its kind cannot hold the number."""
    if isinstance(scalar, complex):
        return dtype.to_complex() if dtype.is_inexact else get_default_dtype().to_complex()
    if isinstance(scalar, float) and not dtype.is_inexact:
        return get_default_dtype()
    if isinstance(scalar, int) and not isinstance(scalar, bool) and dtype.name == "bool":
        return promote_types(dtype, DType.registry["int64"])
    return dtype


def operands(function: str, x1: Operand, x2: Operand) -> tuple[Tensor, Tensor]:
    """Both operands as tensors of the dtype to which they promote. TypeError for two numbers."""
    if isinstance(x1, Tensor):
        if not isinstance(x2, Tensor):
            dtype = with_scalar(x1.dtype, x2)
            return x1.to(dtype), scalar_tensor(x2, dtype, x1)
        if x1.dtype == x2.dtype:
            return x1, x2
        dtype = promoted(x1.dtype, x2.dtype)
        return x1.to(dtype), x2.to(dtype)
    if isinstance(x2, Tensor):
        dtype = with_scalar(x2.dtype, x1)
        return scalar_tensor(x1, dtype, x2), x2.to(dtype)
    got = f"{type(x1).__name__} and {type(x2).__name__}"
    raise TypeError(f"{function}(): one of the operands must be a Tensor, not {got}")


def scalar_tensor(value: Scalar, dtype: DType, beside: Tensor) -> Tensor:
    """A number as a tensor without dimensions, on the device of another one."""
    return beside.new_full((), value, dtype=dtype)


def axes_of(x: Tensor, axis: Axes) -> tuple[int, ...]:
    """The axes as numbers from 0; None means all."""
    if axis is None:
        return tuple(range(x.dim()))
    return tuple(one_axis(x, a) for a in ((axis,) if isinstance(axis, int) else axis))


def one_axis(x: Tensor, axis: int, more: int = 0) -> int:
    """An axis as a number from 0. IndexError unless the array has it, ``more`` dimensions counted in."""
    count = x.dim() + more
    if not -count <= axis < count:
        raise IndexError(f"axis {axis} is out of range for an array of {count} dimensions")
    return axis % count


def shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    """A shape; an integer is that of one dimension."""
    return (shape,) if isinstance(shape, int) else tuple(shape)
