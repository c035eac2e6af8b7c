"""Specialise: the tests by which bindings see that an argument can be passed on as it is.

What the second path would convert in one step (an int for a list of them, a list for a tuple, an int for a
float) is converted where the argument is passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..model.annotations import default
from ..model.names import OTHER_LAYOUT
from ..model.operators import Operator
from ..model.schema import Argument, BaseType, ListType

#: The classes of values that are passed on as they are, by type.
_CLASSES = {"SymInt": "int"} | {name: name for name in ("int", "bool", "str", "ScalarType", "MemoryFormat")}


def but_refused(operator: Operator, text: str) -> str:
    """The rest of a test for numbers where those of Python's bools are an error."""
    return f" and {text}.__class__ is not bool" if "bool" in operator.refuse else ""


def value_test(operator: Operator, argument: Argument, text: str, is_receiver: bool) -> tuple[str, str]:
    """The condition under which a value can be passed on, and what is passed."""
    if is_receiver:
        return "True", text
    value = text
    # A memory format that need not be given is None, too.
    none = [f"{text} is None"] if argument.type.is_optional or default(argument) == "None" else []
    match argument.type.required:
        case ListType(element, size) if element in (BaseType("int"), BaseType("SymInt")):
            return _ints_test(argument, size, text)
        case BaseType("Tensor"):
            tests = [f"{text}.__class__ in plain{_must_agree(operator, argument, text)}"]
        case ListType(BaseType("Tensor"), None):
            tests = [_tensors_test(operator, argument, text)]
            value = f"tuple({text})"
        case BaseType("Scalar"):
            refused = "" if none else but_refused(operator, text)
            tests = [f"{text}.__class__ in t.weak{refused}{_must_fit(operator, argument)}"]
        case BaseType("float"):
            tests = [f"{text}.__class__ is float", f"{text}.__class__ is int"]
            value = f"{text} if {_either([*none, tests[0]])} else float({text})"
        case BaseType(name) if name in _CLASSES:
            tests = [f"{text}.__class__ is {_CLASSES[name]}"]
        case _:
            tests = [] if none else ["False"]
    condition = _either([*none, *tests])
    return f"({condition})" if " or " in condition else condition, value


def _tensors_test(operator: Operator, argument: Argument, text: str) -> str:
    """The test for a list of tensors, which are of one Type most often."""
    if argument.name in operator.promoted or argument.name in operator.same_dtype:
        return f"one_type({text}) is t"
    return f"one_type({text}) is not None" if operator.is_composite else "False"


def _must_fit(operator: Operator, argument: Argument) -> str:
    """The rest of a test for numbers that an integral dtype may be too narrow for, which is an error."""
    return (
        " and float in t.weak" if operator.numbers == "fitting" and argument.name in operator.promoted else ""
    )


def _either(tests: Iterable[str]) -> str:
    return " or ".join(tests)


def _must_agree(operator: Operator, argument: Argument, text: str) -> str:
    """The rest of a test for tensors: what the Types have in common."""
    must_agree = argument.name in operator.promoted or argument.name in operator.same_dtype
    # Where layouts may differ, which one takes the call is for the second path to say.
    if must_agree or (operator.layouts and OTHER_LAYOUT in operator.tags):
        return f" and {text}._type is t"
    # The operators that a composite is made of say so themselves.
    return f" and {text}._type.backend is t.backend" if operator.layouts or not operator.is_composite else ""


def _ints_test(argument: Argument, size: int | None, text: str) -> tuple[str, str]:
    """As ``value_test``, for a list of ints. Where there is a size, one int stands for all."""
    tests = [f"ints({text})" if size is None or size == 1 else f"many_ints({text})"]
    value = f"tuple({text})"
    empty = default(argument) == "()"  # which None stands for
    if argument.type.is_optional or empty:
        tests.insert(0, f"{text} is None")
        value = f"{'()' if empty else 'None'} if {text} is None else {value}"
    if size is not None:
        tests.insert(0, f"{text}.__class__ is int")
        all_of_them = ", ".join([text] * size) + ("," if size == 1 else "")
        value = f"({all_of_them}) if {text}.__class__ is int else {value}"
    return f"({_either(tests)})" if len(tests) > 1 else tests[0], value


def or_missing(condition: str, value: str, text: str, default: str | None) -> tuple[str, str]:
    """As ``value_test``, of an argument that need not be given: the test and the value, or the default."""
    missing = f"{text} is MISSING"
    if condition == "False":
        return missing, f"{default}"
    return f"({missing} or {condition})", f"{default} if {missing} else {value}"


def returned_if(condition: str, call: str) -> Iterator[str]:
    """The statements that return what a call gives where a test holds, which may always be so."""
    if condition == "True":
        yield f"return {call}"
    else:
        yield f"if {condition}:"
        yield f"    return {call}"
