"""Rates of schedules around their boundaries, one step before, on and after, by their closed formulas."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.optim import lr_scheduler as s

BASE = 0.8


def rates(make: Callable[[Any], Any], steps: int, momentum: bool = False) -> list[float]:
    """The rate before each of so many steps, or the momentum."""
    optimiser = tengen.optim.SGD([tengen.ones(1, requires_grad=True)], lr=BASE, momentum=0.9)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's too warn of epochs that are given
        schedule = make(optimiser)
        found = []
        for _ in range(steps):
            found.append(optimiser.param_groups[0]["momentum" if momentum else "lr"])
            optimiser.step()
            schedule.step()
    return found


def cosine(t: float, period: float, low: float, high: float) -> float:
    """Half a cosine from ``high`` at 0 to ``low`` at the period."""
    return low + (high - low) * (1 + math.cos(math.pi * t / period)) / 2


def cycle(t: int, up: int, down: int) -> float:
    """The part of the way up in a cycle of so many steps up and down."""
    within = t % (up + down)
    return within / up if within <= up else (up + down - within) / down


#: Of each schedule: what makes it, its rate by the step, and the steps that are boundaries.
FORMULAS: dict[str, tuple[Callable[[Any], Any], Callable[[int], float], tuple[int, ...]]] = {
    "step": (lambda o: s.StepLR(o, 4, gamma=0.5), lambda t: BASE * 0.5 ** (t // 4), (4, 8, 12)),
    "multistep": (
        lambda o: s.MultiStepLR(o, [3, 7, 7], gamma=0.1),
        lambda t: BASE * 0.1 ** sum(t >= m for m in (3, 7, 7)),
        (3, 7),
    ),
    "constant": (
        lambda o: s.ConstantLR(o, factor=0.25, total_iters=5),
        lambda t: BASE * (0.25 if t < 5 else 1),
        (5,),
    ),
    "constant, once": (
        lambda o: s.ConstantLR(o, factor=0.25, total_iters=1),
        lambda t: BASE * (0.25, 1)[t > 0],
        (1,),
    ),
    "linear": (
        lambda o: s.LinearLR(o, start_factor=0.25, end_factor=0.75, total_iters=4),
        lambda t: BASE * (0.25 + 0.5 * min(t, 4) / 4),
        (4,),
    ),
    "polynomial": (
        lambda o: s.PolynomialLR(o, total_iters=5, power=2.0),
        lambda t: BASE * (1 - min(t, 5) / 5) ** 2,
        (5,),
    ),
    "cosine": (
        lambda o: s.CosineAnnealingLR(o, T_max=5, eta_min=0.1),
        lambda t: cosine(t, 5, 0.1, BASE),
        (5, 10, 15),
    ),
    "restarts": (
        lambda o: s.CosineAnnealingWarmRestarts(o, T_0=3, T_mult=2, eta_min=0.1),
        lambda t: cosine(t, 3, 0.1, BASE) if t < 3 else cosine((t - 3) % 6, 6, 0.1, BASE) if t < 9
        else cosine(t - 9, 12, 0.1, BASE),
        (3, 9),
    ),
    "triangular": (
        lambda o: s.CyclicLR(o, 0.2, 1.0, step_size_up=4, step_size_down=2, cycle_momentum=False),
        lambda t: 0.2 + 0.8 * cycle(t, 4, 2),
        (4, 6, 10, 12),
    ),
    "triangular2": (
        lambda o: s.CyclicLR(o, 0.2, 1.0, step_size_up=3, mode="triangular2", cycle_momentum=False),
        lambda t: 0.2 + 0.8 * cycle(t, 3, 3) / 2 ** (t // 6),
        (3, 6, 9, 12),
    ),
    "one cycle": (
        lambda o: s.OneCycleLR(o, 1.0, total_steps=11, pct_start=0.3, div_factor=10, final_div_factor=100),
        # Up from step 0 to 0.3 * 11 - 1, down to the last step, 10.
        lambda t: cosine(t, 2.3, 1.0, 0.1) if t <= 2.3 else cosine(t - 2.3, 7.7, 0.001, 1.0),
        (2, 3, 10),
    ),
    "one cycle, linear, three phases": (
        lambda o: s.OneCycleLR(
            o, 1.0, total_steps=10, pct_start=0.4, anneal_strategy="linear", three_phase=True, div_factor=10,
            final_div_factor=10,
        ),
        lambda t: min(0.1 + 0.9 * t / 3, 1 - 0.9 * (t - 3) / 3) if t <= 6 else 0.1 - 0.09 * (t - 6) / 3,
        (3, 6, 9),
    ),
    "sequential": (
        lambda o: s.SequentialLR(
            o, [s.ConstantLR(o, 0.5, 100), s.ExponentialLR(o, 0.9)], milestones=[3]
        ),
        lambda t: BASE * 0.5 if t < 3 else BASE * 0.9 ** (t - 3),
        (3,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMULAS)
def test_rates_around_boundaries(name: str) -> None:
    make, formula, boundaries = FORMULAS[name]
    last = 11 if name == "one cycle" else 10 if name.startswith("one cycle") else max(boundaries) + 2
    found = rates(make, last)
    for boundary in boundaries:
        for step in (boundary - 1, boundary, boundary + 1):
            if step < last:
                assert found[step] == pytest.approx(formula(step), rel=1e-12, abs=1e-15), f"at step {step}"


@pytest.mark.parametrize("last", [-1, 0, 1, 2])
def test_the_epoch_that_is_gone_on_from(last: int) -> None:
    """``last_epoch`` is the number of the last epoch that was done: the next one has the rate after it."""
    optimiser = tengen.optim.SGD([tengen.ones(1, requires_grad=True)], lr=BASE)
    for group in optimiser.param_groups:
        group["initial_lr"] = BASE
    schedule = s.LambdaLR(optimiser, lambda e: 0.5**e, last_epoch=last)
    assert schedule.last_epoch == last + 1
    assert optimiser.param_groups[0]["lr"] == pytest.approx(BASE * 0.5 ** (last + 1), rel=1e-12)


def test_momentum_goes_against_the_rate() -> None:
    """It is least where the rate is greatest."""
    found = rates(
        lambda o: s.OneCycleLR(o, 1.0, total_steps=10, pct_start=0.4, anneal_strategy="linear"), 10, True
    )
    up = [0.95 - 0.1 * t / 3 for t in range(4)]
    down = [0.85 + 0.1 * (t - 3) / 6 for t in range(4, 10)]
    assert found == pytest.approx([*up, *down], rel=1e-12)


def test_a_cycle_is_over() -> None:
    """One step more than ``total_steps`` is an error."""
    optimiser = tengen.optim.SGD([tengen.ones(1, requires_grad=True)], lr=BASE)
    schedule = s.OneCycleLR(optimiser, 1.0, total_steps=3)
    optimiser.step()
    for _ in range(2):
        schedule.step()
    with pytest.raises(ValueError, match="3"):
        for _ in range(2):
            schedule.step()
