"""Types of values: what the expressions of a formula or a kernel are, from what its names are.

The one inference of them, for all passes. An ``Environment`` says what is known of names and of functions,
``Types`` says what follows for the expressions that are made of them. Formulas are computed over Tensors and
over arrays, and a type is of both: an array here is a Tensor there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from .expressions import (
    COMPARISONS,
    ELEMENTWISE_COMPARISONS,
    Assigned,
    Attribute,
    Call,
    Chain,
    Clause,
    Comprehension,
    Conditional,
    Constant,
    Elements,
    Expr,
    Keyword,
    Logical,
    Name,
    Operation,
    Slice,
    Starred,
    Subscript,
    bound_by,
)


class Kind(Enum):
    """What a value is."""

    ARRAY = "array"  # a Tensor, in a formula over Tensors
    ARRAYS = "arrays"  # a list or a tuple of them
    RESULT = "result"  # of a helper that arrays are given to: one, or the gradients of a list
    MIXED = "mixed"  # an array, or something else
    BOOL = "bool"
    INT = "int"
    FLOAT = "float"
    NUMBER = "number"  # a Scalar: any of these, or a complex one
    SIZE = "size"  # a shape, dims: a list of ints
    LIST = "list"  # of other values that are no arrays
    DTYPE = "dtype"  # of an array; one that a user gives is a plain value
    PLAIN = "plain"  # another value that is no array: a string, None
    UNKNOWN = "unknown"  # what a function gives that nothing is known of; made of no array


#: Numbers; each may hold those before it.
_NUMBERS = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.NUMBER)
_ARRAYS = frozenset({Kind.ARRAY, Kind.ARRAYS, Kind.RESULT})
_LISTS = frozenset({Kind.SIZE, Kind.LIST})
_MAY_BE_COMPLEX = frozenset({*_ARRAYS, Kind.MIXED, Kind.NUMBER, Kind.UNKNOWN})


class Dtype(Enum):
    """What is known of the dtype of an array, and of what a number does to that of one which it meets."""

    ANY = ""
    OWN = "own"  # that of the Type whose method computes
    WEAK = "weak"  # a number that the dtype of the array holds: it changes nothing
    BOOL = "bool"


@dataclass(frozen=True, slots=True)
class ValueType:
    """The type of a value."""

    kind: Kind
    dtype: Dtype = Dtype.ANY

    def __str__(self) -> str:
        return f"{self.dtype.value} {self.kind.value}".lstrip()

    @property
    def is_array(self) -> bool:
        """Whether it is one array; a helper's result is, except as a list's gradients."""
        return self.kind is Kind.ARRAY or self.kind is Kind.RESULT

    @property
    def may_be_array(self) -> bool:
        """Whether it is or holds arrays, or may."""
        return self.kind in _ARRAYS or self.kind is Kind.MIXED

    @property
    def is_number(self) -> bool:
        return self.kind in _NUMBERS

    @property
    def is_list(self) -> bool:
        """Whether it is a list of values that are no arrays."""
        return self.kind in _LISTS

    @property
    def is_real(self) -> bool:
        """Whether it is known not to be complex."""
        return self.kind not in _MAY_BE_COMPLEX or self.dtype is Dtype.BOOL


ARRAY = ValueType(Kind.ARRAY)
ARRAYS = ValueType(Kind.ARRAYS)
OWN = ValueType(Kind.ARRAY, Dtype.OWN)
MASK = ValueType(Kind.ARRAY, Dtype.BOOL)
RESULT = ValueType(Kind.RESULT)
MIXED = ValueType(Kind.MIXED)
BOOL = ValueType(Kind.BOOL)
INT = ValueType(Kind.INT)
FLOAT = ValueType(Kind.FLOAT)
NUMBER = ValueType(Kind.NUMBER)
WEAK = ValueType(Kind.NUMBER, Dtype.WEAK)
SIZE = ValueType(Kind.SIZE)
LIST = ValueType(Kind.LIST)
DTYPE = ValueType(Kind.DTYPE)
PLAIN = ValueType(Kind.PLAIN)
UNKNOWN = ValueType(Kind.UNKNOWN)

#: What a function gives, by the types of what is given to it: of a method, of its object first.
Gives = Callable[[Expr, Sequence[ValueType]], ValueType]


def array_of_arrays(function: Expr, given: Sequence[ValueType]) -> ValueType:
    """What a function gives of which it is known that it gives an array of arrays, and of others no array."""
    return ARRAY if any([g.may_be_array for g in given]) else UNKNOWN


@dataclass(frozen=True, slots=True)
class Environment:
    """What is known where an expression stands."""

    #: Of names, and of other expressions that stand for values.
    values: Mapping[Expr, ValueType]
    #: Of functions, and of methods of arrays.
    gives: Gives = array_of_arrays
    #: Of the attributes of an array, and of its methods without arguments that tell of it as these do.
    attributes: Mapping[str, ValueType] = field(default_factory=dict)
    methods: Mapping[str, ValueType] = field(default_factory=dict)

    def having(self, values: Mapping[Expr, ValueType]) -> Environment:
        """The same with more names."""
        return Environment({**self.values, **values}, self.gives, self.attributes, self.methods)


class Types:
    """The types of expressions in an environment, each inferred when it is first asked for."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._known = dict(environment.values)

    def of(self, expr: Expr) -> ValueType:
        """The type of an expression."""
        found = self._known.get(expr)
        if found is None:
            found = self._known[expr] = self._inferred(expr)
        return found

    def having(self, values: Mapping[Expr, ValueType]) -> Types:
        """Those where more names are known."""
        return Types(self.environment.having(values)) if values else self

    def _inferred(self, expr: Expr) -> ValueType:
        match expr:
            case Constant(value):
                return _of_constant(value)
            case Operation(symbol, operands):
                return of_operation(symbol, [self.of(o) for o in operands])
            case Chain(_, operands):
                return of_operation("<", [self.of(o) for o in operands])
            case Logical(_, operands):
                return join(map(self.of, operands))
            case Conditional(_, then, otherwise):
                return join((self.of(then), self.of(otherwise)))
            case Call():
                return self._of_call(expr)
            case Attribute(value, name):
                of_array = self.of(value).is_array
                return self.environment.attributes.get(name, MIXED) if of_array else self._of_parts(expr)
            case Subscript(value, index):
                return self._of_element(self.of(value), index) or self._of_parts(expr)
            case Elements(_, elements):
                return _of_elements([self.of(e) for e in elements])
            case Comprehension(_, element, clauses):
                return self._of_comprehension(element, clauses)
            case Keyword(_, value) | Starred(value) | Assigned(_, value):
                return self.of(value)
        return self._of_parts(expr)

    def _of_parts(self, expr: Expr) -> ValueType:
        """The type of what no rule is for."""
        return MIXED if any([self.of(part).may_be_array for part in expr.parts]) else UNKNOWN

    def _of_call(self, expr: Call) -> ValueType:
        given = [self.of(a) for a in (*expr.arguments, *expr.keywords)]
        match expr.function:
            case Attribute(value, "conjugate") if self.of(value).is_number:
                return self.of(value)
            case Attribute(value, name) if (of := self.of(value)).may_be_array:
                if of.is_array and not given and name in self.environment.methods:
                    return self.environment.methods[name]
                given = [of, *given]
        return self.environment.gives(expr.function, given)

    def _of_element(self, of: ValueType, index: Expr) -> ValueType | None:
        """The type of an element or of a part; None where it is not known."""
        if of.is_array or isinstance(index, Slice):
            return of
        if self.of(index).may_be_array:
            return None
        return element_of(of)

    def _of_comprehension(self, element: Expr, clauses: Sequence[Clause]) -> ValueType:
        inner = self
        for clause in clauses:
            each = element_of(inner.of(clause.iterable)) or UNKNOWN
            bound = clause.target if isinstance(clause.target, Name) else None
            inner = inner.having({Name(n): UNKNOWN if bound is None else each for n in bound_by(clause)})
        return _of_elements([inner.of(element)])


