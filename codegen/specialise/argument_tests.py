"""Specialise: the tests by which bindings see that an argument can be passed on as it is.

What the second path would convert in one step (an int for a list of them, a list for a tuple, an int for a
float) is converted where the argument is passed on.
"""

from __future__ import annotations

from ...ir.expressions import Expr, any_of
from ...ir.reader import filled, read_expression
from ...ir.statements import FALSE, NONE, TRUE, tuple_of
from ..model.annotations import default
from ..model.names import OTHER_LAYOUT
from ..model.operators import Operator
from ..model.schema import Argument, BaseType, ListType

#: The classes of values that are passed on as they are, by type.
_CLASSES = {"SymInt": "int"} | {name: name for name in ("int", "bool", "str", "ScalarType", "MemoryFormat")}


def default_of(argument: Argument) -> Expr | None:
    """The default of an argument; None where it is required."""
    text = default(argument)
    return None if text is None else read_expression(text)


def but_refused(operator: Operator) -> str:
    """The rest of a test for a number ``x`` where those of Python's bools are an error."""
    return " and x.__class__ is not bool" if "bool" in operator.refuse else ""


def value_test(operator: Operator, argument: Argument, x: Expr, is_receiver: bool) -> tuple[Expr, Expr]:
    """The condition under which a value can be passed on, and what is passed. The former is TRUE or FALSE
    where that is known."""
    if is_receiver:
        return TRUE, x
    value = x
    # A memory format that need not be given is None, too.
    none = ["x is None"] if argument.type.is_optional or default_of(argument) == NONE else []
    match argument.type.required:
        case ListType(element, size) if element in (BaseType("int"), BaseType("SymInt")):
            return _ints_test(argument, size, x)
        case BaseType("Tensor"):
            tests = [f"x.__class__ in plain{_must_agree(operator, argument)}"]
        case ListType(BaseType("Tensor"), None):
            tests = [_tensors_test(operator, argument)]
            value = filled("tuple(x)", x=x)
        case BaseType("Scalar"):
            refused = "" if none else but_refused(operator)
            tests = [f"x.__class__ in T.weak{refused}{_must_fit(operator, argument)}"]
        case BaseType("float"):
            tests = ["x.__class__ is float", "x.__class__ is int"]
            value = filled(f"x if {' or '.join([*none, tests[0]])} else float(x)", x=x)
        case BaseType(name) if name in _CLASSES:
            tests = [f"x.__class__ is {_CLASSES[name]}"]
        case _:
            tests = [] if none else ["False"]
    return any_of([filled(test, x=x) for test in (*none, *tests)]), value


def _tensors_test(operator: Operator, argument: Argument) -> str:
    """The test for a list of tensors, which are of one Type most often."""
    if argument.name in operator.promoted or argument.name in operator.same_dtype:
        return "one_type(x) is T"
    return "one_type(x) is not None" if operator.is_composite else "False"


def _must_fit(operator: Operator, argument: Argument) -> str:
    """The rest of a test for numbers that an integral dtype may be too narrow for, which is an error."""
    fitting = operator.numbers == "fitting" and argument.name in operator.promoted
    return " and float in T.weak" if fitting else ""


def _must_agree(operator: Operator, argument: Argument) -> str:
    """The rest of a test for tensors: what the Types have in common."""
    must_agree = argument.name in operator.promoted or argument.name in operator.same_dtype
    # Where layouts may differ, which one takes the call is for the second path to say.
    if must_agree or (operator.layouts and OTHER_LAYOUT in operator.tags):
        return " and x._type is T"
    # The operators that a composite is made of say so themselves.
    return " and x._type.backend is T.backend" if operator.layouts or not operator.is_composite else ""


def _ints_test(argument: Argument, size: int | None, x: Expr) -> tuple[Expr, Expr]:
    """As ``value_test``, for a list of ints. Where there is a size, one int stands for all."""
    tests = ["ints(x)" if size is None or size == 1 else "many_ints(x)"]
    value = filled("tuple(x)", x=x)
    empty = default(argument) == "()"  # which None stands for
    if argument.type.is_optional or empty:
        tests.insert(0, "x is None")
        value = filled(f"{'()' if empty else 'None'} if x is None else value", x=x, value=value)
    if size is not None:
        tests.insert(0, "x.__class__ is int")
        value = filled(
            "repeated if x.__class__ is int else value", x=x, repeated=tuple_of([x] * size), value=value
        )
    return any_of([filled(test, x=x) for test in tests]), value


def or_missing(condition: Expr, value: Expr, x: Expr, otherwise: Expr) -> tuple[Expr, Expr]:
    """As ``value_test``, of an argument that need not be given: the test and the value, or the default."""
    missing = filled("x is MISSING", x=x)
    if condition == FALSE:
        return missing, otherwise
    chosen = filled("otherwise if missing else value", otherwise=otherwise, missing=missing, value=value)
    return any_of([missing, condition]), chosen
