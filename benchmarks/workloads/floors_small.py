"""Floors of small.py and overhead.py: ufuncs into buffers, the gradients written out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from libraries import Floor

from .workload import Rival, data

#: Single operators on 8x8 float32, by the names of overhead.py: of a, b and a buffer of the result's shape.
OVERHEAD: dict[str, Callable[[Any, Any], Rival]] = {
    "add": lambda a, b: _into(np.add, a, b),
    "mul": lambda a, b: _into(np.multiply, a, b),
    "exp": lambda a, b: _into(np.exp, a),
    "sum": lambda a, b: _into(np.add.reduce, a, None),
    "matmul": lambda a, b: _into(np.matmul, a, b),
    "index": lambda a, b: lambda: a[1],
    "view": lambda a, b: lambda: a.reshape(64),
    "cat": lambda a, b: _into(np.concatenate, (a, b)),
    "mul by a number": lambda a, b: _into(np.multiply, a, 2.0),
    "sum(dim=1)": lambda a, b: _into(np.add.reduce, a, 1),
    "mean(-1, keepdim=True)": lambda a, b: _mean(a),
    "softmax(dim=1)": lambda a, b: _softmax(a),
    "cat(dim=1)": lambda a, b: _into(np.concatenate, (a, b), 1),
    "transpose": lambda a, b: lambda: a.T,
    "slice": lambda a, b: lambda: a[1:5],
    "add_": lambda a, b: lambda: np.add(a, b, out=a),
    "mul_": lambda a, b: lambda: np.multiply(a, b, out=a),
    "zero_": lambda a, b: lambda: _filled(a),
    "clamp_(min=0)": lambda a, b: lambda: np.maximum(a, np.float32(0), out=a),
}


def overhead(name: str) -> Callable[[Floor], Rival]:
    """A single operator; that it records costs nothing here."""

    def floor(library: Floor) -> Rival:
        return OVERHEAD[name](data(8, 8, seed=1), data(8, 8, seed=2) * 0 + np.float32(0.9999))

    return floor


def _into(function: Callable[..., Any], *arguments: Any) -> Rival:
    out = np.empty_like(np.asarray(function(*arguments)))
    return lambda: function(*arguments, out=out)


def _mean(a: Any) -> Rival:
    out, scale = np.empty((8, 1), "float32"), np.float32(1 / 8)

    def run() -> Any:
        np.add.reduce(a, -1, None, out, True)
        return np.multiply(out, scale, out=out)

    return run


def _softmax(a: Any) -> Rival:
    out, sums, ones = np.empty_like(a), np.empty_like(a), np.ones_like(a)

    def run() -> Any:  # the greatest element of all serves every row; a product broadcasts their sums
        np.subtract(a, np.maximum.reduce(a, None), out=out)
        np.exp(out, out=out)
        np.dot(out, ones, out=sums)
        return np.divide(out, sums, out=out)

    return run


def _filled(a: Any) -> Any:
    a.fill(0)
    return a


def chain(length: int) -> Callable[[Floor], Rival]:
    """Products and sums in place, and the products again backward."""

    def floor(library: Floor) -> Rival:
        x, y, grad = (np.ones((8, 8), "float32") for _ in range(3))
        factor, term = (np.full((8, 8), v, "float32") for v in (1.001, 0.001))
        multiply, add = np.multiply, np.add

        def run() -> Any:
            multiply(x, factor, out=y)
            add(y, term, out=y)
            for _ in range(length // 2 - 1):
                multiply(y, factor, out=y)
                add(y, term, out=y)
            grad.fill(1)
            for _ in range(length // 2):
                multiply(grad, factor, out=grad)
            return grad

        return run

    return floor


def lotka(steps: int, step: float) -> Callable[[Floor], Rival]:
    """Each step's values are kept in the rows of two tables; the way back is the chain rule by hand."""

    def floor(library: Floor) -> Rival:
        a, b, c, d = (np.array(v, "float32") for v in (1.5, 1.0, 3.0, 1.0))
        ga, gb, gc, gd, gx, gy, gxy, s, t, u, v = (np.zeros((), "float32") for _ in range(11))
        h = np.array(step, "float32")
        xs, ys, products = (_places(np.ones(steps + 1, "float32")) for _ in range(3))
        multiply, add, subtract = np.multiply, np.add, np.subtract

        def forward() -> None:
            for i in range(steps):
                x, y, xy = xs[i], ys[i], products[i]
                multiply(x, y, xy)
                subtract(multiply(a, x, s), multiply(b, xy, t), s)
                add(x, multiply(s, h, s), xs[i + 1])
                subtract(multiply(d, xy, s), multiply(c, y, t), s)
                add(y, multiply(s, h, s), ys[i + 1])

        def run() -> Any:
            forward()
            for g in (ga, gb, gc, gd):
                g.fill(0)
            gx.fill(1)
            gy.fill(1)
            for i in range(steps - 1, -1, -1):
                x, y, xy = xs[i], ys[i], products[i]
                multiply(gx, h, u)
                multiply(gy, h, v)
                add(ga, multiply(u, x, t), ga)
                subtract(gb, multiply(u, xy, t), gb)
                subtract(gc, multiply(v, y, t), gc)
                add(gd, multiply(v, xy, t), gd)
                subtract(multiply(d, v, gxy), multiply(b, u, t), gxy)
                add(gx, multiply(a, u, t), gx)
                add(gx, multiply(gxy, y, t), gx)
                subtract(gy, multiply(c, v, t), gy)
                add(gy, multiply(gxy, x, t), gy)
            return [ga, gb, gc, gd]

        return run

    return floor


def _places(numbers: np.ndarray) -> list[np.ndarray]:
    """Each number as a 0-d array that is written through."""
    return [numbers[i : i + 1].reshape(()) for i in range(len(numbers))]


def logistic(library: Floor, x: Any, y: Any, w: Any) -> Rival:
    """The loss, its gradient, and the Hessian as one product X' diag(s) X."""
    n = len(x)
    z, loss, p, s, scaled = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty_like(x)
    gradient, hessian, minus = np.empty(len(w)), np.empty((len(w), len(w))), -y

    def run() -> Any:
        np.matmul(x, w, out=z)
        np.multiply(minus, z, out=z)
        np.logaddexp(0.0, z, out=loss)
        np.add.reduce(loss)
        np.subtract(z, loss, out=p)
        np.exp(p, out=p)  # the derivative of softplus: exp(z - softplus(z))
        np.multiply(p, 1 / n, out=p)
        np.multiply(minus, p, out=s)
        np.matmul(s, x, out=gradient)
        np.multiply(p, n, out=s)
        np.subtract(1.0, s, out=s)
        np.multiply(s, p, out=s)  # y * y is 1
        np.multiply(x, s[:, None], out=scaled)
        return gradient, np.matmul(x.T, scaled, out=hessian)

    return run
