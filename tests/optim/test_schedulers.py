"""Schedules of learning rates: beside torch's exactly, and by their formulas."""

from __future__ import annotations

import math
import pickle
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

import tengen
from tengen.optim import lr_scheduler

EPOCHS = 50
SCHEDULES: dict[str, Callable[[Any, Any], Any]] = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.95**e),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda e: 0.95**e, lambda e: 1 / (1 + e)]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.97),
    "step": lambda s, o: s.StepLR(o, 7, gamma=0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [5, 12, 12, 30], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, factor=0.3, total_iters=9),
    "linear": lambda s, o: s.LinearLR(o, start_factor=0.2, end_factor=0.9, total_iters=13),
    "exponential": lambda s, o: s.ExponentialLR(o, gamma=0.93),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=30, power=1.7),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, T_max=11, eta_min=0.003),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=4, T_mult=2, eta_min=0.001),
    "restarts, even": lambda s, o: s.CosineAnnealingWarmRestarts(o, T_0=6),
    "triangular": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], step_size_up=6, step_size_down=3),
    "triangular2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=5, mode="triangular2"),
    "exp_range": lambda s, o: s.CyclicLR(o, 0.01, 0.1, step_size_up=5, mode="exp_range", gamma=0.9),
    "scale_fn": lambda s, o: s.CyclicLR(
        o,
        0.01,
        0.1,
        step_size_up=5,
        scale_fn=lambda x: 1 / (1 + x),
        scale_mode="iterations",
        cycle_momentum=False,
    ),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.5, total_steps=60),
    "one cycle, linear": lambda s, o: s.OneCycleLR(
        o, [0.5, 0.3], epochs=6, steps_per_epoch=10, anneal_strategy="linear"
    ),
    "one cycle, three": lambda s, o: s.OneCycleLR(
        o, 0.5, total_steps=60, three_phase=True, cycle_momentum=False
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9), s.StepLR(o, 3)], milestones=[5, 20]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.5, 6), s.ExponentialLR(o, 0.9)]),
}


def optimizer(m: ModuleType, name: str = "SGD") -> Any:
    """Two groups of one parameter."""
    params = [m.ones(2, requires_grad=True), m.ones(3, requires_grad=True)]
    options = {"momentum": 0.9} if name == "SGD" else {}
    return getattr(m.optim, name)(
        [{"params": params[:1]}, {"params": params[1:], "lr": 0.02}], lr=0.1, **options
    )


def values(made: Any) -> list[Any]:
    """The rates and momenta of the groups."""
    return [(g["lr"], g.get("momentum"), g.get("betas")) for g in made.param_groups]


@pytest.mark.oracle
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_are_torchs(name: str, kind: str) -> None:
    """All rates and momenta over all epochs, to the last bit; also saved and loaded in the middle."""
    torch = pytest.importorskip("torch")
    seen = {}
    for m in (tengen, torch):
        for loads in (False, True):
            made = optimizer(m, kind)
            schedule = SCHEDULES[name](m.optim.lr_scheduler, made)
            found = [values(made)]
            for epoch in range(EPOCHS):
                made.step()
                schedule.step()
                found.append(
                    [
                        *values(made),
                        schedule.get_last_lr(),
                        schedule.last_epoch if epoch and name != "chained" else 0,
                    ]
                )
                if loads and epoch == 23:
                    saved, states = made.state_dict(), schedule.state_dict()
                    made = optimizer(m, kind)
                    schedule = SCHEDULES[name](m.optim.lr_scheduler, made)
                    schedule.load_state_dict(states)
                    made.load_state_dict(saved)
            seen[m.__name__, loads] = found
    assert seen["tengen", False] == seen["torch", False]
    assert seen["tengen", True] == seen["torch", True]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "max", "patience": 2},
        {"threshold_mode": "abs", "cooldown": 3, "patience": 1},
        {"min_lr": [0.05, 0.001], "patience": 0, "factor": 0.5},
        {"mode": "max", "threshold_mode": "abs", "patience": 1, "threshold": 0.2},
    ],
    ids=str,
)
def test_plateau_is_torchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    seen = []
    for m in (tengen, torch):
        made = optimizer(m)
        schedule = m.optim.lr_scheduler.ReduceLROnPlateau(made, **options)
        found = []
        for epoch in range(EPOCHS):
            metric = math.sin(epoch / 5) + 1 / (1 + epoch)
            schedule.step(m.tensor(metric) if epoch % 2 else metric)
            found.append([values(made), schedule.get_last_lr(), schedule.num_bad_epochs, schedule.best])
        seen.append((found, {k: v for k, v in schedule.state_dict().items()}))
    assert seen[0] == seen[1]


