"""Modes: handlers of all calls of a thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest


def recorder(lib: Any, log: list[Any]) -> Any:
    """A mode that notes the functions and calls them."""

    def handler(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        log.append(func.__name__)
        return func(*args, **kwargs)

    return lib.mode(handler)


CALLS = {
    "x + 1": "add",
    "1 - x": "__rsub__",
    "x @ x": "matmul",
    "x.mul(2)": "mul",
    "x.add_(1)": "add_",
    "x[0]": "__getitem__",
    "x[x > 0]": "__getitem__",
    "x.sum(0)": "sum",
    "x.double()": "double",
    "x.to(m.float64)": "to",
    "m.exp(x)": "exp",
    "m.cat([x, x])": "cat",
    "m.einsum('ij->i', x)": "einsum",
    "m.zeros(2)": "zeros",
    "m.zeros(2, requires_grad=True)": "zeros",
    "m.ones_like(x)": "ones_like",
    "m.arange(3)": "arange",
    "m.full((2,), 1.0)": "full",
    "m.tensor([1.0])": "tensor",
    "m.as_tensor([1.0])": "as_tensor",
    "m.rand(2)": "rand",
    "m.linalg.det(x)": "linalg_det",
    "m.nn.functional.relu(x)": "relu",
    "m.nn.functional.softmax(x, 0)": "softmax",
    "m.result_type(x, 1)": "result_type",
    "m.autograd.grad(y, w)": "grad",
}


@pytest.mark.parametrize("call", CALLS)
def test_all_calls_are_seen(lib: Any, call: str) -> None:
    log: list[str] = []
    w = lib.ones(2, requires_grad=True)
    names = {"m": lib.m, "x": lib.ones(2, 2), "w": w, "y": (w * 2).sum()}
    with recorder(lib, log):
        eval(call, names)
    last = CALLS[call]
    assert last in log and (len(log) <= 2 or lib.name == "torch"), log
    log.clear()
    eval(call, {**names, "y": (w * 2).sum()})
    assert log == []


def test_keywords_of_factories(lib: Any) -> None:
    seen: list[Any] = []

    def handler(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        seen.append((func, args, kwargs))
        return func(*args, **{**kwargs, "dtype": lib.float64})

    with lib.mode(handler):
        made = lib.zeros(2, 3, requires_grad=True)
        other = lib.ones((2,))
    assert made.dtype is lib.float64 and made.requires_grad and other.dtype is lib.float64
    assert seen == [(lib.zeros, (2, 3), {"requires_grad": True}), (lib.ones, ((2,),), {})]


def test_modes_nest(lib: Any) -> None:
    log: list[str] = []

    def outer(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        log.append("outer")
        return func(*args, **kwargs)

    def inner(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        log.append("inner")
        return func(*args, **kwargs)

    x = lib.ones(2)
    with lib.mode(outer), lib.mode(inner):
        x.exp()
        assert log == ["inner", "outer"]
    log.clear()
    mode = lib.mode(inner)
    with mode, mode:
        x.exp()
    assert log == ["inner", "inner"]
    log.clear()
    x.exp()
    assert log == []


def test_a_mode_may_call_without_itself(lib: Any) -> None:
    def handler(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*args, **kwargs) + 1

    with lib.mode(handler):
        x = lib.zeros(2)
    assert x.tolist() == [1, 1]


def test_modes_and_subclasses(lib: Any) -> None:
    log: list[str] = []
    kind = lib.logging(log)
    s = lib.ones(2).as_subclass(kind)
    with recorder(lib, log):
        result = s + 1
        shape = s.shape
    assert log == ["add", "add", "__get__", "__get__"] and type(result) is kind and shape == (2,)


def test_a_mode_that_leaves_it_to_others(lib: Any) -> None:
    def with_modes_off(cls: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with lib.disabled(modes=True):
            return "subclass", func(*args, **kwargs)

    s = lib.zeros(2).as_subclass(lib.subclass(with_modes_off))
    seen: list[Any] = []

    def handler(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        seen.append([t.__name__ for t in types])
        return NotImplemented

    with lib.mode(handler):
        answered, result = lib.exp(s)
        with pytest.raises(TypeError, match="mode object"):
            lib.exp(s.as_subclass(lib.Tensor))
    assert answered == "subclass" and result.tolist() == [1, 1] and seen == [["Sub"], []]


def test_disabling(lib: Any) -> None:
    log: list[str] = []
    s = lib.ones(2).as_subclass(lib.subclass())
    with recorder(lib, log):
        with lib.disabled():
            assert type(lib.exp(s)) is lib.Tensor
        assert log == ["exp"]
        with lib.disabled(modes=True):
            assert type(lib.exp(s)) is lib.Tensor and type(s + 1) is lib.Tensor
        assert log == ["exp"]


def test_an_exception_leaves_the_mode(lib: Any) -> None:
    def handler(func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise LookupError("its own")

    x = lib.ones(2)
    mode = lib.mode(handler)
    with pytest.raises(LookupError), mode:
        lib.exp(x)
    assert lib.exp(x * 0).tolist() == [1, 1]
    with mode:
        for _ in range(2):  # it is entered again after its handler has failed
            with pytest.raises(LookupError):
                lib.exp(x)


def test_modes_are_a_threads_own(lib: Any) -> None:
    log: list[str] = []
    x = lib.ones(2)
    with recorder(lib, log):
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
        assert log == []
        x.exp()
    assert log == ["exp"]


def test_formulas_are_not_seen(lib: Any) -> None:
    log: list[str] = []
    x = lib.ones(2, requires_grad=True)
    y = (x * x).sum()
    with recorder(lib, log):
        lib.autograd.grad(y, x, create_graph=True)
    assert log == ["grad"]
    log.clear()
    x.register_hook(lambda g: g * 2)
    with recorder(lib, log):
        lib.autograd.backward((x * 1).sum())
    assert log == ["mul", "sum", "backward"]
