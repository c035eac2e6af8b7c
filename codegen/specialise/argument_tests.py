"""Specialise: the tests by which bindings see that an argument can be passed on as it is."""

from __future__ import annotations

from collections.abc import Iterator

from ..model.names import OTHER_LAYOUT
from ..model.operators import Operator
from ..model.schema import Argument


def but_refused(operator: Operator, text: str) -> str:
    """The rest of a test for numbers where those of Python's bools are an error."""
    return f" and {text}.__class__ is not bool" if "bool" in operator.refuse else ""


def value_test(operator: Operator, argument: Argument, text: str, is_receiver: bool) -> tuple[str, str]:
    """The condition under which a value can be passed on, and what is passed."""
    if is_receiver:
        return "True", text
    type_ = str(argument.type)
    must_agree = argument.name in operator.promoted or argument.name in operator.same_dtype
    # Where layouts may differ, which one takes the call is for the second path to say.
    must_agree |= bool(operator.layouts) and OTHER_LAYOUT in operator.tags
    agree = ""
    if must_agree:
        agree = f" and {text}._type is t"
    elif operator.layouts:
        agree = f" and {text}._type.backend is t.backend"
    match type_:
        case "Tensor":
            return f"{text}.__class__ in plain{agree}", text
        case "Tensor?":
            return f"({text} is None or {text}.__class__ in plain{agree})", text
        case "Scalar":
            return f"{text}.__class__ in t.weak{but_refused(operator, text)}", text
        case "Scalar?":
            return f"({text} is None or {text}.__class__ in t.weak)", text
        case "int" | "SymInt":
            return f"{text}.__class__ is int", text
        case "float":
            return f"{text}.__class__ is float", text
        case "bool":
            return f"{text}.__class__ is bool", text
        case "int[1]?" | "SymInt[1]?":
            # None and a tuple are passed on as they are.
            return f"({text}.__class__ is int or {text} is None or ints({text}))", _listed(text)
        case "int[1]" | "SymInt[1]":
            return f"({text}.__class__ is int or ints({text}))", _listed(text)
        case "int[]" | "SymInt[]":
            return f"ints({text})", text
        case "int?" | "SymInt?":
            return f"({text} is None or {text}.__class__ is int)", text
    if type_.endswith("?"):
        return f"{text} is None", text
    return "False", text


def _listed(text: str) -> str:
    return f"({text},) if {text}.__class__ is int else {text}"


def returned_if(condition: str, call: str) -> Iterator[str]:
    """The statements that return what a call gives where a test holds, which may always be so."""
    if condition == "True":
        yield f"return {call}"
    else:
        yield f"if {condition}:"
        yield f"    return {call}"
