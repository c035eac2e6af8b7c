"""Adafactor and Muon, whose steps are of whole matrices: beside torch, by their formulas, errors."""

from __future__ import annotations

import copy
import re
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from optim_programs import OPTIONS, arrays, convex, parameters, train

import tengen
from tengen import optim

#: The options that are tried of each, with the parameters' shapes.
CASES: list[tuple[str, dict[str, Any]]] = [
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.5, "beta2_decay": -0.5, "weight_decay": 0.1}),
    ("Adafactor", {"eps": (1e-4, 1e-2), "d": 2.0, "maximize": True}),
    ("Muon", {}),
    ("Muon", {"lr": 0.05, "weight_decay": 0.0, "momentum": 0.5, "nesterov": False}),
    ("Muon", {"adjust_lr_fn": "match_rms_adamw", "ns_steps": 3, "ns_coefficients": (2.0, -1.5, 0.5)}),
]
SHAPES = {"Adafactor": [(5, 4), (5,), (), (3, 2, 4), (0, 3)], "Muon": [(5, 4), (3, 6), (4, 4)]}
BAD: list[tuple[str, dict[str, Any]]] = [
    *[("Adafactor", {k: -1.0}) for k in ("lr", "d", "weight_decay")],
    ("Adafactor", {"beta2_decay": 0.1}),
    ("Adafactor", {"eps": (-1.0, 1e-3)}),
    ("Adafactor", {"eps": (None, -1e-3)}),
    *[("Muon", {k: -1.0}) for k in ("lr", "momentum", "weight_decay")],
    ("Muon", {"adjust_lr_fn": "mine"}),
]


def made(m: ModuleType, name: str, options: dict[str, Any], dtype: str = "float64") -> Any:
    """An optimiser in two groups."""
    numbers = np.random.default_rng(0)
    params = [
        m.tensor(numbers.standard_normal(shape).tolist(), dtype=getattr(m, dtype))
        .reshape(shape)
        .requires_grad_()
        for shape in SHAPES[name]
    ]
    return getattr(m.optim, name)([{"params": params[:1]}, {"params": params[1:], "lr": 0.02}], **options)


