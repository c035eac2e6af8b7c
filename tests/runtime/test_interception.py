"""What stands between calls and Types: every call of an operator passes, newest interceptor first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tengen
from tengen.interception import active


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