@pytest.mark.oracle
@pytest.mark.parametrize("name", SCHEDULES)
def test_state_dicts_have_torchs_keys(name: str) -> None:
    torch = pytest.importorskip("torch")
    dicts = [SCHEDULES[name](m.optim.lr_scheduler, optimizer(m)).state_dict() for m in (tengen, torch)]
    ours, theirs = [{k for k in d if not k.startswith("_get_lr")} for d in dicts]
    assert ours == {k for k in theirs if k != "_is_initial"} | ({"_is_initial"} & ours)


@pytest.mark.parametrize("epoch", [0, 3, 8, 17])
@pytest.mark.parametrize(
    "name", ["step", "multistep", "constant", "linear", "exponential", "polynomial", "cosine", "restarts"]
)
def test_a_given_epoch(m: ModuleType, name: str, epoch: int) -> None:
    """The closed form is that of the steps."""
    made, other = optimizer(m), optimizer(m)
    stepped, jumped = (SCHEDULES[name](m.optim.lr_scheduler, o) for o in (made, other))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(epoch):
            stepped.step()
        jumped.step(epoch)
    assert [g["lr"] for g in other.param_groups] == pytest.approx(
        [g["lr"] for g in made.param_groups], rel=1e-9
    )


def test_formulas(m: ModuleType) -> None:
    """A few by hand."""
    made = optimizer(m)
    schedule = m.optim.lr_scheduler.CosineAnnealingLR(made, T_max=10)
    for epoch in range(1, 11):
        made.step()
        schedule.step()
        assert made.param_groups[0]["lr"] == pytest.approx(
            0.05 * (1 + math.cos(math.pi * epoch / 10)), abs=1e-12
        )
    made = optimizer(m)
    schedule = m.optim.lr_scheduler.LinearLR(made, 0.5, total_iters=4)
    rates = [schedule.get_last_lr()[0]]
    for _ in range(6):
        made.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    assert rates == pytest.approx([0.05, 0.0625, 0.075, 0.0875, 0.1, 0.1, 0.1])


def test_plateau_by_hand(m: ModuleType) -> None:
    """It waits for more than ``patience`` epochs that are not better, not counting those of the cooldown."""
    made = optimizer(m)
    schedule = m.optim.lr_scheduler.ReduceLROnPlateau(made, patience=2, cooldown=2, factor=0.1)
    rates = []
    for _ in range(9):
        schedule.step(1.0)
        rates.append(made.param_groups[0]["lr"])
    assert rates == pytest.approx([0.1] * 3 + [0.01] * 5 + [0.001])


def test_one_cycle_in_three_phases(m: ModuleType) -> None:
    """Up in a quarter of the steps, down to where it began in as many, and then far down."""
    made = optimizer(m)
    schedule = m.optim.lr_scheduler.OneCycleLR(
        made, 1.0, total_steps=20, pct_start=0.25, three_phase=True, div_factor=10, final_div_factor=100
    )
    rates = [schedule.get_last_lr()[0]]
    for _ in range(19):
        made.step()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    assert [rates[i] for i in (0, 4, 8, 19)] == pytest.approx([0.1, 1.0, 0.1, 0.001])
    assert rates[:5] == pytest.approx(rates[8:3:-1])
    assert max(rates[9:]) < 0.1


