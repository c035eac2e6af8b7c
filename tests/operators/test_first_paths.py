"""The first path of each binding: it hands the Type what the second path would, or does not take the call.

Each declared sample is called as a function and as a method: with what it gives as it is written, with lists
in place of tuples and ints in place of floats, and by keywords. A Type that only notes what it is asked for
stands in for that of the tensors, so nothing is computed.
"""

from __future__ import annotations

import functools
import keyword
from collections.abc import Container, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import tengen
from tengen import Tensor
from tengen.codegen.model.names import TENSOR_OPTIONS
from tengen.codegen.model.operators import Operator, Sample
from tengen.codegen.model.schema import Argument
from tengen.dispatch import binding_support, operator as operator_module
from tengen.dispatch.calls import chosen_overload
from tengen.dispatch.legacy_type_dispatch import type_of
from tengen.dispatch.type import Type
from tengen.generated import functions, internal_functions, tensor_methods
from tengen.testing import declared
from tengen.testing.samples import Call

FUNCTIONS = (functions, internal_functions)
METHODS = tensor_methods
BY_METHOD = {o.name.method: o for o in declared.declared_operators().values()}
OPERATORS = declared.operators()
#: How many of the calls must take the first path.
SHARE = 0.94


class Asked(Exception):
    """What a Type is asked for: a method and its arguments."""

    def __init__(self, method: str, arguments: tuple[Any, ...]) -> None:
        self.method, self.arguments = method, arguments


class SecondPath(Exception):
    """The binding does not take the call."""


class StandIn:
    """A Type whose operators only say that they were asked for."""

    def __init__(self, T: Type) -> None:
        self._type = T

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._type, name)
        return asked(name) if name in BY_METHOD else found

    def of(self, scalar_type: Any) -> Any:
        return stand_in(self._type.of(scalar_type))

    def recorded(self, recording: bool) -> Any:
        return stand_in(self._type.recorded(recording))


_stand_ins: dict[Type, StandIn] = {}


def stand_in(T: Type) -> StandIn:
    """The one stand-in for a Type."""
    return _stand_ins.setdefault(T, StandIn(T))


def asked(name: str) -> Any:
    def method(*arguments: Any) -> Any:
        raise Asked(name, arguments)

    return method


@dataclass(frozen=True)
class Form:
    """A call of a binding: a function, or a method of what comes first."""

    binding: Any
    function: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]

    def first(self) -> Asked | None:
        """What the Type is asked for on the first path; None where that does not take the call."""
        try:
            self.binding(*self.arguments, **self.keywords)
        except Asked as found:
            return found
        except SecondPath:
            return None
        raise AssertionError(f"{self}: no Type was asked")

    def second(self) -> Asked:
        """What the Type is asked for on the second path."""
        found = chosen_overload(self.function, self.arguments, self.keywords)
        assert found is not None, self
        chosen, bound = found
        try:
            chosen.proceed(*bound)
        except Asked as asked_for:
            return asked_for
        raise AssertionError(f"{self}: no Type was asked")


def forms(operator: Operator, sample: Sample, call: Call) -> Iterator[Form]:
    """The calls of a sample."""
    positions = len(sample.call.arguments)
    named = {str(k.name) for k in sample.call.keywords}
    for vary in (as_written, with_lists):
        values = {a.name: vary(a, v) for a, v in zip(call.arguments, tensors(call), strict=True)}
        names = [a.name for a in operator.schema.positional]
        given = {n: values[n] for n in names[:positions]}
        keywords = {a.name: values[a.name] for a in call.arguments if a.name in named}
        count = next(
            (i for i, a in enumerate(operator.schema.positional) if not a.is_tensor_like), len(names)
        )
        first = dict(list(given.items())[:count])
        yield from bound(operator, given, keywords)
        yield from bound(operator, {n: values[n] for n in names}, without(keywords, names))
        yield from bound(operator, first, without(given, first) | keywords)
        if operator.factory is not None:
            options = {"dtype": working_dtype(call), "device": tengen.device("cpu")}
            yield from bound(operator, given, options | keywords)
            if len(names) == 1 and isinstance(given[names[0]], tuple):  # loose sizes
                yield from bound(operator, dict(enumerate(given[names[0]])), keywords)


def without(keywords: dict[str, Any], names: Container[str]) -> dict[str, Any]:
    return {n: v for n, v in keywords.items() if n not in names}


def bound(operator: Operator, given: dict[Any, Any], keywords: dict[str, Any]) -> Iterator[Form]:
    """The call as a function, and as a method."""
    function = operator.name.function
    keywords = {"input" if n == "self" else n: v for n, v in keywords.items()}
    if any(map(keyword.iskeyword, keywords)):
        return
    if "function" in operator.variants:
        binding = next(vars(m)[function] for m in FUNCTIONS if function in vars(m))
        yield Form(binding, function, tuple(given.values()), keywords)
    if "method" in operator.variants and next(iter(given), None) == "self":
        yield Form(vars(METHODS.TensorMethods)[function], function, tuple(given.values()), keywords)


