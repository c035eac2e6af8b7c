"""Bad input: the declared bad calls, and what is wrong for every operator."""

from __future__ import annotations

import builtins
from typing import Any

import tengen
from tengen.codegen.model import Operator
from tengen.generated.operators import OVERLOADS
from tengen.operator import call as call_function
from tengen.testing import declared
from tengen.testing.aspects import Aspect, Case, in_first_dtype, kernel
from tengen.testing.closeness import close
from tengen.testing.declared import REAL, bad_calls, run
from tengen.testing.failure import Mismatch, Part, blamed
from tengen.testing.samples import Call


def error_class(name: str) -> type[BaseException]:
    """The class that an ``errors`` sample names."""
    found = getattr(builtins, name, None) or getattr(tengen, name, None) or getattr(tengen.linalg, name)
    assert isinstance(found, type)
    return found


def bad_dtypes(bad: Call) -> list[Any]:
    """The dtypes that a bad call is for; float64, or what the operator has, where it does not say."""
    if bad.only is not None:
        return sorted(bad.only, key=str)
    has = declared.dtypes_of(bad.operator)
    return [REAL if not has or REAL in has else has[-1]]


def no_errors(operator: Operator) -> str:
    """Why there are no bad calls."""
    return "" if bad_calls(operator) else "it declares no errors"


def bad_cases(name: str) -> list[Case]:
    """The declared bad calls in their dtypes."""
    operator = declared.declared_operators()[name]
    return [Case(bad, kind) for bad, _ in bad_calls(operator) for kind in bad_dtypes(bad)]


def check_error(case: Case) -> None:
    """The bad call raises what is declared, with a text, and changes no argument."""
    raises = next(r for bad, r in bad_calls(case.operator) if bad.text == case.call.text)
    values = case.values
    before = [t.detach().clone() for t in declared.tensors_in(values)]
    part = Part("sample", case.call.text)
    with blamed(case, "errors", part, f"{case.name} does not raise {raises}"):
        try:
            result = run(case.name, values)
        except error_class(raises) as error:
            if not str(error):
                raise Mismatch("the error has no text") from None
        else:
            raise Mismatch(f"it gives {' '.join(str(result).split())[:60]}")
    with blamed(case, "errors", part, f"{case.name} changes an argument before it fails"):
        for t, e in zip(declared.tensors_in(values), before, strict=True):
            close(t.detach().numpy(), e.detach().numpy(), 0.0)


# -- of every function ---------------------------------------------------------------------------


def unbound(operator: Operator) -> str:
    """Why an operator is not called by its function's name."""
    name = str(operator.name)
    return "" if name in OVERLOADS.get(name.partition(".")[0], ()) else "users have no function for it"


def first_case(name: str) -> list[Case]:
    """The first sample of an operator, in one dtype."""
    return list(in_first_dtype(name))[:1]


def positional(sample: Call, values: list[Any]) -> tuple[Any, ...]:
    """The values that are given by position."""
    return tuple(v for v, a in zip(values, sample.arguments, strict=True) if not a.kwarg_only)


def required(sample: Call, values: list[Any]) -> dict[str, Any]:
    """The keywords that a call must have."""
    return {
        a.name: v for v, a in zip(values, sample.arguments, strict=True) if a.kwarg_only and a.default is None
    }


def refuses(case: Case, aspect: str, words: tuple[str, ...], given: tuple[Any, ...], **keywords: Any) -> None:
    """The function raises a TypeError whose text has these words."""
    with blamed(case, aspect, kernel(), f"{case.name} does not tell what is wrong with its arguments"):
        try:
            call_function(case.name.partition(".")[0], given, keywords)
        except TypeError as error:
            if not all(word in str(error) for word in words):
                raise Mismatch(f"the text is {error}") from None
        else:
            raise Mismatch("there was no TypeError")


def check_types(case: Case) -> None:
    """An object for a tensor is a TypeError that names the function and what came."""
    values, function = case.values, case.name.partition(".")[0]
    for i, a in enumerate(case.call.arguments):
        if a.is_tensor and not a.kwarg_only:
            given = [*values[:i], object(), *values[i + 1 :]]
            keywords = required(case.call, given)
            refuses(case, "types", (function, "object"), positional(case.call, given), **keywords)


def check_keywords(case: Case) -> None:
    """A keyword that no argument has is a TypeError that names it."""
    values = case.values
    keywords = {**required(case.call, values), "no_such_argument": 1}
    refuses(case, "keywords", ("no_such_argument",), positional(case.call, values), **keywords)


ASPECTS = (
    Aspect("errors", "the declared errors", check_error, bad_cases, no_errors, sampled=False),
    Aspect("types", "arguments of wrong types", check_types, first_case, unbound),
    Aspect("keywords", "keywords that there are not", check_keywords, first_case, unbound, after=("types",)),
)
