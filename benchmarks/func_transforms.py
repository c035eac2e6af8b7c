"""Transforms of functions against torch: per-sample gradients of an MLP, Jacobians, Hessians.

Each program is run by every library on equal data, and its results are compared before it is timed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from harness import Rival, in_turn, row, torch_or_none

import tengen

Make = Callable[[Any], Rival]
BATCH, FEATURES, HIDDEN, CLASSES = 64, 32, 64, 10


def data(m: Any, *shape: int) -> Any:
    """The same numbers in every library, between -1 and 1."""
    count = 1
    for size in shape:
        count *= size
    return (m.arange(count, dtype=m.float32) * 0.7).sin().reshape(shape)


def parameters(m: Any) -> dict[str, Any]:
    """Those of an MLP with one hidden layer."""
    return {
        "w1": data(m, FEATURES, HIDDEN) / 4,
        "b1": data(m, HIDDEN),
        "w2": data(m, HIDDEN, CLASSES) / 4,
        "b2": data(m, CLASSES),
    }


def loss(m: Any) -> Callable[[Any, Any, Any], Any]:
    """The squared error of the MLP on an example, or the sum of those of several."""

    def squared(p: Any, x: Any, y: Any) -> Any:
        hidden = (x @ p["w1"] + p["b1"]).tanh()
        return ((hidden @ p["w2"] + p["b2"] - y) ** 2).sum()

    return squared


def whole_gradient(m: Any) -> Rival:
    f, p, x, y = loss(m), parameters(m), data(m, BATCH, FEATURES), data(m, BATCH, CLASSES)
    return lambda: m.func.grad(f)(p, x, y)


def per_sample(m: Any) -> Rival:
    f, p, x, y = loss(m), parameters(m), data(m, BATCH, FEATURES), data(m, BATCH, CLASSES)
    return lambda: m.func.vmap(m.func.grad(f), in_dims=(None, 0, 0))(p, x, y)


def per_sample_loop(m: Any) -> Rival:
    f, p, x, y = loss(m), parameters(m), data(m, BATCH, FEATURES), data(m, BATCH, CLASSES)
    return lambda: [m.func.grad(f)(p, x[i], y[i]) for i in range(BATCH)]


def small(m: Any) -> Callable[[Any], Any]:
    w = data(m, 16, 16)
    return lambda x: (x @ w).tanh() * x


def scalar(m: Any) -> Callable[[Any], Any]:
    f = small(m)
    return lambda x: (f(x) ** 2).sum()


def of_one(transform: str, function: Callable[[Any], Callable[[Any], Any]]) -> Make:
    """A transform of a function of 16 numbers."""

    def make(m: Any) -> Rival:
        f, x = function(m), data(m, 16)
        return lambda: getattr(m.func, transform)(f)(x)

    return make


def product(m: Any) -> Rival:
    f, x = small(m), data(m, 16)
    return lambda: m.func.jvp(f, (x,), (x,))


def pullback(m: Any) -> Rival:
    f, x = small(m), data(m, 16)
    return lambda: m.func.vjp(f, x)[1](x)


def linearized(m: Any) -> Rival:
    f, x = small(m), data(m, 16)
    _, push = m.func.linearize(f, x)
    return lambda: push(x)


def many_hessians(m: Any) -> Rival:
    f, x = scalar(m), data(m, 8, 16)
    return lambda: m.func.vmap(m.func.hessian(f))(x)


def functional_hessian(m: Any) -> Rival:
    f, x = scalar(m), data(m, 16)
    return lambda: m.autograd.functional.hessian(f, x)


PROGRAMS: dict[str, Make] = {
    "grad of an MLP, 64 examples": whole_gradient,
    "vmap(grad): per sample": per_sample,
    "a loop of grad: per sample": per_sample_loop,
    "grad": of_one("grad", scalar),
    "vjp": pullback,
    "jvp": product,
    "linearize, a tangent": linearized,
    "jacrev 16x16": of_one("jacrev", small),
    "jacfwd 16x16": of_one("jacfwd", small),
    "hessian 16x16": of_one("hessian", scalar),
    "vmap(hessian), 8 examples": many_hessians,
    "autograd.functional.hessian": functional_hessian,
}


def leaves(result: Any) -> list[Any]:
    """The tensors of a result."""
    if isinstance(result, dict):
        result = list(result.values())
    return [t for r in result for t in leaves(r)] if isinstance(result, (list, tuple)) else [result]


def numbers(result: Any) -> list[float]:
    """All elements of a result."""
    return [v for t in leaves(result) for v in t.reshape(-1).tolist()]


def main() -> None:
    """Print a row for each program."""
    torch = torch_or_none()
    libraries: dict[str, Any] = {"tengen": tengen} if torch is None else {"torch": torch, "tengen": tengen}
    for name, make in PROGRAMS.items():
        rivals = {library: make(module) for library, module in libraries.items()}
        results = [numbers(rival()) for rival in rivals.values()]
        assert all(abs(a - b) <= 1e-3 * (1 + abs(b)) for a, b in zip(results[0], results[-1], strict=True)), (
            name
        )
        print(row(name, in_turn(rivals, rounds=15, calls=5), "torch"))


if __name__ == "__main__":
    main()