def tensors(call: Call) -> list[Any]:
    """The arguments of a call, in a dtype that it is for, with stand-ins for the tensors' Types."""
    values = call.tensors(working_dtype(call))
    for t in declared.flat(values):
        t._type = stand_in(t._type)
    return values


def working_dtype(call: Call) -> tengen.dtype:
    """A dtype that a call is for."""
    kinds = [d for d in declared.dtypes_of(call.operator) or call.only or [declared.REAL] if call.takes(d)]
    return declared.REAL if declared.REAL in kinds else kinds[-1]


def as_written(argument: Argument, value: Any) -> Any:
    """One int for as many equal ones."""
    if (
        "[" in str(argument.type)
        and isinstance(value, tuple)
        and value
        and not argument.type.required.is_int_list
    ):
        return value[0] if len({*value}) == 1 and value[0].__class__ is int else value
    return value


def with_lists(argument: Argument, value: Any) -> Any:
    """Lists in place of tuples, and ints in place of floats."""
    if isinstance(value, tuple):
        return list(value)
    return int(value) if value.__class__ is float and value.is_integer() else value


def alike(one: Any, other: Any) -> bool:
    """Whether two arguments are the same tensors, or equal values."""
    if isinstance(one, Tensor):
        made = isinstance(other, Tensor) and one is not other
        return one is other or (made and one._type is other._type and one.tolist() == other.tolist())
    if isinstance(one, (tuple, list)):
        same = isinstance(other, (tuple, list)) and len(one) == len(other)
        return same and all(map(alike, one, other))
    return one == other or (one != one and other != other)


def same_class(argument: Argument, one: Any, other: Any) -> bool:
    """Whether the values are of one class; a number, and a float's default, may be ints until used."""
    if argument.is_tensor_like or "Scalar" in str(argument.type):
        return True
    return one.__class__ is other.__class__ or (str(argument.type) == "float" and other.__class__ is int)


def handed(operator: Operator) -> list[Argument]:
    """The arguments that the Type is given."""
    options = TENSOR_OPTIONS if operator.factory is not None else ()
    return [a for a in operator.schema.arguments if a.name not in options]


@functools.cache
def outcomes(name: str) -> tuple[int, int]:
    """How many of an operator's calls take the first path, and how many there are."""
    taken = total = 0
    operator = OPERATORS[name]
    for sample, call in zip(declared.good_samples(operator), declared.calls(name), strict=False):
        for form in forms(operator, sample, call):
            total += 1
            first = form.first()
            if first is not None:
                taken += 1
                second = form.second()
                assert first.method == second.method, form
                assert list not in map(type, first.arguments), form  # a caller may change it meanwhile
                pairs = zip(first.arguments, second.arguments, strict=True)
                for a, (one, other) in zip(handed(BY_METHOD[first.method]), pairs, strict=True):
                    assert alike(one, other) and same_class(a, one, other), (form, one, other)
    return taken, total


@pytest.fixture(autouse=True)
def no_second_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def second_path(*arguments: object, **keywords: object) -> object:
        raise SecondPath

    for module in (*FUNCTIONS, METHODS):
        for name in ("call", "make"):
            monkeypatch.setattr(module, name, second_path)
    for owner in (binding_support, operator_module):
        monkeypatch.setattr(owner, "type_of", lambda *given: stand_in(type_of(*given)))


@pytest.mark.parametrize("name", OPERATORS)
def test_both_paths_ask_the_type_for_the_same(name: str) -> None:
    outcomes(name)


def test_most_calls_take_the_first_path() -> None:
    found = [outcomes(name) for name in OPERATORS]
    assert sum(taken for taken, _ in found) > SHARE * sum(total for _, total in found)


def of_two_devices(operator: Operator) -> Iterator[list[Any]]:
    """The arguments of its first sample, each tensor behind the first one on another device in turn."""
    call = declared.calls(str(operator.name))[0]
    kind = declared.working_dtypes(call)[0]
    values = call.tensors(kind)
    positions = [i for i, v in enumerate(values) if isinstance(v, Tensor) and v.ndim]
    for i in positions[1:]:
        yield [v.to("meta") if i == j else v for j, v in enumerate(values)]


@pytest.mark.parametrize("name", [n for n, o in OPERATORS.items() if not o.is_composite])
def test_tensors_of_two_devices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither path hands them to a kernel; what a composite calls says so."""
    monkeypatch.undo()
    operator = OPERATORS[name]
    for arguments in of_two_devices(operator):
        pairs = list(zip(operator.schema.arguments, arguments, strict=True))
        keywords = {a.name: v for a, v in pairs if a.kwarg_only}
        positional = {a.name: v for a, v in pairs if not a.kwarg_only}
        for form in bound(operator, positional, keywords):
            with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
                form.binding(*form.arguments, **form.keywords)
