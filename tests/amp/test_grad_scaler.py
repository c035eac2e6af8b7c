"""GradScaler: scaled losses, unscaled gradients, steps that are left out, without torch and beside it."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import optim
from tengen.amp import GradScaler

OPTIMIZERS = ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "NAdam", "ASGD")


def program(lib: Any, name: str) -> list[Any]:
    """Twelve iterations, two of which have infinite gradients: parameters, scales and states."""
    values = np.random.default_rng(0).standard_normal((5, 3))
    x, w = (lib.from_numpy(v).float() for v in (values, values[:3, :1]))
    w.requires_grad_()
    optimizer = getattr(lib.optim, name)([w], lr=0.1)
    scaler = lib.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    seen: list[Any] = []
    for step in range(12):
        optimizer.zero_grad()
        loss = (x @ w - 1).square().mean() * (float("inf") if step in (4, 5) else 1.0)
        scaler.scale(loss).backward()
        if step % 2:
            scaler.unscale_(optimizer)
            lib.nn.utils.clip_grad_norm_([w], 0.5)
        scaler.step(optimizer)
        scaler.update()
        seen.append((w.detach().numpy().copy(), scaler.get_scale(), scaler.state_dict()))
    return seen


@pytest.mark.oracle
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_beside_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    for ours, theirs in zip(program(tengen, name), program(torch, name), strict=True):
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-5, atol=1e-6)
        assert ours[1:] == theirs[1:]


def made(**options: Any) -> tuple[GradScaler, Any, Any]:
    w = tengen.ones(2, requires_grad=True)
    return GradScaler("cpu", **options), w, optim.SGD([w], lr=1.0)


def test_one_step() -> None:
    scaler, w, optimizer = made(init_scale=8.0)
    scaler.scale((w * w).sum()).backward()
    assert w.grad.tolist() == [16.0, 16.0]
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [-1.0, -1.0] and w.grad.tolist() == [2.0, 2.0] and scaler.get_scale() == 8.0


def test_infinite_gradients_leave_the_step_out() -> None:
    for wrong in (float("inf"), float("-inf"), float("nan")):
        scaler, w, optimizer = made(init_scale=8.0, backoff_factor=0.25)
        scaler.scale((w * tengen.tensor([1.0, wrong])).sum()).backward()
        assert scaler.step(optimizer) is None
        scaler.update()
        assert w.tolist() == [1.0, 1.0] and scaler.get_scale() == 2.0


def test_sparse_gradients() -> None:
    scaler, _, _ = made(init_scale=4.0)
    layer = tengen.nn.Embedding(3, 2, sparse=True)
    optimizer = optim.SparseAdam(list(layer.parameters()), lr=0.1)
    scaler.scale(layer(tengen.tensor([1, 1])).sum()).backward()
    scaler.unscale_(optimizer)
    assert layer.weight.grad.to_dense().tolist() == [[0, 0], [2, 2], [0, 0]]
    before = layer.weight.detach().clone()
    scaler.step(optimizer)
    assert not tengen.equal(layer.weight, before)


def test_what_is_scaled() -> None:
    scaler, w, _ = made(init_scale=2.0)
    assert [t.tolist() for t in scaler.scale([w, (w, w)])[1]] == [[2.0, 2.0]] * 2
    assert isinstance(scaler.scale((w,)), tuple)
    assert [t.tolist() for t in scaler.scale(iter([w]))] == [[2.0, 2.0]]
    with pytest.raises(ValueError, match="outputs must be a Tensor or an iterable"):
        scaler.scale(3)


def test_saving() -> None:
    scaler, w, optimizer = made(growth_interval=1)
    scaler.scale(w.sum()).backward()
    with pytest.raises(AssertionError, match="may only be pickled"):
        scaler.step(optimizer)
        pickle.dumps(scaler)
    scaler.update()
    other = GradScaler("cpu", init_scale=3.0)
    other.load_state_dict(scaler.state_dict())
    for found in (other, pickle.loads(pickle.dumps(scaler))):
        assert found.state_dict() == scaler.state_dict() and found.get_scale() == 2.0**17
    with pytest.raises(RuntimeError, match="source state dict is empty"):
        other.load_state_dict({})


def test_disabled() -> None:
    with pytest.warns(UserWarning, match="Disabling"):
        scaler = GradScaler()
    _, w, optimizer = made()
    assert not scaler.is_enabled() and scaler.scale(w) is w and scaler.get_scale() == 1.0
    w.sum().backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert w.tolist() == [0.0, 0.0] and scaler.state_dict() == {}


def test_errors() -> None:
    with pytest.raises(AssertionError, match=r"growth factor must be > 1\.0"):
        GradScaler("cpu", growth_factor=1.0)
    with pytest.raises(AssertionError, match=r"backoff factor must be < 1\.0"):
        GradScaler("cpu", backoff_factor=1.0)
    scaler, w, optimizer = made()
    for call, text in (
        (lambda: scaler.step(optimizer), "Attempted step but _scale is None"),
        (lambda: scaler.unscale_(optimizer), "Attempted unscale_ but _scale is None"),
        (lambda: scaler.update(), "Attempted update but _scale is None"),
    ):
        with pytest.raises(AssertionError, match=text):
            call()
    scaler.scale(w.sum())
    with pytest.raises(AssertionError, match="No inf checks were recorded for this optimizer"):
        scaler.step(optimizer)
    scaler, w, optimizer = made()
    scaler.scale(w.sum()).backward()
    with pytest.raises(AssertionError, match="No inf checks were recorded prior to update"):
        scaler.update()
    with pytest.raises(RuntimeError, match="Closure use is not currently supported"):
        scaler.step(optimizer, closure=lambda: None)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called on this optimizer"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"being called after step\(\)"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called since the last update"):
        scaler.step(optimizer)
    scaler.update(5.0)
    assert scaler.get_scale() == 5.0
    half = tengen.ones(1, dtype=tengen.float16, requires_grad=True)
    scaler.scale(half.sum()).backward()
    with pytest.raises(ValueError, match="Attempting to unscale FP16 gradients"):
        scaler.unscale_(optim.SGD([half], lr=1.0))
