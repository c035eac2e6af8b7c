"""Bad input: the declared bad calls, and what is wrong for every operator."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

import tengen
from tengen.operator import OVERLOADS, call
from tengen.testing import declared
from tengen.testing.declared import REAL, bad_calls, calls, declared_operators, operators, run, working_dtypes
from tengen.testing.samples import Call

OPERATORS = operators()
WITH_ERRORS = {n: o for n, o in declared_operators().items() if bad_calls(o)}
BOUND = [n for n in OPERATORS if n in OVERLOADS.get(n.partition(".")[0], ())]


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


@pytest.mark.parametrize("name", WITH_ERRORS)
def test_declared_errors(name: str) -> None:
    for bad, raises in bad_calls(WITH_ERRORS[name]):
        for kind in bad_dtypes(bad):
            values = bad.tensors(kind)
            before = [t.detach().clone() for t in declared.tensors_in(values)]
            with pytest.raises(error_class(raises)) as raised:
                pytest.fail(f"{bad} in {kind} gives {run(name, values)}")
            assert str(raised.value), f"{bad}: an error without a text"
            for t, e in zip(declared.tensors_in(values), before, strict=True):
                assert t.tolist() == e.tolist() or "nan" in str(e.tolist())


def positional(sample: Call, values: list[Any]) -> tuple[Any, ...]:
    """The values that are given by position."""
    return tuple(v for v, a in zip(values, sample.arguments, strict=True) if not a.kwarg_only)


def required(sample: Call, values: list[Any]) -> dict[str, Any]:
    """The keywords that a call must have."""
    return {
        a.name: v for v, a in zip(values, sample.arguments, strict=True) if a.kwarg_only and a.default is None
    }


@pytest.mark.parametrize("name", BOUND)
def test_wrong_types_name_operator_and_argument(name: str) -> None:
    """An object for a tensor is a TypeError that names the function and what came."""
    sample = calls(name)[0]
    values = sample.tensors(working_dtypes(sample)[0])
    function = name.partition(".")[0]
    for i, a in enumerate(sample.arguments):
        if not a.is_tensor or a.kwarg_only:
            continue
        given = [*values[:i], object(), *values[i + 1 :]]
        with pytest.raises(TypeError) as raised:
            call(function, positional(sample, given), required(sample, given))
        assert function in str(raised.value) and "object" in str(raised.value)


@pytest.mark.parametrize("name", BOUND)
def test_unknown_keyword(name: str) -> None:
    sample = calls(name)[0]
    values = sample.tensors(working_dtypes(sample)[0])
    function = name.partition(".")[0]
    with pytest.raises(TypeError, match="no_such_argument"):
        call(function, positional(sample, values), {**required(sample, values), "no_such_argument": 1})
