"""What stands between calls and Types: every call of an operator passes, newest interceptor first."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import tengen
from tengen.core.interception import Layer, active, observers


@pytest.fixture(autouse=True)
def nothing_stays_active() -> Iterator[None]:
    yield
    active.clear()


def recorder(seen: list[str], mark: str = "") -> Any:
    def intercept(operator: Any, arguments: tuple[Any, ...], proceed: Any) -> Any:
        seen.append(mark + operator.name)
        return proceed(*arguments)

    return intercept


def test_methods_functions_and_python_operators_pass() -> None:
    x = tengen.ones(2)
    seen: list[str] = []
    active.append(recorder(seen))
    ((x * 2).exp() + tengen.sin(x)).sum()
    assert seen == ["mul.Scalar", "exp", "sin", "add.Tensor", "sum"]


def test_the_parts_of_a_composite_pass_too() -> None:
    x = tengen.ones(2, 3)
    seen: list[str] = []
    active.append(recorder(seen))
    x.flatten()
    assert seen[0] == "flatten.using_ints" and len(seen) > 1


def test_newest_first() -> None:
    seen: list[str] = []
    active.append(recorder(seen, "older "))
    active.append(recorder(seen, "newer "))
    tengen.ones(2).exp()
    assert seen[-2:] == ["newer exp", "older exp"]


def test_an_interceptor_may_answer_itself() -> None:
    x = tengen.ones(2)
    active.append(
        lambda operator, arguments, proceed: "mine" if operator.name == "exp" else proceed(*arguments)
    )
    assert x.exp() == "mine"
    assert x.sin().shape == (2,)


def test_a_layer_is_suspended_unless_it_is_overtaken() -> None:
    class Noting(Layer):
        def __init__(self) -> None:
            self.seen = 0

        def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
            self.seen += 1
            return proceed(*arguments)

    x = tengen.ones(2)
    with Noting() as older, Noting() as newer:
        assert not older.suspend()  # a newer one would be called after it, when it resumes
        assert newer.suspend()
        x.neg()
        newer.resume()
        assert (older.seen, newer.seen) == (1, 0)
        x.neg()
        assert (older.seen, newer.seen) == (2, 1)
        assert active[-2:] == [older, newer]
    assert not older.suspend()  # it is not there
    assert older not in active


class Marked(Layer):
    """Notes that it was called; those in capitals only look on."""

    def __init__(self, mark: str, seen: list[str]) -> None:
        self.mark, self.seen = mark, seen
        self.observer = mark.isupper()

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        self.seen.append(self.mark)
        return proceed(*arguments)


@pytest.mark.parametrize(
    "entered", [*map("".join, itertools.permutations("aBcD")), "Ba", "aB", "BCa", "aBCDe"]
)
def test_observers_come_before_all_others(entered: str) -> None:
    """In whatever order they came; among their own kind the newest is called first."""
    seen: list[str] = []
    x = tengen.ones(2)
    with contextlib.ExitStack() as stack:
        for mark in entered:
            stack.enter_context(Marked(mark, seen))
        x.neg()
        newest = entered[::-1]
        assert "".join(seen) == "".join(filter(str.isupper, newest)) + "".join(filter(str.islower, newest))
        assert [found.mark for found in observers()] == list(filter(str.isupper, entered))
    x.neg()
    assert len(seen) == len(entered)


@pytest.mark.parametrize("transform", ["vmap", "jvp"])
def test_an_error_wakes_what_slept(transform: str) -> None:
    """Also one in the operators below a rule or a formula."""
    before = list(active)

    def f(x: Any) -> Any:
        with pytest.raises(RuntimeError):
            x.reshape(7)
        with pytest.raises(RuntimeError):
            x + tengen.ones(5)
        return x.sin()

    x = tengen.arange(6.0).reshape(2, 3)
    if transform == "vmap":
        found = tengen.func.vmap(f)(x)
    else:
        found, tangent = tengen.func.jvp(f, (x,), (tengen.ones(2, 3),))
        assert tangent.tolist() == x.cos().tolist()
    assert found.tolist() == x.sin().tolist()
    assert active == before
