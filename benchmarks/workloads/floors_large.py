"""The floor of large.py: the expression and its derivative in one go over cache-sized blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from libraries import Floor

from .workload import Rival, data

_A, _B = np.float32(0.7978845608), np.float32(0.044715)
_HALF, _ONE, _3B = np.float32(0.5), np.float32(1), np.float32(3 * 0.044715)


def expression(size: int) -> Callable[[Floor], Rival]:
    """sum(gelu(x)*sigmoid(x)+tanh(x)): x is read once, its gradient written once."""

    def floor(library: Floor) -> Rival:
        x, grad = data(size), np.empty(size, "float32")
        blocks = -(-size // library.BLOCK)
        sums = np.empty(blocks, "float32")
        scratch = [np.empty((6, library.BLOCK), "float32") for _ in range(library.threads)]

        def work(i: int, thread: int) -> None:
            part = slice(i * library.BLOCK, min(size, (i + 1) * library.BLOCK))
            sums[i] = _block(x[part], grad[part], *scratch[thread][:, : part.stop - part.start])

        def run() -> Any:
            library.each(blocks, work)
            np.add.reduce(sums)
            return grad

        return run

    return floor


def _block(x: Any, grad: Any, t: Any, u: Any, s: Any, gelu: Any, h: Any, inner: Any) -> Any:
    """The sum over a block, the derivative written to ``grad``; the rest is scratch."""
    np.multiply(x, x, out=u)
    np.multiply(u, _B, out=t)
    np.add(t, _ONE, out=t)
    np.multiply(t, x, out=t)
    np.multiply(t, _A, out=t)
    np.tanh(t, out=t)
    np.multiply(u, _3B, out=inner)
    np.add(inner, _ONE, out=inner)
    np.multiply(inner, _A, out=inner)  # of the argument of tanh: a (1 + 3 b x^2)
    np.negative(x, out=s)
    np.exp(s, out=s)
    np.add(s, _ONE, out=s)
    np.reciprocal(s, out=s)
    np.tanh(x, out=h)
    np.add(t, _ONE, out=u)
    np.multiply(u, _HALF, out=u)  # gelu(x) / x
    np.multiply(u, x, out=gelu)
    np.multiply(gelu, s, out=grad)
    np.add(grad, h, out=grad)
    total = np.add.reduce(grad)
    # (gelu s)' = gelu' s + gelu s (1 - s), gelu' = u + x (1 - t^2) inner / 2
    np.multiply(t, t, out=t)
    np.subtract(_ONE, t, out=t)
    np.multiply(t, inner, out=t)
    np.multiply(t, x, out=t)
    np.multiply(t, _HALF, out=t)
    np.add(t, u, out=t)
    np.multiply(t, s, out=t)
    np.multiply(gelu, s, out=u)
    np.subtract(_ONE, s, out=s)
    np.multiply(u, s, out=u)
    np.add(t, u, out=t)
    np.multiply(h, h, out=h)
    np.subtract(_ONE, h, out=h)
    np.add(t, h, out=grad)
    return total
