"""Every fast path is one for its function as that is; and what is replaced looks as the function does."""

from __future__ import annotations

import copy
import functools
import gc
import importlib
import inspect
import pickle
import pydoc
import types
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

import tengen
from tengen import fast_paths

PACKAGE = "tengen.generated"


def replaced() -> Iterator[tuple[str, Any, Any]]:
    """Each module and name of a fast path, the function, and the class it is of."""
    for module, groups in fast_paths.texts(PACKAGE).items():
        namespace = importlib.import_module(f"{PACKAGE}.{module}")
        for path in " ".join(groups.values()).split():
            owner: Any = namespace
            *before, name = path.split(".")
            for part in before:
                owner = getattr(owner, part)
            yield f"{module}.{path}", vars(owner)[name], owner if before else None


def test_all_fast_paths_fit() -> None:
    """And there are such for most of what there is."""
    from tengen.fast_paths import machine
    from tengen.fast_paths.assembler import Assembler

    count = 0
    for path, accelerated, owner in replaced():
        assert type(accelerated) is machine.WithFastPath, path
        slots = owner if isinstance(owner, type) and "_nodes" in f"_{path}" else None
        text = fast_paths._texts(accelerated.function.__module__)[accelerated.function.__qualname__]
        path = Assembler(accelerated.function, text, slots).fast_path()  # which says what does not fit
        assert fast_paths.fast_path_of(accelerated.function, slots) is not None, path
        fresh = machine.WithFastPath(accelerated.function, slots, lambda _: None)
        fresh.run(path)
        count += 1
    assert count > 2000


@pytest.mark.parametrize("function", [tengen.mul, tengen.Tensor.__dict__.get("mul"), tengen.sum])
def test_it_looks_like_the_function(function: Any) -> None:
    function = function or next(vars(k)["mul"] for k in tengen.Tensor.__mro__ if "mul" in vars(k))
    plain = function.function
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__code__", "__defaults__", "__dict__"):
        assert getattr(function, name) == getattr(plain, name)
    assert isinstance(function, types.FunctionType) and inspect.isfunction(function)
    assert inspect.signature(function) == inspect.signature(plain)
    assert inspect.getdoc(function) == inspect.getdoc(plain)
    assert pydoc.render_doc(function) == pydoc.render_doc(plain)
    assert repr(function) == repr(plain)
    assert weakref.ref(function)() is function


def test_it_is_pickled_copied_and_wrapped() -> None:
    assert pickle.loads(pickle.dumps(tengen.mul)) is tengen.mul
    assert copy.copy(tengen.mul) is copy.deepcopy(tengen.mul) is tengen.mul

    @functools.wraps(tengen.mul)
    def wrapped(*args: Any) -> Any:
        return tengen.mul(*args)

    assert wrapped.__name__ == "mul" and wrapped.__wrapped__ is tengen.mul  # type: ignore[attr-defined]
    assert inspect.signature(wrapped) == inspect.signature(tengen.mul)


def test_a_method_is_bound() -> None:
    a = tengen.ones(2)
    bound = a.mul
    assert type(bound) is types.MethodType and bound.__self__ is a
    assert bound(3).tolist() == [3, 3]


def test_a_method_of_a_type_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    a = tengen.ones(2)
    assert (a * a).tolist() == [1, 1]
    monkeypatch.setattr(type(a._type), "mul_Tensor", lambda T, x, y: "other", raising=False)
    assert a * a == "other" and tengen.mul(a, a) == "other"


def test_a_kernel_can_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    a = tengen.ones(2, 2)
    assert a.mm(a).tolist() == [[2, 2], [2, 2]]
    monkeypatch.setattr("tengen.generated.contractions.mm_of_numpy", lambda x, y: x)
    assert a.mm(a).tolist() == [[1, 1], [1, 1]]


def test_a_callable_of_its_own_is_freed() -> None:
    from tengen.fast_paths import machine

    scope: dict[str, Any] = {}
    exec("def f(T, x): return x", scope)
    made = machine.WithFastPath(scope["f"], None, lambda found: found.run(None))
    scope["f"] = made
    assert made(None, 3) == 3
    alive = weakref.ref(made)
    del made, scope
    gc.collect()
    assert alive() is None
