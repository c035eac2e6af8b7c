"""Problems and options for optimisers: the same programs for tengen and torch."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np

#: The values of each optimiser's options that are tried; the first ones are the defaults.
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "SGD": {
        "lr": [1e-3, 0.05],
        "momentum": [0, 0.9],
        "dampening": [0, 0.3],
        "nesterov": [False, True],
        "weight_decay": [0, 0.1],
        "maximize": [False, True],
    },
    "Adam": {
        "lr": [1e-3, 0.05],
        "betas": [(0.9, 0.999), (0.8, 0.99)],
        "eps": [1e-8, 1e-3],
        "weight_decay": [0, 0.1],
        "amsgrad": [False, True],
        "maximize": [False, True],
        "decoupled_weight_decay": [False, True],
    },
    "AdamW": {
        "lr": [1e-3, 0.05],
        "weight_decay": [1e-2, 0, 0.3],
        "amsgrad": [False, True],
        "maximize": [False, True],
    },
    "RMSprop": {
        "lr": [1e-2, 0.05],
        "alpha": [0.99, 0.5],
        "eps": [1e-8, 1e-2],
        "weight_decay": [0, 0.1],
        "momentum": [0, 0.8],
        "centered": [False, True],
        "maximize": [False, True],
    },
    "Adagrad": {
        "lr": [1e-2, 0.3],
        "lr_decay": [0, 0.1],
        "weight_decay": [0, 0.1],
        "initial_accumulator_value": [0, 0.5],
        "eps": [1e-10, 1e-3],
        "maximize": [False, True],
    },
    "Adadelta": {
        "lr": [1.0, 0.1],
        "rho": [0.9, 0.5],
        "eps": [1e-6, 1e-3],
        "weight_decay": [0, 0.1],
        "maximize": [False, True],
    },
    "Adamax": {
        "lr": [2e-3, 0.05],
        "betas": [(0.9, 0.999), (0.8, 0.99)],
        "eps": [1e-8, 1e-3],
        "weight_decay": [0, 0.1],
        "maximize": [False, True],
    },
    "NAdam": {
        "lr": [2e-3, 0.05],
        "betas": [(0.9, 0.999), (0.8, 0.99)],
        "eps": [1e-8, 1e-3],
        "weight_decay": [0, 0.1],
        "momentum_decay": [4e-3, 0.1],
        "decoupled_weight_decay": [False, True],
        "maximize": [False, True],
    },
    "RAdam": {
        "lr": [1e-3, 0.05],
        "betas": [(0.9, 0.999), (0.8, 0.99)],
        "eps": [1e-8, 1e-3],
        "weight_decay": [0, 0.1],
        "decoupled_weight_decay": [False, True],
        "maximize": [False, True],
    },
    "ASGD": {
        "lr": [1e-2, 0.05],
        "lambd": [1e-4, 0.1],
        "alpha": [0.75, 0.5],
        "t0": [1e6, 2],
        "weight_decay": [0, 0.1],
        "maximize": [False, True],
    },
    "Rprop": {
        "lr": [1e-2, 0.05],
        "etas": [(0.5, 1.2), (0.3, 1.5)],
        "step_sizes": [(1e-6, 50), (1e-3, 0.03)],
        "maximize": [False, True],
    },
}


def allowed(name: str, options: dict[str, Any]) -> bool:
    """Whether the optimiser takes these options together."""
    if name == "SGD" and options["nesterov"]:
        return options["momentum"] > 0 and options["dampening"] == 0
    return True


def pairwise(name: str) -> list[dict[str, Any]]:
    """Few choices of all options in which each pair of two options' values occurs that may occur."""
    values = OPTIONS[name]
    keys = list(values)
    every = [dict(zip(keys, chosen, strict=True)) for chosen in itertools.product(*values.values())]
    every = [options for options in every if allowed(name, options)]
    missing = {pair for options in every for pair in pairs(options)}
    found = []
    while missing:
        best = max(every, key=lambda options: len(missing & set(pairs(options))))
        missing -= set(pairs(best))
        found.append(best)
    return found


def pairs(options: dict[str, Any]) -> Iterator[Any]:
    """The pairs of two options with their values."""
    return itertools.combinations(sorted(options.items()), 2)


CASES = [(name, options) for name in OPTIONS for options in pairwise(name)]


def named(value: Any) -> str:
    """A name for a test."""
    if isinstance(value, dict):
        return ",".join(f"{k}={v}" for k, v in value.items())
    return str(value)


def parameters(m: ModuleType, dtype: str, seed: int = 0) -> list[Any]:
    """A matrix, a vector, a number and an empty tensor that require gradients."""
    numbers = np.random.default_rng(seed)
    shapes = [(5, 4), (5,), (), (0, 3), (3, 5)]
    return [
        m.tensor(numbers.standard_normal(shape).tolist(), dtype=getattr(m, dtype))
        .reshape(shape)
        .requires_grad_()
        for shape in shapes
    ]


def convex(m: ModuleType, params: list[Any], step: int) -> Any:
    """A sum of squares, of another weight for each parameter.

    Their centre moves, so that gradients do not become as small as rounding, of which some methods make
    steps of full length.
    """
    loss = 0
    for weight, p in enumerate(params, 1):
        loss = loss + weight * ((p - 0.3 * weight - 0.2 * math.sin(step)) ** 2).sum()
    return loss


def network(m: ModuleType, params: list[Any], step: int) -> Any:
    """The loss of a network of one hidden layer: not convex, and on other data in each step."""
    w, b, scale, empty, v = params
    x = m.linspace(-1, 1 + 0.1 * (step % 7), 24, dtype=w.dtype).reshape(6, 4)
    h = (x @ w.t() + b).tanh()
    y = h @ v.t() * scale
    return ((y - (3 * x[:, :3]).sin()) ** 2).mean() + empty.sum()


PROBLEMS = {"convex": convex, "network": network}


def groups(params: list[Any], options: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameters in two groups, the second one with another learning rate."""
    return [{"params": params[:3]}, {"params": params[3:], "lr": 2 * options["lr"]}]


def train(
    m: ModuleType, problem: Any, params: list[Any], optimizer: Any, steps: int, start: int = 0
) -> list[list[np.ndarray]]:
    """The parameters after each of the steps."""
    seen = []
    for step in range(start, start + steps):
        optimizer.zero_grad()
        loss = problem(m, params, step)
        (-loss if optimizer.defaults["maximize"] else loss).backward()
        optimizer.step()
        seen.append(arrays(params))
    return seen


def arrays(tensors: list[Any]) -> list[np.ndarray]:
    """The tensors' values, copied."""
    return [np.array(t.detach().numpy()) for t in tensors]