def element_of(of: ValueType) -> ValueType | None:
    """The type of the elements of a list; None where it is not known."""
    return {Kind.ARRAYS: ARRAY, Kind.SIZE: INT, Kind.LIST: PLAIN}.get(of.kind)


def join(types: Iterable[ValueType]) -> ValueType:
    """The type of a value that is of one of the types."""
    return functools.reduce(_joined, types)


def _joined(a: ValueType, b: ValueType) -> ValueType:
    if a == b:
        return a
    dtype = a.dtype if a.dtype is b.dtype else Dtype.ANY
    kinds = {a.kind, b.kind}
    if len(kinds) == 1:
        return ValueType(a.kind, dtype)
    if a.is_number and b.is_number:
        return ValueType(max(a.kind, b.kind, key=_NUMBERS.index), dtype)
    if kinds <= _ARRAYS:
        return RESULT
    if a.may_be_array or b.may_be_array:
        return MIXED
    if not (a.is_real and b.is_real):
        return UNKNOWN
    return LIST if kinds <= _LISTS else PLAIN


def of_operation(symbol: str, operands: Sequence[ValueType]) -> ValueType:
    """The type that an operator of Python's gives."""
    if symbol in COMPARISONS:
        array = symbol in ELEMENTWISE_COMPARISONS and any([o.may_be_array for o in operands])
        return MASK if array else BOOL
    if symbol == "not x":
        return BOOL
    if any([o.is_array for o in operands]):
        of_masks = symbol in LOGIC and all([o.dtype is Dtype.BOOL for o in operands])
        return MASK if of_masks else ValueType(Kind.ARRAY, _dtype_of(symbol, operands))
    if any([o.may_be_array for o in operands]):
        return MIXED
    if all([o.is_number for o in operands]):
        return _of_numbers(symbol, operands)
    if any([o.is_list for o in operands]) and Kind.UNKNOWN not in {o.kind for o in operands}:
        return join([o for o in operands if o.is_list])  # lists joined, or one repeated
    return UNKNOWN


