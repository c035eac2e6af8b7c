"""Backward passes within backward passes, deeper than Python's stack; in torch too."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
from in_threads import in_threads

import tengen as tg


def nested(m: Any, innermost: Callable[[], Any] = lambda: None) -> Any:
    """A Function whose backward makes and runs a graph, ``left`` times, then calls ``innermost``."""

    class Nested(m.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any, left: int) -> Any:
            ctx.left = left
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            if not ctx.left:
                innermost()
                return g, None
            with m.enable_grad():
                y = x.detach().requires_grad_()
                z = Nested.apply(y, ctx.left - 1) * 1
            z.backward(g)
            return y.grad + 1, None

    return Nested.apply


def test_depth_is_not_bounded_by_the_stack(m: Any) -> None:
    depth = 1500
    assert depth > sys.getrecursionlimit() or sys.getrecursionlimit() > 1000
    x = m.tensor(1.0, requires_grad=True)
    nested(m)(x, depth).backward()
    assert x.grad.item() == depth + 1


def test_depth_of_grad_with_a_graph(m: Any) -> None:
    class Nested(m.autograd.Function):  # type: ignore[misc,name-defined]  # of either library
        @staticmethod
        def forward(ctx: Any, x: Any, left: int) -> Any:
            ctx.left = left
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            (x,) = ctx.saved_tensors
            if not ctx.left:
                return g * 2 * x, None
            with m.enable_grad():
                y = x.detach().requires_grad_()
                (inner,) = m.autograd.grad(Nested.apply(y, ctx.left - 1), y, create_graph=True)
            return g * inner.detach(), None

    x = m.tensor(3.0, requires_grad=True)
    (g,) = m.autograd.grad(Nested.apply(x, 300), x)
    assert g.item() == 6.0


def test_reentrant_checkpoints_nest(m: Any) -> None:
    checkpoint = importlib.import_module(f"{m.__name__}.utils.checkpoint").checkpoint
    x = m.tensor(0.5, requires_grad=True)
    calls = 0

    def step(a: Any, left: int) -> Any:
        nonlocal calls
        calls += 1
        return checkpoint(step, a, left - 1, use_reentrant=True) + 1 if left else a * 2

    step(x, 30).backward()
    assert (x.grad.item(), calls) == (2.0, 31 * 32 // 2)


def test_errors_come_up_from_the_deepest(m: Any) -> None:
    def fail() -> None:
        raise KeyError("innermost")

    x = m.tensor(1.0, requires_grad=True)
    with pytest.raises(KeyError, match="innermost"):
        nested(m, fail)(x, 400).backward()
    assert x.grad is None
    assert m.is_grad_enabled()
    nested(m)(x, 400).backward()  # the next pass is right
    assert x.grad.item() == 401


def test_many_threads_nest_at_once(m: Any) -> None:
    found: list[float] = []

    def work(depth: int) -> None:
        x = m.tensor(1.0, requires_grad=True)
        nested(m)(x, depth).backward()
        found.append(x.grad.item() - depth)

    in_threads(work, [300 + 10 * i for i in range(4)])
    assert found == [1.0] * 4


def test_modes_are_the_callers_at_any_depth(m: Any) -> None:
    seen: list[tuple[bool, bool]] = []
    x = m.tensor(1.0, requires_grad=True)
    y = nested(m, lambda: seen.append((m.is_grad_enabled(), m.is_inference_mode_enabled())))(x, 200)
    y.backward()
    assert seen == [(False, False)]


def test_hooks_and_callbacks_see_their_pass() -> None:
    """The pass that a hook of the innermost is called in is the innermost."""
    tasks: set[int] = set()
    current = importlib.import_module("tengen.autograd.graph_task").current
    x = tg.tensor(1.0, requires_grad=True)
    nested(tg, lambda: tasks.add(id(current.task)))(x, 300).backward()
    assert len(tasks) == 1
    assert current.task is None


def test_shallow_passes_stay_in_their_thread() -> None:
    """So that state of a user's own that belongs to the thread is seen as ever."""
    found: list[int] = []
    x = tg.tensor(1.0, requires_grad=True)
    nested(tg, lambda: found.append(threading.get_ident()))(x, 10).backward()
    assert found == [threading.get_ident()]