def stepped(m: ModuleType, optimizer: Any, steps: int, start: int = 0) -> list[np.ndarray]:
    """The parameters after steps by gradients that do not depend on them."""
    params = [p for group in optimizer.param_groups for p in group["params"]]
    for step in range(start, start + steps):
        numbers = np.random.default_rng(step)
        for p in params:
            grad = numbers.standard_normal(tuple(p.shape)).tolist()
            p.grad = m.tensor(grad, dtype=p.dtype).reshape(tuple(p.shape))
        optimizer.step()
    return arrays(params)


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_beside_torch(name: str, options: dict[str, Any]) -> None:
    """Parameters after steps, and states under the same keys."""
    torch = pytest.importorskip("torch")
    # Muon's direction is of bfloat16
    rough = 0.02 if name == "Muon" else 1e-9
    seen = []
    for m in (tengen, torch):
        optimizer = made(m, name, options)
        if m is torch and name == "Adafactor":  # which divides by the number of elements
            optimizer.param_groups[1]["params"].pop()
        values = stepped(m, optimizer, 8)
        seen.append((values, optimizer.state_dict()))
    for a, b in zip(seen[0][0], seen[1][0], strict=False):
        np.testing.assert_allclose(a, b, rtol=0, atol=rough)
    ours, theirs = seen[0][1], seen[1][1]
    for i, state in theirs["state"].items():
        assert list(ours["state"][i]) == list(state)
        for key, value in state.items():
            np.testing.assert_allclose(ours["state"][i][key].numpy(), value.numpy(), rtol=1e-9, atol=1e-12)
    for a, b in zip(ours["param_groups"], theirs["param_groups"], strict=True):
        assert {k: v for k, v in a.items() if k != "params"} == {k: v for k, v in b.items() if k != "params"}


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "options"), BAD, ids=str)
def test_errors_are_torchs(name: str, options: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    said = []
    for m in (tengen, torch):
        with pytest.raises(ValueError, match=r".") as raised:
            made(m, name, options)
        said.append(str(raised.value))
    assert said[0] == said[1]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options"), CASES, ids=str)
def test_going_on(name: str, options: dict[str, Any], dtype: str) -> None:
    """A copy, and one that loaded the state in the middle, take the same steps."""
    first = made(tengen, name, options, dtype)
    stepped(tengen, first, 3)
    copied = copy.deepcopy(first)
    loaded = made(tengen, name, options, dtype)
    loaded.load_state_dict(copy.deepcopy(first.state_dict()))
    for mine, other in zip(loaded.param_groups, copied.param_groups, strict=True):
        for p, q in zip(mine["params"], other["params"], strict=True):
            p.data.copy_(q.data)
    wanted = stepped(tengen, first, 3, 3)
    for found in (stepped(tengen, copied, 3, 3), stepped(tengen, loaded, 3, 3)):
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def test_adafactors_first_step() -> None:
    """Mean squares of the first step are the present ones: rows, columns, and their root."""
    numbers = np.random.default_rng(1)
    start, grad = numbers.standard_normal((2, 4, 3))
    p = tengen.tensor(start.tolist(), dtype=tengen.float64, requires_grad=True)
    p.grad = tengen.tensor(grad.tolist(), dtype=tengen.float64)
    optim.Adafactor([p], lr=0.1).step()
    square = grad**2
    mean = np.outer(square.mean(1), square.mean(0)) / square.mean()
    update = grad / np.sqrt(mean)
    update /= max(1, np.sqrt((update**2).mean()))
    wanted = start - 0.1 * np.sqrt((start**2).mean()) * update
    np.testing.assert_allclose(p.detach().numpy(), wanted, rtol=1e-12)


def test_muons_step_is_nearly_orthogonal() -> None:
    """Singular values of the change are about the rate, whatever those of the gradient were."""
    p = tengen.zeros(6, 4, requires_grad=True)
    p.grad = tengen.randn(6, 4) @ tengen.diag(tengen.tensor([1.0, 3.0, 10.0, 30.0]))
    optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    values = tengen.linalg.svdvals(p.detach()) / (6 / 4) ** 0.5
    assert ((values > 0.5) & (values < 1.4)).all()


def test_muon_takes_matrices_only() -> None:
    with pytest.raises(ValueError, match=r"only supports 2D parameters .* size: tengen.Size\(\[3\]\)"):
        optim.Muon([tengen.ones(3, requires_grad=True)])
    p = tengen.ones(2, 2, requires_grad=True)
    p.grad = tengen.ones(2, 2)
    for options, said in (({"ns_steps": 100}, "less than 100"), ({"ns_coefficients": (1, 2)}, "exactly 3")):
        with pytest.raises(ValueError, match=said):
            optim.Muon([p], **options).step()
    assert p.equal(tengen.ones(2, 2))


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_no_complex_parameters(name: str) -> None:
    p = tengen.ones(2, 2, dtype=tengen.complex64, requires_grad=True)
    p.grad = p.detach().clone()
    with pytest.raises(RuntimeError, match=f"{name} does not support complex parameters"):
        getattr(optim, name)([p]).step()


@pytest.mark.parametrize("name", OPTIONS)
def test_swapped_in(name: str) -> None:
    """Within, steps are of the other parameters and states; afterwards everything is as before."""
    options = {"lr": 0.01, **({"momentum": 0.9} if name in ("SGD", "RMSprop") else {})}
    params, others = parameters(tengen, "float64"), parameters(tengen, "float64", seed=1)
    optimizer, beside = (getattr(optim, name)(found, **options) for found in (params, others))
    for found, owner in ((params, optimizer), (others, beside)):
        train(tengen, convex, found, owner, 2)
    before, group, state = arrays(params), dict(optimizer.param_groups[0]), optimizer.state
    saved = copy.deepcopy(beside.state_dict())
    train(tengen, convex, others, beside, 1, 2)
    wanted = arrays(others)
    swapped = parameters(tengen, "float64", seed=1)
    again = getattr(optim, name)(swapped, **options)
    train(tengen, convex, swapped, again, 2)
    with optim.swap_in_optimizer_params_and_state(
        optimizer, {str(i): p for i, p in enumerate(swapped)}, saved
    ):
        train(tengen, convex, swapped, optimizer, 1, 2)
    assert optimizer.param_groups[0] == group
    assert optimizer.state is state
    for a, b in zip(arrays(params), before, strict=True):
        np.testing.assert_array_equal(a, b)
    for a, b in zip(arrays(swapped), wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_what_cannot_be_swapped_in() -> None:
    p = tengen.ones(2, requires_grad=True)
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    swap = optim.swap_in_optimizer_params_and_state

    def said(tensors: dict[str, Any], state: Any) -> str:
        with pytest.raises(RuntimeError) as raised, swap(optimizer, tensors, state):
            pass
        return str(raised.value)

    assert "initialized" in said({"p": p}, optimizer.state_dict())
    p.grad = tengen.ones(2)
    optimizer.step()
    saved = optimizer.state_dict()
    groups = saved["param_groups"]
    for tensors, state, text in (
        ({"p": p}, [], "DCP-style"),
        ({"p": p}, {"state": []}, "got list"),
        ({"p": p}, {"state": {p: {}}}, "packed parameter ids"),
        ({"p": p}, {"state": {0: 1}}, "to be dictionaries"),
        ({"p": p}, {"state": {}, "param_groups": {}}, "got dict"),
        ({"p": p}, {"state": {}, "param_groups": []}, "different number of parameter groups"),
        ({"p": p}, {"state": {}, "param_groups": [1]}, "to be a dictionary"),
        ({"p": p}, {"state": {}, "param_groups": [{**groups[0], "params": ["a"]}]}, "packed parameter ids"),
        ({"p": p}, {"state": {}, "param_groups": [{**groups[0], "params": [0, 1]}]}, "number of params"),
        (
            {"p": p},
            {"state": {}, "param_groups": [{**groups[0], "more": 1}]},
            "in swap-in: .'more'",
        ),
        ({}, saved, "ordering"),
        ({"p": p}, {"state": {7: {}}, "param_groups": groups}, "extra keys .7."),
    ):
        assert re.search(text, said(tensors, state)), text
    assert optimizer.param_groups[0]["params"] == [p]
