"""Compiled functions of tensors beside the same programs in plain jax.jit.

    python benchmarks/jax_overhead.py
    python benchmarks/jax_overhead.py --rounds 50

Both are compiled by XLA, and called in turn; the figure is the ratio of medians. What is added is Python's
part of a call of ``tengen.jax.jit``: to find the arguments' tensors, and to give them what was computed.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from harness import in_turn

import tengen
import tengen.nn.functional as F

Pair = dict[str, Callable[[], Any]]


def _data(rows: int, sizes: tuple[int, ...]) -> tuple[Any, Any, list[Any]]:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((rows, sizes[0]), np.float32)
    y = rng.integers(0, sizes[-1], rows)
    shapes = [s for n, m in pairwise(sizes) for s in ((n, m), (m,))]
    return x, y, [rng.standard_normal(s).astype(np.float32) * 0.1 for s in shapes]


# -- a network, and SGD with momentum


def _loss_of_arrays(parameters: list[Any], x: Any, y: Any) -> Any:
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i] + parameters[i + 1]
        x = jnp.tanh(x) if i + 2 < len(parameters) else x
    return -jnp.take_along_axis(jax.nn.log_softmax(x), y[:, None], axis=1).mean()


def _loss_of_tensors(parameters: list[Any], x: Any, y: Any) -> Any:
    for i in range(0, len(parameters), 2):
        x = x @ parameters[i] + parameters[i + 1]
        x = x.tanh() if i + 2 < len(parameters) else x
    return F.cross_entropy(x, y)


def network(rows: int, sizes: tuple[int, ...]) -> Pair:
    """Steps of SGD with momentum: parameters and momenta in lists, which are donated and returned."""
    x, y, start = _data(rows, sizes)

    def step_arrays(parameters: Any, momenta: Any, x: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(_loss_of_arrays)(parameters, x, y)
        momenta = [0.9 * m + g for m, g in zip(momenta, grads, strict=True)]
        return loss, [p - 0.01 * m for p, m in zip(parameters, momenta, strict=True)], momenta

    def step_tensors(parameters: Any, momenta: Any, x: Any, y: Any) -> Any:
        grads, loss = tengen.func.grad_and_value(_loss_of_tensors)(parameters, x, y)
        momenta = [0.9 * m + g for m, g in zip(momenta, grads, strict=True)]
        return loss, [p - 0.01 * m for p, m in zip(parameters, momenta, strict=True)], momenta

    def wrapped(compiled: Any, convert: Callable[[Any], Any]) -> Callable[[], Any]:
        state = [[convert(a) for a in start], [convert(a * 0) for a in start]]
        given = convert(x), convert(y)

        def call() -> Any:
            loss, *state[:] = compiled(*state, *given)
            return float(loss)

        return call

    tensor = partial(tengen.tensor, device="jax")
    return {
        "jax": wrapped(jax.jit(step_arrays, donate_argnums=(0, 1)), jnp.asarray),
        "tengen": wrapped(tengen.jax.jit(step_tensors, donate_argnums=(0, 1)), tensor),
    }


def modules(rows: int, sizes: tuple[int, ...]) -> Pair:
    """The same with a module and an optimiser, beside the same step of arrays."""
    x, y, start = _data(rows, sizes)
    layers: list[Any] = []
    for i, (n, m) in enumerate(pairwise(sizes)):
        layer = tengen.nn.Linear(n, m)
        with tengen.no_grad():
            layer.weight.copy_(tengen.tensor(start[2 * i].T.copy()))
            layer.bias.copy_(tengen.tensor(start[2 * i + 1]))
        layers += [layer, tengen.nn.Tanh()]
    model = tengen.nn.Sequential(*layers[:-1]).to("jax")
    optimiser = tengen.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def step(model: Any, optimiser: Any, x: Any, y: Any) -> Any:
        loss = F.cross_entropy(model(x), y)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        return loss

    compiled = tengen.jax.jit(step, donate_argnums=(0, 1))
    given = tengen.tensor(x, device="jax"), tengen.tensor(y, device="jax")
    return {"jax": network(rows, sizes)["jax"], "tengen": lambda: compiled(model, optimiser, *given).item()}


# -- functions of a few arrays


def newton(rows: int, columns: int) -> Pair:
    """A step of Newton's method: gradient and Hessian of a logistic loss."""
    x = np.random.default_rng(0).standard_normal((rows, columns))

    def loss_arrays(w: Any, x: Any) -> Any:
        return jax.nn.softplus(x @ w).mean() + (w * w).sum()

    def loss_tensors(w: Any, x: Any) -> Any:
        return F.softplus(x @ w).mean() + (w * w).sum()

    ours = tengen.jax.jit(
        lambda w, x: tengen.func.hessian(loss_tensors)(w, x) @ tengen.func.grad(loss_tensors)(w, x)
    )
    theirs = jax.jit(lambda w, x: jax.hessian(loss_arrays)(w, x) @ jax.grad(loss_arrays)(w, x))
    arrays = jnp.full(columns, 0.1), jnp.asarray(x)
    tensors = [tengen.jax.from_jax(a) for a in arrays]
    return {"jax": lambda: theirs(*arrays).block_until_ready(), "tengen": lambda: _ready(ours(*tensors))}


def nothing() -> Pair:
    """A call of a function that adds two small arrays."""
    array = jnp.ones(4)
    tensor = tengen.jax.from_jax(array)
    theirs, ours = jax.jit(lambda a, b: a + b), tengen.jax.jit(lambda a, b: a + b)
    return {
        "jax": lambda: theirs(array, array).block_until_ready(),
        "tengen": lambda: _ready(ours(tensor, tensor)),
    }


def _ready(tensor: Any) -> Any:
    return tengen.jax.to_jax(tensor).block_until_ready()


CASES: dict[str, Callable[[], Pair]] = {
    "network 256 x (64, 256, 256, 10)": lambda: network(256, (64, 256, 256, 10)),
    "network 1024 x (256, 512, 512, 10)": lambda: network(1024, (256, 512, 512, 10)),
    "module, SGD 256 x (64, 256, 256, 10)": lambda: modules(256, (64, 256, 256, 10)),
    "module, SGD 1024 x (256, 512, 512, 10)": lambda: modules(1024, (256, 512, 512, 10)),
    "Hessian 2000 x 64": lambda: newton(2000, 64),
    "a call": nothing,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=31)
    given = parser.parse_args()
    print(f"{'program':40} {'jax ms':>9} {'tengen ms':>9} {'ratio':>6}")
    for name, make in CASES.items():
        rivals = make()
        first = {key: rival() for key, rival in rivals.items()}
        np.testing.assert_allclose(
            np.asarray(first["tengen"]), np.asarray(first["jax"]), rtol=1e-4, atol=1e-6
        )
        for rival in rivals.values():
            rival()  # an optimiser's states are there from the second call on
        times = in_turn(rivals, given.rounds, calls=1 if times_long(rivals) else 100)
        milliseconds = f"{times['jax'] * 1e3:9.3f} {times['tengen'] * 1e3:9.3f}"
        print(f"{name:40} {milliseconds} {times['tengen'] / times['jax']:6.2f}", flush=True)


def times_long(rivals: Pair) -> bool:
    """Whether a call takes so long that one is timed alone."""
    return in_turn(rivals, 3)["jax"] > 1e-3


if __name__ == "__main__":
    main()
