"""Warnings that PyTorch gives: when, of which class, and at which line; in torch too."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

CYCLE = "backward() with create_graph=True will create a reference cycle"
NOT_AN_INPUT = "ctx.mark_dirty() received a tensor that was not an input"
CLASSES = "Decorating classes is deprecated"
LOST = "Casting complex values to real discards the imaginary part"


@pytest.fixture
def always(m: ModuleType) -> Any:
    """Nothing is warned of once only."""
    if m.__name__ != "torch":
        yield
        return
    before = m.is_warn_always_enabled()
    m.set_warn_always(True)
    yield
    m.set_warn_always(before)


def leaf(m: ModuleType, **options: Any) -> Any:
    return m.ones(2, requires_grad=True, **options)


def squares(m: ModuleType) -> Any:
    return (leaf(m) ** 2).sum()


def without_recording(m: ModuleType) -> None:
    y = squares(m)
    with m.no_grad():
        y.backward(create_graph=True)


def to_an_input(m: ModuleType) -> None:
    x = leaf(m)
    (x**2).sum().backward(create_graph=True, inputs=[x])


def marking(m: ModuleType, requires_grad: bool = True, fixed: bool = False) -> None:
    """Apply a Function that marks its result as dirty."""

    class F(m.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 2
            ctx.mark_dirty(y)
            if fixed:
                ctx.mark_non_differentiable(y)
            return y

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    F.apply(m.ones(2, requires_grad=requires_grad))


def sharing(m: ModuleType) -> None:
    class F(m.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.mark_shared_storage((x, x))
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g

    F.apply(leaf(m))


def decorating(decorator: Any) -> Any:
    @decorator
    class Made:
        pass

    return Made()


def complex_numbers(m: ModuleType, *shape: int) -> Any:
    return m.ones(*shape, dtype=m.complex64)


#: Calls, the class of the warning that each gives, and its text; None where there is none.
CALLS: dict[str, tuple[Callable[[ModuleType], Any], type[Warning] | None, str]] = {
    "backward with a graph": (lambda m: squares(m).backward(create_graph=True), UserWarning, CYCLE),
    "the function": (lambda m: m.autograd.backward(squares(m), create_graph=True), UserWarning, CYCLE),
    "without recording": (without_recording, UserWarning, CYCLE),
    "for given inputs": (to_an_input, UserWarning, CYCLE),
    "backward": (lambda m: squares(m).backward(retain_graph=True), None, ""),
    "grad": (lambda m: m.autograd.grad((x := leaf(m)).sum(), x, create_graph=True), None, ""),
    "func.grad": (lambda m: m.func.grad(lambda x: x.sum())(m.ones(2)), None, ""),
    "hessian": (lambda m: m.autograd.functional.hessian(lambda x: x.sum(), m.ones(2)), None, ""),
    "a result is dirty": (marking, UserWarning, NOT_AN_INPUT),
    "a result without history": (lambda m: marking(m, requires_grad=False), None, ""),
    "a result without gradient": (lambda m: marking(m, fixed=True), None, ""),
    "shared storages": (sharing, FutureWarning, "is deprecated"),
    "no_grad()": (lambda m: decorating(m.no_grad()), FutureWarning, CLASSES),
    "no_grad": (lambda m: decorating(m.no_grad), FutureWarning, CLASSES),
    "enable_grad": (lambda m: decorating(m.enable_grad()), FutureWarning, CLASSES),
    "set_grad_enabled": (lambda m: decorating(m.set_grad_enabled(True)), FutureWarning, CLASSES),
    "inference_mode": (lambda m: decorating(m.inference_mode()), FutureWarning, CLASSES),
    "grad_variables": (
        lambda m: m.autograd.backward(leaf(m) * 2, grad_variables=m.ones(2)),
        FutureWarning,
        "`grad_variables` is deprecated",
    ),
    "complex to float": (lambda m: complex_numbers(m, 2).to(m.float32), UserWarning, LOST),
    "complex to int": (lambda m: complex_numbers(m, 2).long(), UserWarning, LOST),
    "conjugated to float": (lambda m: complex_numbers(m, 2).conj().float(), UserWarning, LOST),
    "complex copied": (lambda m: m.ones(2).copy_(complex_numbers(m, 2)), UserWarning, LOST),
    "complex to bool": (lambda m: complex_numbers(m, 2).bool(), None, ""),
    "complex to double": (lambda m: complex_numbers(m, 2).to(m.complex128), None, ""),
    "no elements": (lambda m: complex_numbers(m, 0).float(), None, ""),
    "the real part": (lambda m: complex_numbers(m, 2).real, None, ""),
    "a complex gradient": (
        lambda m: (leaf(m) * complex_numbers(m, 2)).sum().abs().backward(),
        None,
        "",
    ),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.usefixtures("always")
def test_a_warning(m: ModuleType, name: str) -> None:
    call, kind, text = CALLS[name]
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(m)
    assert [w.category for w in found] == ([] if kind is None else [kind])
    assert all(text in str(w.message) for w in found)
    if m.__name__ == "tengen":
        assert all(w.filename == __file__ for w in found)
