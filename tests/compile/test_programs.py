"""Random programs, compiled: those of the fuzzer, and functions whose Python state changes between calls."""

from __future__ import annotations

import random
import types
from collections.abc import Callable
from typing import Any

import pytest
from checks import Skip, start
from compared import alike, gradients, is_ready, leaves_of
from hypothesis import HealthCheck, Phase, given, seed, settings, strategies as st
from programs import Program, draw_program, run

import tengen
from tengen.compilation import watch
from tengen.compilation.state import State

pytestmark = pytest.mark.filterwarnings("ignore")


def batch(number: int, count: int, check: Callable[[Program], None]) -> None:
    """The fuzzer's programs of one seed."""

    @seed(number)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(st.data())
    def each(data: st.DataObject) -> None:
        check(draw_program(lambda strategy: data.draw(strategy)))

    each()


@pytest.mark.parametrize("number", range(4))
def test_programs_of_the_fuzzer(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What runs the programs is taken for what does nothing else and reads nothing that changes."""
    monkeypatch.setattr(watch, "_impure", lambda function: "")
    monkeypatch.setattr(watch, "_BEYOND", ("nothing",))
    monkeypatch.setattr(watch, "_OF_TENSORS", frozenset())
    monkeypatch.setattr(State, "reach", lambda *args: None)
    ready = [0]

    def check(program: Program) -> None:
        try:
            points = start(program)
        except Skip:
            return

        def function(*leaves: Any) -> Any:
            return run(program, leaves).values

        leaves = [p.requires_grad_(p.is_floating_point()) for p in points]
        compiled = tengen.compile(function)
        for _ in range(3):
            tengen.manual_seed(0)
            try:
                expected = function(*leaves)
                if leaves_of(expected):
                    gradients(expected, leaves_of(leaves))
            except Exception:
                return
            tengen.manual_seed(0)
            alike(compiled, function, *leaves)
        ready[0] += is_ready(compiled)

    batch(number, 60, check)
    assert ready[0] > 10


# -- state ---------------------------------------------------------------------------------------


class Box:
    """What a function reads."""

    by = 1.0

    def __init__(self) -> None:
        self.own, self.parts, self.names = 2.0, [1.0, 2.0], {"a": 1.0}
        self.inner: Any = types.SimpleNamespace(deep=3.0)
        self.tensor = tengen.ones(3)

    def method(self, t: Any) -> Any:
        return t * self.own


#: What a function does with a box; and what changes a box, by a number that is drawn.
READS: list[Callable[[Any, Any], Any]] = [
    lambda b, t: t * b.by,
    lambda b, t: t + b.own,
    lambda b, t: t * sum(b.parts),
    lambda b, t: t * b.parts[0] if len(b.parts) > 1 else t.sin(),
    lambda b, t: t + b.names.get("a", 5.0),
    lambda b, t: t * len(b.names),
    lambda b, t: t - b.inner.deep,
    lambda b, t: b.method(t),
    lambda b, t: t * b.tensor,
    lambda b, t: t + (b.tensor.shape[-1] if "c" in b.names else 0),
]
WRITES: list[Callable[[Any, float], Any]] = [
    lambda b, n: setattr(b, "by", n),
    lambda b, n: setattr(b, "own", n),
    lambda b, n: b.parts.append(n),
    lambda b, n: b.parts.__setitem__(slice(0, 1), [n]),
    lambda b, n: b.parts.clear(),
    lambda b, n: b.parts.extend([n, n]),
    lambda b, n: b.names.update(a=n),
    lambda b, n: b.names.update(c=n),
    lambda b, n: b.names.pop("c", None),
    lambda b, n: setattr(b.inner, "deep", n),
    lambda b, n: setattr(b, "inner", types.SimpleNamespace(deep=n)),
    lambda b, n: setattr(b, "method", lambda t: t * n),
    lambda b, n: vars(b).pop("method", None),
    lambda b, n: setattr(Box, "by", n),
    lambda b, n: b.tensor.fill_(n),
    lambda b, n: setattr(b, "tensor", tengen.full((1,), n)),
    lambda b, n: b.tensor.requires_grad_(n > 2) if b.tensor.is_leaf else None,
]


@pytest.mark.parametrize("number", range(12))
def test_state_changes(number: int) -> None:
    draws = random.Random(number)
    box, reads = Box(), draws.sample(READS, draws.randint(1, 4))

    def function(t: Any) -> Any:
        for read in reads:
            t = read(box, t)
        return t

    compiled = tengen.compile(function, options={"limit": 6})
    for _ in range(40):
        for _ in range(draws.choice((1, 1, 2, 4))):
            alike(compiled, function, tengen.arange(3.0) + draws.random())
        write = draws.choice(WRITES)
        with tengen.no_grad():
            write(box, float(draws.randint(1, 3)))
    Box.by = 1.0
