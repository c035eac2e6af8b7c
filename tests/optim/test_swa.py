"""Averages of a model's parameters, and the schedule that goes with them."""

from __future__ import annotations

import copy
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import nn
from tengen.optim import swa_utils


def model_of(m: ModuleType, values: list[float]) -> Any:
    """A linear module, with a buffer of floats and one of integers."""
    found = m.nn.Linear(2, 1, bias=False)
    with m.no_grad():
        found.weight.copy_(m.tensor([values[:2]]))
    found.register_buffer("seen", m.tensor(values[2]))
    found.register_buffer("count", m.tensor(int(values[3])))
    return found


MODELS = [[1.0, 2.0, 3.0, 4.0], [2.0, 5.0, 7.0, 10.0], [-1.0, 0.5, 1.0, 4.0], [0.0, 1.0, 8.0, 8.0]]
FUNCTIONS: dict[str, Any] = {
    "default": lambda u: {},
    "swa": lambda u: {"avg_fn": u.get_swa_avg_fn()},
    "ema": lambda u: {"avg_fn": u.get_ema_avg_fn(0.75)},
    "multi_swa": lambda u: {"multi_avg_fn": u.get_swa_multi_avg_fn()},
    "multi_ema": lambda u: {"multi_avg_fn": u.get_ema_multi_avg_fn(0.75)},
}


def averaged(m: ModuleType, name: str, use_buffers: bool) -> list[Any]:
    """What the averaged model has after each model."""
    found = m.optim.swa_utils.AveragedModel(
        model_of(m, MODELS[0]), use_buffers=use_buffers, **FUNCTIONS[name](m.optim.swa_utils)
    )
    seen = []
    for values in MODELS:
        found.update_parameters(model_of(m, values))
        seen.append({k: v.tolist() for k, v in found.state_dict().items()})
    x = m.tensor([[1.0, 2.0]])
    return [*seen, found(x).tolist(), list(found.state_dict())]


@pytest.mark.oracle
@pytest.mark.parametrize("use_buffers", [False, True])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_averages_are_torchs(name: str, use_buffers: bool) -> None:
    torch = pytest.importorskip("torch")
    if use_buffers and name == "multi_swa":
        # of integers torch's is an error
        with pytest.raises(RuntimeError, match="Integer division with addcdiv"):
            averaged(torch, name, use_buffers)
        return
    ours, theirs = averaged(tengen, name, use_buffers), averaged(torch, name, use_buffers)
    assert ours[-1] == theirs[-1]
    for a, b in zip(ours[:-2], theirs[:-2], strict=True):
        for key, value in b.items():
            np.testing.assert_allclose(a[key], value, rtol=1e-6)


def test_means_of_models() -> None:
    """All alike, or the last ones most; buffers are averaged or copied."""
    means = np.mean(MODELS, axis=0)
    found = averaged(tengen, "default", use_buffers=False)[len(MODELS) - 1]
    np.testing.assert_allclose(found["module.weight"], [means[:2]], rtol=1e-6)
    assert (found["module.seen"], found["module.count"], found["n_averaged"]) == (8.0, 8, 4)
    found = averaged(tengen, "multi_ema", use_buffers=True)[len(MODELS) - 1]
    moving = np.array(MODELS[0])
    for values in MODELS[1:]:
        moving = 0.75 * moving + 0.25 * np.array(values)
    np.testing.assert_allclose(found["module.weight"], [moving[:2]], rtol=1e-6)
    np.testing.assert_allclose(found["module.seen"], moving[2], rtol=1e-6)


def test_bad_averages() -> None:
    model = model_of(tengen, MODELS[0])
    with pytest.raises(AssertionError, match="Only one of avg_fn and multi_avg_fn"):
        swa_utils.AveragedModel(model, avg_fn=min, multi_avg_fn=max)
    for make in (swa_utils.get_ema_avg_fn, swa_utils.get_ema_multi_avg_fn):
        with pytest.raises(ValueError, match=r"Invalid decay value 1.5 provided"):
            make(1.5)