def test_order_of_steps(m: ModuleType) -> None:
    """A step of the schedule before any of the optimiser warns, once; the other order does not."""
    made = optimizer(m)
    schedule = m.optim.lr_scheduler.StepLR(made, 2)
    with pytest.warns(UserWarning, match="before `optimizer.step\\(\\)`"):
        schedule.step()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        schedule.step()
        made = optimizer(m)
        schedule = m.optim.lr_scheduler.StepLR(made, 2)
        made.step()
        schedule.step()
    made = optimizer(m)
    schedule = m.optim.lr_scheduler.StepLR(made, 2)
    made.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden after"):
        schedule.step()
    with pytest.warns(UserWarning, match="get_last_lr"):
        schedule.get_lr()
    with pytest.warns(UserWarning, match="epoch parameter"):
        schedule.step(3)


def test_rates_that_are_tensors(m: ModuleType) -> None:
    """They are changed in place."""
    rate = m.tensor(0.1, dtype=m.float64)
    made = m.optim.SGD([m.ones(2, requires_grad=True)], lr=rate)
    schedule = m.optim.lr_scheduler.ExponentialLR(made, 0.5)
    made.step()
    schedule.step()
    assert made.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.05)
    assert made.param_groups[0]["initial_lr"].item() == pytest.approx(0.1)
    assert schedule.get_last_lr()[0].item() == pytest.approx(0.05)
    assert schedule.get_last_lr()[0] is not rate


ERRORS: dict[str, tuple[type[Exception], str, Callable[[Any, Any], Any]]] = {
    "no optimiser": (TypeError, "int is not an Optimizer", lambda s, o: s.StepLR(3, 1)),
    "resumed": (KeyError, "initial_lr", lambda s, o: s.StepLR(o, 1, last_epoch=4)),
    "lambdas": (ValueError, "Expected 2 lr_lambdas", lambda s, o: s.LambdaLR(o, [abs])),
    "no function": (TypeError, "should be a function", lambda s, o: s.MultiplicativeLR(o, [abs, 3])),
    "constant": (ValueError, "between 0 and 1", lambda s, o: s.ConstantLR(o, 1.5)),
    "start": (ValueError, "Starting multiplicative", lambda s, o: s.LinearLR(o, 0)),
    "end": (ValueError, "Ending multiplicative", lambda s, o: s.LinearLR(o, 0.5, 2)),
    "T_0": (ValueError, "positive integer T_0", lambda s, o: s.CosineAnnealingWarmRestarts(o, 0)),
    "T_mult": (ValueError, "integer T_mult", lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 0)),
    "eta_min": (ValueError, "eta_min", lambda s, o: s.CosineAnnealingWarmRestarts(o, 2, 1, "a")),
    "epoch": (ValueError, "non-negative epoch", lambda s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-1)),
    "factor": (ValueError, "Factor should be < 1.0", lambda s, o: s.ReduceLROnPlateau(o, factor=1.0)),
    "mode": (ValueError, "mode a is unknown", lambda s, o: s.ReduceLROnPlateau(o, mode="a")),
    "threshold mode": (
        ValueError,
        "threshold mode a",
        lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="a"),
    ),
    "min_lr": (ValueError, "expected 2 min_lrs, got 1", lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0.1])),
    "plateau": (TypeError, "not an Optimizer", lambda s, o: s.ReduceLROnPlateau(3)),
    "cyclic mode": (ValueError, "mode is invalid", lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="a")),
    "cyclic lengths": (ValueError, "base_lr has 1 values", lambda s, o: s.CyclicLR(o, [0.1], 0.2)),
    "steps": (ValueError, "either total_steps OR", lambda s, o: s.OneCycleLR(o, 0.1, epochs=3)),
    "total": (ValueError, "positive integer total_steps", lambda s, o: s.OneCycleLR(o, 0.1, total_steps=0)),
    "epochs": (
        ValueError,
        "positive integer epochs",
        lambda s, o: s.OneCycleLR(o, 0.1, epochs=0, steps_per_epoch=1),
    ),
    "pct": (ValueError, "pct_start", lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9, pct_start=2)),
    "strategy": (
        ValueError,
        "anneal_strategy",
        lambda s, o: s.OneCycleLR(o, 0.1, total_steps=9, anneal_strategy="a"),
    ),
    "sequential, none": (ValueError, "at least one", lambda s, o: s.SequentialLR(o, [], [])),
    "sequential, milestones": (
        ValueError,
        "one more than",
        lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [2]),
    ),
    "sequential, plateau": (
        ValueError,
        "does not support",
        lambda s, o: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    ),
    "sequential, no schedule": (TypeError, "as its attribute", lambda s, o: s.SequentialLR(o, [3], [])),
    "chained, none": (ValueError, "at least one", lambda s, o: s.ChainedScheduler([])),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(m: ModuleType, name: str) -> None:
    error, text, make = ERRORS[name]
    made = optimizer(m)
    before = values(made)
    with pytest.raises(error, match=text):
        make(m.optim.lr_scheduler, made)
    if m is tengen:  # torch has changed the rates already
        assert values(made) == before


