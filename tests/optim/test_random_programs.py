"""Random programs in both libraries: whatever a user may do to an optimiser between two steps."""

from __future__ import annotations

import copy
import random
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from optim_programs import OPTIONS, allowed, arrays

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

SHAPES = [(3,), (2, 3), (), (4, 2), (0,), (5,)]


class Program:
    """Steps of an optimiser, with something done before each; all is decided by the seed."""

    def __init__(self, m: ModuleType, seed: int) -> None:
        self.m, self.random, self.numbers = m, random.Random(seed), np.random.default_rng(seed)
        self.name = self.random.choice(list(OPTIONS))
        options = self.options()
        while not allowed(self.name, options):
            options = self.options()
        self.params = [self.parameter(self.random.choice(SHAPES)) for _ in range(self.random.randint(1, 6))]
        cut = self.random.randint(0, len(self.params) - 1)
        groups = [{"params": self.params[:cut]}, {"params": self.params[cut:]}] if cut else self.params
        self.optimizer = getattr(m.optim, self.name)(groups, **options)

    def options(self) -> dict[str, Any]:
        return {key: self.random.choice(values) for key, values in OPTIONS[self.name].items()}

    def tensor(self, shape: tuple[int, ...]) -> Any:
        values = self.numbers.standard_normal(shape)
        return self.m.tensor(values.tolist(), dtype=self.m.float64).reshape(shape)

    def parameter(self, shape: tuple[int, ...]) -> Any:
        return self.tensor(shape).requires_grad_()

    def run(self, steps: int) -> None:
        deeds = [
            self.replace_data,
            self.replace_states,
            self.change_states,
            self.forget_states,
            self.load,
            self.add_group,
            self.change_rate,
            self.copy,
        ]
        for _ in range(steps):
            for p in self.params:
                grad = self.tensor(tuple(p.shape))
                p.grad = grad if self.random.random() < 0.85 else None
            if self.random.random() < 0.6:
                self.random.choice(deeds)()
            self.optimizer.step()

    def any(self) -> tuple[Any, dict[str, Any]]:
        """A parameter and its state."""
        p = self.random.choice(self.params)
        return p, self.optimizer.state.get(p, {})

    def replace_data(self) -> None:
        p, _ = self.any()
        p.data = self.tensor(tuple(p.shape))

    def replace_states(self) -> None:
        _, state = self.any()
        for key in list(state):
            state[key] = state[key].clone()

    def change_states(self) -> None:
        _, state = self.any()
        for value in state.values():
            if value.dim():
                value.mul_(0.5)

    def forget_states(self) -> None:
        p, _ = self.any()
        self.optimizer.state.pop(p, None)

    def load(self) -> None:
        state = self.optimizer.state_dict()
        self.optimizer.load_state_dict(copy.deepcopy(state) if self.random.random() < 0.5 else state)

    def add_group(self) -> None:
        p = self.parameter((3,))
        p.grad = self.tensor((3,))
        self.params.append(p)
        self.optimizer.add_param_group({"params": [p]})

    def change_rate(self) -> None:
        self.optimizer.param_groups[0]["lr"] *= 0.5

    def copy(self) -> None:
        self.params, self.optimizer = copy.deepcopy((self.params, self.optimizer))

    def states(self) -> dict[int, dict[str, np.ndarray]]:
        """The states, and of which parameters they are."""
        saved = self.optimizer.state_dict()["state"]
        return {i: {k: np.array(v.numpy()) for k, v in state.items()} for i, state in saved.items()}


@pytest.mark.parametrize("seed", range(80))
def test_random_program(seed: int) -> None:
    ours, theirs = Program(tengen, seed), Program(torch, seed)
    for program in (ours, theirs):
        program.run(12)
    # the product of NAdam's momenta is kept in float32
    tolerance = 1e-6 if ours.name == "NAdam" else 1e-9
    for a, b in zip(arrays(ours.params), arrays(theirs.params), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
    here, there = ours.states(), theirs.states()
    assert {i: sorted(state) for i, state in here.items()} == {i: sorted(state) for i, state in there.items()}
    for i, state in here.items():
        for key, value in state.items():
            np.testing.assert_allclose(value, there[i][key], rtol=1e-6, atol=tolerance)
