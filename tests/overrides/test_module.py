"""tengen.overrides itself, and that all that is public can be overridden."""

from __future__ import annotations

import inspect
import subprocess
import sys
from typing import Any

import pytest

import tengen
import tengen.overrides as overrides
from tengen.core.function_dispatch import overloaded, overridable
from tengen.dispatch.binding_support import MISSING
from tengen.generated.operators import NUMPY_NAMES


def test_import_stays_light() -> None:
    code = "import sys, tengen; assert 'tengen.overrides' not in sys.modules; tengen.overrides.resolve_name"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_has_and_handle(lib: Any) -> None:
    def handler(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func, args, kwargs, tuple(t.__name__ for t in types)

    has, handle = lib.of_overrides("has_tengen_function"), lib.of_overrides("handle_tengen_function")
    f, x, s = lib.foreign(handler)(), lib.ones(2), lib.ones(2).as_subclass(lib.subclass())

    def public(a: Any, b: int = 1) -> Any:
        return handle(public, (a,), a, b=b) if has((a,)) else ("itself", b)

    assert public(f, b=5) == (public, (f,), {"b": 5}, ("Foreign",)) and public(x) == ("itself", 1)
    assert has((x, f)) and has((s,)) and not has((x, 1, None)) and not has(())
    with lib.disabled():
        assert not has((f,)) and public(f) == ("itself", 1)
    with lib.mode(lambda func, types, args, kwargs: ("mode", func)):
        assert has((x,)) and public(x) == ("mode", public)
    refusing = lib.foreign(lambda *_: NotImplemented)()
    with pytest.raises(TypeError, match=r"NotImplemented|no implementation"):
        public(refusing)


def test_wrap(lib: Any) -> None:
    calls: list[Any] = []

    def dispatcher(a: Any, b: Any = None) -> Any:
        return (a,)

    @lib.of_overrides("wrap_tengen_function")(dispatcher)
    def public(a: Any, b: Any = None) -> Any:
        """What it does."""
        return "itself"

    f = lib.foreign(lambda cls, func, types, args, kwargs: calls.append(func) or "taken")()
    assert public(f) == "taken" and public(1, f) == "itself" and calls == [public]
    assert public.__doc__ == "What it does."


def test_is_tensor_like(lib: Any) -> None:
    like = lib.overrides.is_tensor_like
    f = lib.foreign(lambda *_: None)()
    assert like(lib.ones(1)) and like(f) and like(lib.ones(1).as_subclass(lib.subclass()))
    assert not like(1.0) and not like([lib.ones(1)]) and not like("x")


def test_names(lib: Any) -> None:
    name, is_method = lib.overrides.resolve_name, lib.overrides.is_tensor_method_or_property
    prefix = lib.name
    assert name(lib.Tensor.add) == f"{prefix}.Tensor.add" and name(lib.add) == f"{prefix}.add"
    assert name(lib.Tensor.grad.__get__) == f"{prefix}.Tensor.grad.__get__"
    assert name(lib.nn.functional.relu) == f"{prefix}.nn.functional.relu" and name(print) is None
    assert is_method(lib.Tensor.add) and is_method(lib.Tensor.shape.__get__)
    assert not is_method(lib.add) and not is_method(lib.nn.functional.linear)
    found = lib.overrides.get_overridable_functions()
    assert lib.add in found[lib.m] and lib.Tensor.add in found[lib.Tensor]
    assert lib.nn.functional.linear in found[lib.nn.functional]
    ignored = lib.overrides.get_ignored_functions()
    assert lib.is_tensor in ignored and lib.Tensor.as_subclass in ignored and lib.add not in ignored
    assert lib.Tensor.grad.__get__ in lib.overrides.get_default_nowrap_functions()


class Seen:
    """Returns what was called."""

    @classmethod
    def __tengen_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func


class SeenTensor(tengen.Tensor):
    """A tensor that returns what was called."""

    @classmethod
    def __tengen_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func


EVERYWHERE = overrides.get_overridable_functions()
FUNCTIONS = [f for home, found in EVERYWHERE.items() if home is not tengen.Tensor for f in found]
METHODS = EVERYWHERE[tengen.Tensor]


def required(parameter: inspect.Parameter) -> bool:
    """Whether it must be given; MISSING is the default of what may come by another word, too."""
    return parameter.default is parameter.empty or (
        parameter.default is MISSING and parameter.name not in NUMPY_NAMES
    )


@pytest.mark.parametrize("function", FUNCTIONS, ids=overrides.resolve_name)
def test_every_function_can_be_overridden(function: Any) -> None:
    foreign = Seen()
    positional, keywords = [], {}
    for p in inspect.signature(function).parameters.values():
        if p.kind is p.VAR_POSITIONAL:
            positional.append(foreign)
        elif p.kind is p.KEYWORD_ONLY and p.default is p.empty:
            keywords[p.name] = foreign
        elif p.kind is p.POSITIONAL_OR_KEYWORD and required(p):
            positional.append(foreign)
    if not positional and not keywords:  # all that is asked for has several words
        positional.append(foreign)
    assert function(*positional, **keywords) == function


@pytest.mark.parametrize("method", METHODS, ids=overrides.resolve_name)
def test_every_method_can_be_overridden(method: Any) -> None:
    tensor = tengen.ones(2).as_subclass(SeenTensor)
    name = overrides.resolve_name(method)
    assert name is not None
    parts = name.split(".")
    if parts[-1] == "__get__":
        assert getattr(tensor, parts[2]) == method
    elif parts[-1] in ("__set__", "__delete__"):
        method(tensor, *([1] if parts[-1] == "__set__" else []))  # which does nothing, as it was taken over
        assert tensor.as_subclass(tengen.Tensor).tolist() == [1, 1]
    else:
        needed = [
            p
            for p in list(inspect.signature(method).parameters.values())[1:]
            if required(p) and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        result = method(tensor, *[1] * len(needed))
        assert result == method or (parts[-1].startswith("__") and callable(result))


def test_a_name_for_each() -> None:
    found = [overrides.resolve_name(f) for f in (*FUNCTIONS, *METHODS)]
    assert None not in found and len(set(found)) == len(found) > 700


def test_wrappers_keep_signatures_and_defaults() -> None:
    functional = tengen.nn.functional
    assert str(inspect.signature(functional.relu)).startswith("(input: 'Tensor', inplace")
    assert functional.relu.__doc__ and functional.relu.__wrapped__.__module__ == "tengen.nn.activation"

    def function(a: tengen.Tensor, b: Any = 2, *, c: Any = 3) -> Any:
        return a, b, c

    public = overridable(function)
    assert public(1) == (1, 2, 3) and public(1, 5, c=6) == (1, 5, 6) and public(b=1, a=2) == (2, 1, 3)
    with pytest.raises(TypeError):
        public()
    with pytest.raises(TypeError):
        public(1, 2, 3)


def test_arguments_that_are_asked_for() -> None:
    class Child(Seen):
        pass

    a, b = Seen(), Child()
    assert overloaded([1, a, [b], None, (a,), "x", tengen.ones(1)]) == [b, a]
    assert overloaded([Seen, [[a]]]) == []


def test_testing_overrides(lib: Any) -> None:
    """One for each function that can be overridden, which takes what that takes."""
    found = lib.of_overrides("get_testing_overrides")()
    assert found[lib.add](lib.ones(2), 1) == -1 == found[lib.nn.functional.relu](lib.ones(2))
    assert all(isinstance(inspect.signature(f), inspect.Signature) for f in found.values())
    with pytest.raises(TypeError):
        found[lib.Tensor.relu]()


def test_testing_overrides_are_of_all_that_can_be_overridden() -> None:
    listed = {f for functions in overrides.get_overridable_functions().values() for f in functions}
    made = overrides.get_testing_overrides()
    assert set(made) == listed
    assert all(inspect.signature(made[f]) == inspect.signature(f) for f in listed)


def test_base_mode_runs_what_it_is_given(lib: Any) -> None:
    with lib.of_overrides("BaseTengenFunctionMode")():
        assert lib.add(lib.ones(2), lib.ones(2), alpha=2).tolist() == [3.0, 3.0]