def test_more_errors(m: ModuleType) -> None:
    s = m.optim.lr_scheduler
    made, other = optimizer(m), optimizer(m)
    with pytest.raises(ValueError, match="same optimizer"):
        s.ChainedScheduler([s.StepLR(made, 1), s.StepLR(other, 1)])
    plain = m.optim.Adagrad([m.ones(2, requires_grad=True)])
    for make in (lambda: s.CyclicLR(plain, 0.1, 0.2), lambda: s.OneCycleLR(plain, 0.1, total_steps=3)):
        with pytest.raises(ValueError, match="must support momentum or beta1"):
            make()
    schedule = s.OneCycleLR(made, 0.1, total_steps=3)
    made.step()
    for _ in range(3):
        schedule.step()
    with pytest.raises(ValueError, match="Tried to step 4 times"):
        schedule.step()
    schedule = s.ReduceLROnPlateau(other, min_lr=[0.1, 0.1], patience=0)
    other.add_param_group({"params": [m.ones(1, requires_grad=True)]})
    with pytest.raises(RuntimeError, match="number of param groups"):
        for _ in range(3):
            schedule.step(1.0)


def test_a_subclass_of_the_users(m: ModuleType) -> None:
    class Halving(m.optim.lr_scheduler.LRScheduler):
        def get_lr(self) -> list[float]:
            return [base / 2**self.last_epoch for base in self.base_lrs]

    made = optimizer(m)
    schedule = Halving(made)
    made.step()
    schedule.step()
    assert schedule.get_last_lr() == [0.05, 0.01]
    with pytest.raises(NotImplementedError):
        m.optim.lr_scheduler.LRScheduler(optimizer(m))


def test_callable_objects_are_saved(m: ModuleType) -> None:
    class Falling:
        def __init__(self, rate: float) -> None:
            self.rate = rate

        def __call__(self, epoch: int) -> float:
            return float(self.rate**epoch)

    made = optimizer(m)
    saved = m.optim.lr_scheduler.LambdaLR(made, Falling(0.5)).state_dict()
    schedule = m.optim.lr_scheduler.LambdaLR(optimizer(m), Falling(0.9))
    schedule.load_state_dict(saved)
    assert schedule.lr_lambdas[0].rate == 0.5
    assert "lr_lambdas" in saved
    pickle.loads(pickle.dumps(saved))


def test_the_optimiser_is_not_kept_alive() -> None:
    import gc
    import weakref

    made = optimizer(tengen)
    known = weakref.ref(made)
    schedule = lr_scheduler.StepLR(made, 1)
    del made, schedule
    gc.collect()
    assert known() is None
