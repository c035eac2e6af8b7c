"""``functional_call`` leaves a module as it was, whatever names it was given and whatever happens."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import tengen
from tengen.func import functional_call
from tengen.nn import Parameter


class Tied(tengen.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = tengen.nn.Linear(2, 2)
        self.b = tengen.nn.Linear(2, 2)
        self.b.weight = self.a.weight
        self.register_buffer("c", tengen.zeros(2))

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x)) + self.c


def parametrized() -> Any:
    module = tengen.nn.Linear(2, 2)
    tengen.nn.utils.parametrizations.weight_norm(module)
    return module


MODULES: dict[str, Callable[[], Any]] = {
    "plain": lambda: tengen.nn.Linear(2, 2),
    "tied": Tied,
    "parametrized": parametrized,
}
KINDS: dict[str, Callable[[], Any]] = {
    "tensor": lambda: tengen.ones(2),
    "parameter": lambda: Parameter(tengen.ones(2)),
    "buffer": lambda: tengen.nn.Buffer(tengen.ones(2)),
}


def everything(module: Any) -> list[Any]:
    """All that a module and its parts hold, by identity."""
    return [
        (name, list(part.__dict__), [[(k, id(v)) for k, v in held.items()] for held in holders])
        for name, part in module.named_modules()
        for holders in [(part._parameters, part._buffers, part._modules)]
    ]


@pytest.mark.parametrize("names", [("unknown",), ("unknown", "other"), ("unknown", "no.such"), ("no.such",)])
@pytest.mark.parametrize("fails", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", MODULES)
def test_unknown_names_are_taken_away(name: str, kind: str, fails: bool, names: tuple[str, ...]) -> None:
    module = MODULES[name]()
    before = everything(module)
    own = {n: p.detach().clone() for n, p in module.named_parameters()}
    for given in ({}, own):
        tensors = {**given, **{n: KINDS[kind]() for n in names}}
        try:
            functional_call(module, tensors, (tengen.ones(1, 3 if fails else 2),))
        except (RuntimeError, AttributeError):
            assert fails or "no.such" in names
        assert everything(module) == before


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("", 1.0, KeyError),
        ("0.", 1.0, KeyError),
        ("0", 1.0, TypeError),
        (".0", 1.0, TypeError),
        ("forward", 1.0, TypeError),
        ("training", 1.0, TypeError),
        ("0.in_features", 1.0, TypeError),
        ("__class__", 1.0, TypeError),
        ("_parameters", 1.0, TypeError),
        ("0.weight", "a text", TypeError),
        ("1.weight", 1.0, AttributeError),
    ],
)
def test_names_of_what_is_no_tensor(m: ModuleType, name: str, value: Any, error: type[Exception]) -> None:
    """They are refused before anything is put in place."""
    net = m.nn.Sequential(m.nn.Linear(1, 1))
    before, weight = dict(net.__dict__), net[0].weight
    given = {"0.weight": m.ones(1, 1), name: m.full((1, 1), value) if value == 1.0 else value}
    with pytest.raises(error):
        m.func.functional_call(net, given, (m.ones(1, 1),))
    assert net.__dict__ == before and net[0].weight is weight and net[0].in_features == 1
