"""Modules of a batch without samples, beside PyTorch: the shapes of results, gradients and statistics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen

#: By name: how a module is made, and the shape that it takes.
MODULES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...]]] = {
    "BatchNorm1d": (lambda m: m.nn.BatchNorm1d(2), (0, 2)),
    "BatchNorm1d of sequences": (lambda m: m.nn.BatchNorm1d(2), (0, 2, 3)),
    "BatchNorm1d without places": (lambda m: m.nn.BatchNorm1d(2), (3, 2, 0)),
    "BatchNorm2d": (lambda m: m.nn.BatchNorm2d(2), (0, 2, 3, 3)),
    "BatchNorm3d": (lambda m: m.nn.BatchNorm3d(2), (0, 2, 3, 3, 3)),
    "BatchNorm2d, cumulative": (lambda m: m.nn.BatchNorm2d(2, momentum=None), (0, 2, 3, 3)),
    "InstanceNorm1d without places": (lambda m: m.nn.InstanceNorm1d(2, track_running_stats=True), (2, 2, 0)),
    "LayerNorm": (lambda m: m.nn.LayerNorm(4), (0, 4)),
    "GroupNorm": (lambda m: m.nn.GroupNorm(2, 4), (0, 4, 3)),
    "Linear": (lambda m: m.nn.Linear(4, 2), (0, 4)),
    "Conv1d": (lambda m: m.nn.Conv1d(4, 2, 2), (0, 4, 3)),
    "Conv2d": (lambda m: m.nn.Conv2d(4, 2, 2), (0, 4, 3, 3)),
    "ConvTranspose1d": (lambda m: m.nn.ConvTranspose1d(4, 2, 2), (0, 4, 3)),
    "MaxPool2d": (lambda m: m.nn.MaxPool2d(2), (0, 2, 4, 4)),
    "AvgPool2d": (lambda m: m.nn.AvgPool2d(2), (0, 2, 4, 4)),
    "AdaptiveAvgPool2d": (lambda m: m.nn.AdaptiveAvgPool2d(2), (0, 2, 4, 4)),
    "Encoder": (lambda m: m.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), (3, 0, 4)),
    "Encoder, batch first": (lambda m: m.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True), (0, 3, 4)),
    "Softmax": (lambda m: m.nn.Softmax(1), (0, 4)),
    "Upsample": (lambda m: m.nn.Upsample(scale_factor=2), (0, 2, 3, 3)),
    "Flatten": (lambda m: m.nn.Flatten(), (0, 2, 3)),
}


def outcome(m: Any, name: str, training: bool) -> Any:
    """What can be seen of a module after a pass in both directions; the class of an error."""
    make, shape = MODULES[name]
    module, x = make(m), m.ones(shape, requires_grad=True)
    module.train(training)
    try:
        y = module(x)
        y.sum().backward()
    except (RuntimeError, ValueError) as error:
        return type(error).__name__
    gradients = [None if p.grad is None else p.grad.tolist() for p in module.parameters()]
    return tuple(y.shape), tuple(x.grad.shape), gradients, [b.tolist() for b in module.buffers()]


@pytest.mark.oracle
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_an_empty_batch(torch: Any, name: str, training: bool) -> None:
    found = outcome(tengen, name, training)
    assert found == outcome(torch, name, training)


@pytest.mark.oracle
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("shape", [(0, 3, 4), (3, 0, 4), (0, 0, 4)])
def test_attention(torch: Any, shape: tuple[int, ...], batch_first: bool, need_weights: bool) -> None:
    found = []
    for m in (tengen, torch):
        x = m.ones(shape, requires_grad=True)
        module = m.nn.MultiheadAttention(4, 2, batch_first=batch_first)
        out, weights = module(x, x, x, need_weights=need_weights)
        out.sum().backward()
        found.append(
            (tuple(out.shape), None if weights is None else tuple(weights.shape), tuple(x.grad.shape))
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 2, 0)])
def test_instance_norm_of_nothing_leaves_its_statistics(shape: tuple[int, ...]) -> None:
    """PyTorch's are NaN after a batch without samples, and stay so."""
    module = tengen.nn.InstanceNorm1d(2, track_running_stats=True)
    assert module(tengen.ones(shape)).shape == shape
    assert [b.tolist() for b in module.buffers()] == [[0, 0], [1, 1], 0]
