"""Type promotion: the scalar type that several operands meet in.

The rules are PyTorch's. Operands fall into three categories, of which the first that has the
highest kind of number (bool, integral, floating, complex) decides: tensors with dimensions,
0-d tensors, Python numbers. Within a category the generated table tells.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tengen.generated.promotion import ORDER, TABLE

from .scalar_type import bool_, dtype, get_default_dtype, int64, meant, named, of_python_type
from .tensor_base import TensorBase


class _Table(dict[tuple[dtype, dtype], dtype]):
    """What two scalar types promote to; RuntimeError for those that do not promote."""

    def __missing__(self, pair: tuple[dtype, dtype]) -> dtype:
        first, second = pair
        limited = next(c for c in _LIMITED if c in (first.category, second.category))
        raise RuntimeError(
            f"Promotion for {_LIMITED[limited]} is not supported, "
            f"attempted to promote {first.type_name} and {second.type_name}"
        )


#: What errors call them; the first one is to blame.
_LIMITED: Final = {"float8": "Float8 Types", "unsigned": "uint16, uint32, uint64 types"}
_table: Final = _Table(
    {
        (named(first), named(second)): named(both)
        for first, row in TABLE.items()
        for second, both in zip(ORDER, row, strict=True)
        if both
    }
)


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest scalar type that both types can be cast to.

    TypeError unless both are scalar types, or classes of Python numbers, which mean one.
    """
    return _table[meant("promote_types", "type1", 1, type1), meant("promote_types", "type2", 2, type2)]


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place operator may put a result of type ``from_`` into a tensor of type ``to``.

    Not from complex to real, from floating to integral, nor from anything else to bool. TypeError unless
    both are scalar types, or classes of Python numbers, which mean one.
    """
    return _rank(meant("can_cast", "from_", 1, from_)) <= _rank(meant("can_cast", "to", 2, to))


_RANKS: Final = {
    "bool": 0,
    "integral": 1,
    "floating": 2,
    "reduced": 2,
    "complex": 3,
    "unsigned": 1,
    "float8": 2,
    "reduced_complex": 3,
}


def _rank(d: dtype) -> int:
    return _RANKS[d.category]


def result_type(
    tensor: Any = None, other: Any = None, *, scalar: Any = None, scalar1: Any = None, scalar2: Any = None
) -> dtype:
    """The scalar type of arithmetic on two operands: tensors or Python numbers.

    The names of the arguments are those of PyTorch's four overloads: ``tensor, other``, ``scalar, tensor``
    and ``scalar1, scalar2``. TypeError unless there are two, each a tensor or a number.
    """
    given = [value for value in (scalar1, scalar2, scalar, tensor, other) if value is not None]
    if len(given) != 2 or not all([_is_operand(value) for value in given]):
        got = ", ".join([value.__class__.__name__ for value in given])
        raise TypeError(f"result_type(): two operands must be given, each a Tensor or Number, not ({got})")
    return combined(given)


def _is_operand(value: object) -> bool:
    return isinstance(value, (TensorBase, int, float, complex)) or _is_numpy_number(value)


def _is_numpy_number(value: object) -> bool:
    return hasattr(value, "item") and hasattr(value, "dtype") and getattr(value, "ndim", None) == 0


def combined(operands: Iterable[Any]) -> dtype:
    """The scalar type that the operands, tensors and Python numbers, promote to."""
    sized: dtype | None = None  # of the tensors with dimensions
    zero_dim: dtype | None = None  # of the 0-d tensors
    number: dtype | None = None  # of the Python numbers
    for operand in operands:
        if isinstance(operand, TensorBase):
            found: dtype = operand._type.scalar_type
            if operand._array.ndim:
                sized = _joined(sized, found)
            else:
                zero_dim = _joined(zero_dim, found)
        else:
            cls = type(operand.item()) if hasattr(operand, "item") else type(operand)
            number = _joined(number, of_python_type(cls))
    result = _overriding(sized, _overriding(zero_dim, number))
    return get_default_dtype() if result is None else result


def _joined(a: dtype | None, b: dtype) -> dtype:
    return b if a is None else _table[a, b]


def _overriding(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """What a category decides over a lower one: that only matters with a higher kind of number."""
    if higher is None or lower is None:
        return lower if higher is None else higher
    if _rank(lower) <= _rank(higher):
        return higher
    if higher.is_floating_point:  # and the lower one is complex: its parts keep the precision
        in_lattice = lower.category == "reduced_complex" and higher.category != "float8"
        return _table[higher, lower] if in_lattice else higher.to_complex()
    return lower if lower.is_complex else _table[higher, lower]


def common_dtype(operands: Iterable[Any], kind: str) -> dtype:
    """The scalar type that a promoting operator of this ``kind`` casts its operands to.

    ``kind`` is the operator's ``promote`` key: ``default``, ``int_to_float``, ``bool_to_long``;
    the kinds that only change the result (``always_bool``, ``complex_to_float``) are ``default``
    here.
    """
    common = combined(operands)
    if kind == "int_to_float" and not common.is_inexact:
        return get_default_dtype()
    if kind == "bool_to_long" and common is bool_:
        return int64
    return common