class _BatchNorm(nn.Module):
    """Keeps the mean of what it has seen, as batch normalisation does."""

    def __init__(self) -> None:
        super().__init__()
        self.momentum: float | None = 0.5
        self.register_buffer("mean", tengen.ones(()))
        self.register_buffer("batches", tengen.zeros(()))

    def reset_running_stats(self) -> None:
        self.mean.zero_()
        self.batches.zero_()

    def forward(self, x: Any) -> Any:
        assert self.training
        assert self.momentum is None
        self.batches += 1
        self.mean += (x.mean() - self.mean) / self.batches
        return x


def test_statistics_anew() -> None:
    norm = _BatchNorm()
    model = nn.Sequential(nn.Identity(), norm).eval()
    swa_utils.update_bn([(tengen.tensor([1.0, 3.0]), 0), tengen.tensor([6.0])], model)
    assert (norm.mean.item(), norm.momentum, model.training) == (4.0, 0.5, False)
    swa_utils.update_bn([None], nn.Identity())  # which is not called


@pytest.mark.oracle
def test_statistics_are_torchs() -> None:
    """Of batch normalisation alone; what an instance normalisation keeps moves as in training."""
    torch = pytest.importorskip("torch")
    batches = np.random.default_rng(0).standard_normal((3, 4, 2, 5)).tolist()
    seen = []
    for m in (tengen, torch):
        model = m.nn.Sequential(
            m.nn.BatchNorm1d(2, momentum=0.3), m.nn.InstanceNorm1d(2, track_running_stats=True)
        )
        model(m.tensor(batches[0]))
        m.optim.swa_utils.update_bn(m.utils.data.DataLoader(m.tensor(batches), batch_size=None), model)
        seen.append({k: v.tolist() for k, v in model.state_dict().items()})
        assert (model[0].momentum, model[1].momentum) == (0.3, 0.1)
    for key, value in seen[1].items():
        np.testing.assert_allclose(seen[0][key], value, rtol=1e-5, atol=1e-6, err_msg=key)


def rates(m: ModuleType, options: dict[str, Any]) -> list[Any]:
    """The learning rates of two groups, with the schedule saved and loaded in the middle."""
    groups = [
        {"params": [m.ones(2, requires_grad=True)]},
        {"params": [m.ones(1, requires_grad=True)], "lr": 0.3},
    ]
    optimizer = m.optim.SGD(groups, lr=0.5)
    schedule = m.optim.swa_utils.SWALR(optimizer, **options)
    seen = []
    for epoch in range(8):
        seen.append([group["lr"] for group in optimizer.param_groups])
        optimizer.step()
        schedule.step()
        if epoch == 3:
            saved = copy.deepcopy(schedule.state_dict())
            assert "optimizer" not in saved
            schedule.load_state_dict(saved)
    return [*seen, schedule.get_last_lr()]


@pytest.mark.oracle
@pytest.mark.parametrize(
    "options",
    [
        {"swa_lr": 0.05},
        {"swa_lr": [0.05, 1.0], "anneal_epochs": 5},
        {"swa_lr": 0.05, "anneal_epochs": 4, "anneal_strategy": "linear"},
        {"swa_lr": 0.05, "anneal_epochs": 0},
    ],
    ids=str,
)
def test_schedule_is_torchs(options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(rates(tengen, options), rates(torch, options), rtol=1e-12)


def test_schedule() -> None:
    """Straight down, and then as it is."""
    seen = rates(tengen, {"swa_lr": 0.1, "anneal_epochs": 4, "anneal_strategy": "linear"})
    np.testing.assert_allclose([s[0] for s in seen[:7]], [0.5, 0.4, 0.3, 0.2, 0.1, 0.1, 0.1])


def test_bad_schedules() -> None:
    optimizer = tengen.optim.SGD([tengen.ones(1, requires_grad=True)], lr=0.5)
    for options, said in (
        ({"swa_lr": [1.0, 2.0]}, "swa_lr must have the same length"),
        ({"swa_lr": 1.0, "anneal_strategy": "up"}, "must be one of 'cos' or 'linear', instead got up"),
        ({"swa_lr": 1.0, "anneal_epochs": -1}, "must be equal or greater than 0, got -1"),
    ):
        with pytest.raises(ValueError, match=said):
            swa_utils.SWALR(optimizer, **options)
    assert "swa_lr" not in optimizer.param_groups[0]
