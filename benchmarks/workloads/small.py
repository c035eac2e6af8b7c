"""Many operators on little data: chains, an integrator, second derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
from libraries import Arrays, Tensors

from . import floors_small as floors
from .workload import Rival, Workload, data

CHAIN = 100
STEPS = 1000
STEP = 0.01
SAMPLES, WEIGHTS = 1000, 30


# -- a chain of elementwise operators ---------------------------------------------------------


def _chain_tensors(library: Tensors) -> Rival:
    x = library.tensor(np.ones((8, 8), "float32"), True)
    factor, term = (library.tensor(np.full((8, 8), v, "float32")) for v in (1.001, 0.001))
    seed = library.tensor(np.ones((8, 8), "float32"))

    def run() -> Any:
        y = x
        for _ in range(CHAIN // 2):
            y = y * factor
            y = y + term
        x.grad = None
        y.backward(seed)
        return x.grad

    return run


def _chain_arrays(library: Arrays) -> Rival:
    xp = library.xp
    factor, term = (library.put(np.full((8, 8), v, "float32")) for v in (1.001, 0.001))

    def f(leaves: Any) -> Any:
        y = leaves[0]
        for _ in range(CHAIN // 2):
            y = y * factor
            y = y + term
        return xp.sum(y)

    run = library.gradient(f, [library.put(np.ones((8, 8), "float32"))])
    return lambda: run()[1][0]


# -- Lotka and Volterra's equations on 0-d tensors ----------------------------------------------


def _predators(a: Any, b: Any, c: Any, d: Any, x: Any, y: Any) -> tuple[Any, Any]:
    xy = x * y
    return x + STEP * (a * x - b * xy), y + STEP * (d * xy - c * y)


def _lotka_tensors(library: Tensors) -> Rival:
    parameters = library.tensors(np.array(v, "float32") for v in (1.5, 1.0, 3.0, 1.0))
    start = library.tensors((np.array(1.0, "float32"), np.array(1.0, "float32")), False)

    def run() -> Any:
        x, y = start
        for _ in range(STEPS):
            x, y = _predators(*parameters, x, y)
        for p in parameters:
            p.grad = None
        (x + y).backward()
        return [p.grad for p in parameters]

    return run


def _lotka_arrays(library: Arrays) -> Rival:
    def f(p: Any) -> Any:
        x = y = library.put(np.array(1.0, "float32"))
        if library.scan is not None:
            (x, y), _ = library.scan(lambda s, _: (_predators(*p, *s), None), (x, y), None, length=STEPS)
        else:
            for _ in range(STEPS):
                x, y = _predators(*p, x, y)
        return x + y

    start = [library.put(np.array(v, "float32")) for v in (1.5, 1.0, 3.0, 1.0)]
    run = library.gradient(f, start)
    return lambda: run()[1]


# -- logistic regression: gradient and Hessian --------------------------------------------------


def _logistic_data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x = data(SAMPLES, WEIGHTS, seed=1, dtype="float64")
    truth, w = (data(WEIGHTS, seed=seed, dtype="float64") for seed in (3, 2))
    return x, np.sign(x @ truth), 0.1 * w


def _logistic_tensors(library: Tensors) -> Rival:
    xs, ys, ws = _logistic_data()
    x, y, w = library.tensor(xs), library.tensor(ys), library.tensor(ws, True)

    def loss(w: Any) -> Any:
        return library.F.softplus(-y * (x @ w)).mean()

    def run() -> Any:
        (g,) = library.m.autograd.grad(loss(w), w, create_graph=True)
        rows = [library.m.autograd.grad(g[i], w, retain_graph=True)[0] for i in range(len(ws))]
        return g, library.m.stack(rows)

    return run


def _logistic_arrays(library: Arrays) -> Rival:
    xs, ys, ws = _logistic_data()
    xp, x, y, w = library.xp, library.put(xs), library.put(ys), library.put(ws)

    def loss(w: Any) -> Any:
        return xp.mean(xp.logaddexp(0.0, -y * xp.dot(x, w)))

    gradient, hessian = library.value_and_grad(loss), library.hessian(loss)
    return library.function(lambda w: (gradient(w)[1], hessian(w)), w)


SMALL = (
    Workload(
        "chain",
        "chain of 100, forward + backward, each",
        _chain_tensors,
        _chain_arrays,
        0.55,
        0.65,
        CHAIN,
        floor=floors.chain(CHAIN),
    ),
    Workload(
        "lotka",
        "1,000 steps of Lotka-Volterra, 0-d",
        _lotka_tensors,
        _lotka_arrays,
        0.5,
        0.6,
        tolerance=1e-3,
        floor=floors.lotka(STEPS, STEP),
    ),
    Workload(
        "logistic",
        "logistic regression 1000x30, float64, gradient + Hessian",
        _logistic_tensors,
        _logistic_arrays,
        0.7,
        0.9,
        floor=lambda library: floors.logistic(library, *_logistic_data()),
        flops=2 * SAMPLES * WEIGHTS * (2 + WEIGHTS),
    ),
)
