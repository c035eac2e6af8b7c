"""What an optimiser says of its parameters when it is made, and of their gradients only in ``step``."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

import tengen

pytestmark = pytest.mark.oracle

NAMES = [
    name
    for name, found in vars(tengen.optim).items()
    if inspect.isclass(found) and issubclass(found, tengen.optim.Optimizer) and name != "Optimizer"
]


def outcome(make: Any, *arguments: Any) -> str:
    try:
        make(*arguments)
    except (RuntimeError, ValueError, TypeError) as error:
        return type(error).__name__
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_gradients_are_looked_at_in_step(torch: Any, name: str) -> None:
    for sparse in (True, False):
        said = []
        for m in (tengen, torch):
            p = m.zeros(2, 2, requires_grad=True)
            p.grad = m.ones(2, 2).to_sparse() if sparse else m.ones(2, 2)
            said.append(outcome(getattr(m.optim, name), [p]))
        assert said[0] == said[1]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_looked_at_first(torch: Any, name: str) -> None:
    for bad in (lambda m: m.ones(2, 2, requires_grad=True) * 2, lambda m: 5, lambda m: "x"):
        said = [outcome(getattr(m.optim, name), [bad(m)]) for m in (tengen, torch)]
        assert said[0] == said[1] != ""
