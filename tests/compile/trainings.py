"""What tests of training in compiled functions share: models with optimisers, trained side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from compared import near, same

import tengen
from tengen import nn
from tengen.nn import functional as F

CALLS = 6
OPTIMISERS: dict[str, Callable[[Any], Any]] = {
    "SGD": lambda p: tengen.optim.SGD(p, 0.1),
    "SGD with momentum": lambda p: tengen.optim.SGD(p, 0.1, momentum=0.9),
    "SGD, nesterov, decay": lambda p: tengen.optim.SGD(p, 0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "SGD, dampening, maximize": lambda p: tengen.optim.SGD(p, 0.01, 0.9, dampening=0.5, maximize=True),
    "Adam": lambda p: tengen.optim.Adam(p, 1e-2),
    "Adam, amsgrad": lambda p: tengen.optim.Adam(p, 1e-2, amsgrad=True, weight_decay=0.1),
    "Adam, foreach": lambda p: tengen.optim.Adam(p, 1e-2, foreach=True),
    "Adam, fused": lambda p: tengen.optim.Adam(p, 1e-2, fused=True),
    "Adam, rate in a tensor": lambda p: tengen.optim.Adam(p, tengen.tensor(1e-2)),
    "AdamW": lambda p: tengen.optim.AdamW(p, 1e-2),
    "Adamax": lambda p: tengen.optim.Adamax(p, 1e-2),
    "NAdam": lambda p: tengen.optim.NAdam(p, 1e-2, decoupled_weight_decay=True, weight_decay=0.1),
    "RAdam": lambda p: tengen.optim.RAdam(p, 1e-2),
    "Adagrad": lambda p: tengen.optim.Adagrad(p, 1e-2, lr_decay=0.1),
    "Adadelta": lambda p: tengen.optim.Adadelta(p, 0.5),
    "RMSprop": lambda p: tengen.optim.RMSprop(p, 1e-2, centered=True, momentum=0.5),
    "ASGD": lambda p: tengen.optim.ASGD(p, 1e-2, t0=2),
    "Rprop": lambda p: tengen.optim.Rprop(p, 1e-2),
}


class Training:
    """A model with its optimiser, and what of them a step changes."""

    def __init__(self, optimiser: Callable[[Any], Any] = OPTIMISERS["Adam"], dropout: bool = False) -> None:
        tengen.manual_seed(0)
        parts: list[Any] = [nn.Linear(5, 7, bias=False), nn.BatchNorm1d(7), nn.Tanh()]
        self.model = nn.Sequential(*parts, *[nn.Dropout(0.4)] * dropout, nn.Linear(7, 3))
        self.optimiser = optimiser(self.model.parameters())

    def parts(self) -> Iterator[Any]:
        """All tensors that a step may change, with gradients and states."""
        for p in self.model.parameters():
            yield from (p, p.grad, *self.optimiser.state.get(p, {}).values())
        yield from self.model.buffers()


def step_of(t: Training) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        t.optimiser.zero_grad()
        loss = F.cross_entropy(t.model(x), y)
        loss.backward()
        t.optimiser.step()
        return loss

    return step


def batch(number: int = 0) -> tuple[Any, Any]:
    x = tengen.sin(tengen.arange(20.0) * (number + 1)).reshape(4, 5)
    return x, (tengen.arange(4) + number) % 3


def agree(a: Training, b: Training) -> None:
    """Two trainings have the same parameters, gradients, states."""
    for p, q in zip(a.parts(), b.parts(), strict=True):
        if not isinstance(p, tengen.Tensor):
            assert type(p) is type(q)
            continue
        assert p.dtype is q.dtype and p.shape == q.shape and p.requires_grad is q.requires_grad
        assert p.stride() == q.stride() and p.is_leaf and q.is_leaf
        assert near(p, q), f"{p} is not {q}"


def beside(
    make: Callable[[Training], Callable[..., Any]],
    optimiser: Callable[[Any], Any] = OPTIMISERS["Adam"],
    between: Callable[[Training, int], None] = lambda training, number: None,
    calls: int = CALLS,
    **options: Any,
) -> Any:
    """Train with a function and with what is compiled of it; the latter."""
    a, b = Training(optimiser, **options), Training(optimiser, **options)
    function, compiled = make(a), tengen.compile(make(b))
    state = tengen.get_rng_state()
    for number in range(calls):
        tengen.set_rng_state(state)
        expected = function(*batch(number))
        after = tengen.get_rng_state()
        tengen.set_rng_state(state)
        same(compiled(*batch(number)), expected)
        assert bool((tengen.get_rng_state() == after).all())
        state = after
        agree(a, b)
        between(a, number)
        between(b, number)
    return compiled
