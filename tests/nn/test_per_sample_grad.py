"""``nn.utils._per_sample_grad``: the gradients of single examples."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import tengen

LAYERS: dict[str, Any] = {
    "Linear": lambda m: m.nn.Linear(4, 2),
    "LayerNorm": lambda m: m.nn.LayerNorm(4),
    "InstanceNorm1d": lambda m: m.nn.InstanceNorm1d(3, affine=True),
    "Sequential": lambda m: m.nn.Sequential(
        m.nn.Conv1d(3, 4, 2), m.nn.GroupNorm(2, 4), m.nn.Tanh(), m.nn.Flatten(), m.nn.Linear(12, 2)
    ),
}


def filled(m: Any, made: Any) -> Any:
    """The module in float64, with parameters that are the same in either library."""
    made = made.to(m.float64)
    with m.no_grad():
        for number, p in enumerate(made.parameters()):
            p.copy_(((m.arange(p.numel()) * 7 + number) % 11 - 5).view(p.shape) / 11)
    return made


def examples(m: Any) -> Any:
    return m.arange(24, dtype=m.float64).view(2, 3, 4) / 24


def per_sample(m: Any, module: Any, *args: Any, **options: Any) -> Any:
    call = importlib.import_module(f"{m.__name__}.nn.utils._per_sample_grad").call_for_per_sample_grads
    return call(module, **options)(*args)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("name", LAYERS)
def test_each_example_has_its_gradients(m: Any, name: str, reduction: str) -> None:
    module, x = filled(m, LAYERS[name](m)), examples(m)

    def loss(y: Any) -> Any:
        return y.pow(2).flatten(1).sum(1).sum() if reduction == "sum" else y.pow(2).flatten(1).sum(1).mean()

    given = per_sample(m, module, x, loss_reduction=reduction)
    assert m.equal(given, module(x)) or m.allclose(given, module(x), rtol=1e-12)
    loss(given).backward()
    for index, example in enumerate(x):
        wanted = m.autograd.grad(module(example[None]).pow(2).sum(), list(module.parameters()))
        for p, grad in zip(module.parameters(), wanted, strict=True):
            assert p.grad is None
            assert m.allclose(p.grad_sample[index], grad, rtol=1e-9, atol=1e-12)


def test_embeddings_and_frozen_parameters(m: Any) -> None:
    module = filled(m, m.nn.Sequential(m.nn.Embedding(5, 3), m.nn.Linear(3, 2)))
    module[1].weight.requires_grad_(False)
    per_sample(m, module, m.tensor([[0, 1], [2, 2]])).sum().backward()
    assert not hasattr(module[1].weight, "grad_sample")
    assert module[1].bias.grad_sample.tolist() == [[2, 2], [2, 2]]
    assert module[0].weight.grad_sample.shape == (2, 5, 3)
    used = module[0].weight.grad_sample.abs().sum(2) > 0
    assert used.tolist() == [[True, True, False, False, False], [False, False, True, False, False]]


def test_the_batch_may_be_the_second_dimension() -> None:
    module, x = filled(tengen, tengen.nn.LSTM(4, 3)), examples(tengen)
    output, states = per_sample(tengen, module, x, batch_first=False)
    assert output.shape == (2, 3, 3) and [s.shape for s in states] == [(1, 3, 3)] * 2
    output.sum().backward()
    assert module.weight_ih_l0.grad_sample.shape == (3, 12, 4)
    total = tengen.autograd.grad(module(x)[0].sum(), module.weight_ih_l0)[0]
    assert tengen.allclose(module.weight_ih_l0.grad_sample.sum(0), total)


def test_what_cannot_be_called(m: Any) -> None:
    module, x = filled(m, m.nn.Linear(4, 2)), examples(m)
    for wrong, said in (
        ({"loss_reduction": "none"}, "Expected loss_reduction argument to be sum or mean, got none"),
        ({"batch_size": 1.5}, "Batch size passed must be None or an integer, got float"),
        ({"batch_size": 0}, "Batch size must be positive, got 0"),
    ):
        with pytest.raises(RuntimeError, match=said):
            per_sample(m, module, x, **wrong)
    with pytest.raises(RuntimeError, match=r"Module passed must be nn\.Module, got "):
        per_sample(m, len, x)
    two = filled(m, m.nn.Bilinear(4, 4, 2))
    with pytest.raises(RuntimeError, match=r"(?s)input with batch size 2 and one with batch size 3"):
        per_sample(m, two, x[:, 0], m.zeros(3, 4, dtype=m.float64))
    per_sample(m, module, x).sum().backward()
    with pytest.raises(RuntimeError, match="grad_sample"):
        per_sample(m, module, x)