#: The operators of arrays of a dtype, and of numbers which that holds, that give an array of the dtype where
#: kernels use them: quotients of integers are computed in a floating-point Type.
CLOSED = ("+", "-", "*", "/", "-x")
#: Those that give a condition of conditions.
LOGIC = ("~x", "&", "|", "^")


def _dtype_of(symbol: str, operands: Sequence[ValueType]) -> Dtype:
    return closed_dtype(operands) if symbol in CLOSED else Dtype.ANY


def closed_dtype(operands: Iterable[ValueType]) -> Dtype:
    """The dtype of what is computed of arrays of the Type's own, and of numbers which that holds."""
    found = {o.dtype for o in operands}
    return Dtype.OWN if Dtype.OWN in found and found <= {Dtype.OWN, Dtype.WEAK} else Dtype.ANY


def _of_numbers(symbol: str, operands: Sequence[ValueType]) -> ValueType:
    widest = join(operands)
    if symbol == "**":  # of a negative number some are complex
        whole = operands[1].kind in (Kind.BOOL, Kind.INT)
        return join((widest, ValueType(Kind.FLOAT, widest.dtype))) if whole else NUMBER
    least = Kind.FLOAT if symbol == "/" else Kind.INT
    return join((widest, ValueType(least, widest.dtype)))


def _of_constant(value: object) -> ValueType:
    match value:
        case bool():
            return BOOL
        case int():
            return ValueType(Kind.INT, Dtype.WEAK)
        case float():
            return ValueType(Kind.FLOAT, Dtype.WEAK)
        case complex():
            return NUMBER
    return PLAIN


def _of_elements(elements: Sequence[ValueType]) -> ValueType:
    """The type of a list that is written out."""
    if any([e.may_be_array for e in elements]):
        return ARRAYS
    return SIZE if elements and all([e.kind is Kind.INT for e in elements]) else LIST
