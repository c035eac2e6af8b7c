"""Specialise: what is known of the names in formulas and in kernels, for ``Types`` to go by."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from ...ir.expressions import Attribute, Expr, Name
from ...ir.types import (
    ARRAY,
    ARRAYS,
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    LIST,
    MASK,
    MIXED,
    NUMBER,
    PLAIN,
    RESULT,
    SIZE,
    UNKNOWN,
    Environment,
    Gives,
    Kind,
    ValueType,
    array_of_arrays,
    closed_dtype,
    join,
)
from ..check.names import TENSOR_BUILTINS
from ..model.metadata import METADATA
from ..model.operators import Operator
from ..model.schema import ListType, Type
from ..parse.formula import result_numbers

_NUMBERS = {"Scalar": NUMBER, "int": INT, "SymInt": INT, "float": FLOAT, "bool": BOOL}
#: What formulas ask of Tensors.
_ATTRIBUTES = {name: m.type for name, m in METADATA.items() if not m.method}
_METHODS = {name: m.type for name, m in METADATA.items() if m.method}
#: What kernels ask of arrays.
_ARRAY_ATTRIBUTES = {"shape": SIZE, "ndim": INT, "size": INT, "dtype": DTYPE, "real": ARRAY, "imag": ARRAY}


def type_of(declared: Type) -> ValueType:
    """The type of the values of a type of the schema language, but for None."""
    if declared.is_tensor_list:
        return ARRAYS
    required = declared.required
    if isinstance(required, ListType):
        return SIZE if str(required.element) in ("int", "SymInt") else LIST
    return ARRAY if required.is_tensor else _NUMBERS.get(str(required), PLAIN)


def return_types(functions: Mapping[str, Iterable[Operator]]) -> dict[str, ValueType]:
    """What a call of each function gives: one of its overloads with one result, where there are such."""
    found = {}
    for name, overloads in functions.items():
        single = [o.schema.returns[0].type for o in overloads if len(o.schema.returns) == 1]
        found[name] = join(map(type_of, single)) if single else ARRAYS
    return found


# -- formulas over Tensors ----------------------------------------------------------------------


def names_of_formula(operator: Operator) -> dict[Expr, ValueType]:
    """The types of the arguments and the results of an operator, by the names that its formulas have."""
    results: dict[Expr, ValueType] = {Name(n): ARRAY for n in result_numbers(operator.schema.returns)}
    return {**results, **{Name(a.name): type_of(a.type) for a in operator.schema.arguments}}


def formula_environment(values: Mapping[Expr, ValueType], gives: Gives) -> Environment:
    """What is known in a formula where names are of these types and functions give this."""
    return Environment(values, gives, _ATTRIBUTES, _METHODS)


def of_operators(returns: Mapping[str, ValueType], helpers: Collection[str]) -> Gives:
    """What functions give of which some are operators, each called as a method too, and some helpers."""

    def gives(function: Expr, given: Sequence[ValueType]) -> ValueType:
        arrays = any([g.may_be_array for g in given])
        match function:
            case Name(name) if name in helpers:
                return RESULT if arrays else UNKNOWN
            case Name(name) if name in returns and name not in TENSOR_BUILTINS:
                return returns[name]
            case Attribute(_, name) if name in returns:
                return returns[name]
            case Attribute() if arrays:  # of a method
                return ARRAY
        return MIXED if arrays else UNKNOWN

    return gives


# -- kernels --------------------------------------------------------------------------------------


def kernel_environment(
    values: Mapping[Expr, ValueType],
    closed: Collection[str] = (),
    numbers: Collection[str] = (),
    masks: Collection[str] = (),
) -> Environment:
    """What is known in an expression over arrays; ``closed`` are functions of the array namespace.

    These give, of arrays of the Type's own dtype and of numbers which that holds, an array of that dtype.
    ``numbers`` are kernel functions that give a number of numbers, ``masks`` those that give conditions.
    """

    def gives(function: Expr, given: Sequence[ValueType]) -> ValueType:
        match function:
            case Attribute(Name("xp"), name) | Name(name) if name in closed:
                if any([g.is_array for g in given]):
                    return ValueType(Kind.ARRAY, closed_dtype(given))
            case Attribute(Name(), name) | Name(name) if name in numbers:
                if not any([g.may_be_array for g in given]):
                    return NUMBER
            case Attribute(Name(), name) if name in masks:
                return MASK
        return array_of_arrays(function, given)

    return Environment(values, gives, _ARRAY_ATTRIBUTES)
