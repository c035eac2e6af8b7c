"""Floors of training.py: the networks' steps in bare NumPy, forward and backward by hand.

Sums over rows are products with ones. Results are those of the programs: the loss, then what was updated,
or its gradients, in the order of the parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from .workload import Rival

_EPSILON = np.float32(1e-5)
_A, _B, _3B = np.float32(0.7978845608), np.float32(0.044715), np.float32(3 * 0.044715)
_HALF, _ONE = np.float32(0.5), np.float32(1)


def _like(arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
    return [np.empty_like(a) for a in arrays]


def _floats(*shape: int) -> np.ndarray:
    return np.empty(shape, "float32")


class CrossEntropy:
    """The mean loss of scores (n, classes), and its gradient in ``gradient``."""

    def __init__(self, labels: np.ndarray, classes: int) -> None:
        n = len(labels)
        self.at = np.arange(n) * classes + labels
        self.scale = np.float32(1 / n)
        self.top, self.sums = _floats(n, 1), _floats(n, 1)
        self.gradient = _floats(n, classes)

    def __call__(self, scores: np.ndarray) -> Any:
        g = self.gradient
        np.maximum.reduce(scores, 1, None, self.top, True)
        np.subtract(scores, self.top, out=g)
        picked = g.ravel().take(self.at)
        np.exp(g, out=g)
        np.add.reduce(g, 1, None, self.sums, True)
        np.multiply(g, np.divide(self.scale, self.sums, out=self.top), out=g)
        g.ravel()[self.at] -= self.scale
        return (np.log(self.sums, out=self.sums)[:, 0] - picked).mean()


# -- MLP -------------------------------------------------------------------------------------------


def mlp(x: np.ndarray, labels: np.ndarray, parameters: Sequence[np.ndarray], rate: float) -> Rival:
    """A step of gradient descent."""
    weights, biases = parameters[0::2], parameters[1::2]
    layers = [x, *(_floats(len(x), len(b)) for b in biases)]
    grads = _like(layers[:-1])
    active = [np.empty(layer.shape, bool) for layer in layers[:-1]]
    weight_grads, bias_grads = _like(weights), _like(biases)
    loss, ones, step = CrossEntropy(labels, len(biases[-1])), np.ones(len(x), "float32"), np.float32(rate)
    last = len(weights) - 1

    def run() -> Any:
        for i, ((h, z), w, b) in enumerate(zip(pairwise(layers), weights, biases, strict=True)):
            np.dot(h, w.T, out=z)
            np.add(z, b, out=z)
            if i < last:
                np.maximum(z, 0, out=z)
        found = loss(layers[-1])
        g = loss.gradient
        for i in range(last, -1, -1):
            np.dot(g.T, layers[i], out=weight_grads[i])
            np.dot(ones, g, out=bias_grads[i])
            if i:
                np.dot(g, weights[i], out=grads[i])
                np.greater(layers[i], 0, out=active[i])
                g = np.multiply(grads[i], active[i], out=grads[i])
        for p, grad in zip((*weights, *biases), (*weight_grads, *bias_grads), strict=True):
            np.subtract(p, np.multiply(grad, step, out=grad), out=p)
        return [found, *parameters]

    return run


# -- RNN -------------------------------------------------------------------------------------------


def rnn(x: np.ndarray, parameters: Sequence[np.ndarray]) -> Rival:
    """The sum of the last state, and its gradient in the two matrices and the bias."""
    w, u, b = parameters
    times, sequences, hidden = x.shape
    states = np.zeros((times + 1, sequences, hidden), "float32")
    grad, other, products = (_floats(sequences, hidden) for _ in range(3))
    gw, gu, gb, part, row = *_like(parameters), np.empty_like(w), np.empty_like(b)
    ones = np.ones(sequences, "float32")
    steps = [(x[t], states[t], states[t + 1]) for t in range(times)]

    def run() -> Any:
        for now, before, after in steps:
            np.dot(now, w, out=after)
            np.add(after, np.dot(before, u, out=products), out=after)
            np.add(after, b, out=after)
            np.tanh(after, out=after)
        for total in (gw, gu, gb):
            total.fill(0)
        grad.fill(1)
        for now, before, after in reversed(steps):
            np.multiply(after, after, out=other)
            np.subtract(_ONE, other, out=other)
            np.multiply(other, grad, out=other)
            np.add(gw, np.dot(now.T, other, out=part), out=gw)
            np.add(gu, np.dot(before.T, other, out=part), out=gu)
            np.add(gb, np.dot(ones, other, out=row), out=gb)
            np.dot(other, u.T, out=grad)
        return [np.add.reduce(states[-1], None), gw, gu, gb]

    return run


# -- the block of a GPT ------------------------------------------------------------------------------


class LayerNorm:
    """Rows made to have mean 0 and variance 1, times ``g``, plus ``b``; and the way back."""

    def __init__(self, rows: int, width: int) -> None:
        self.normal, self.out, self.work = (_floats(rows, width) for _ in range(3))
        self.inverse, self.mean, self.other = (_floats(rows, 1) for _ in range(3))
        self.average = np.full((width, 1), 1 / width, "float32")
        self.ones = np.ones(rows, "float32")

    def forward(self, x: np.ndarray, g: np.ndarray, b: np.ndarray) -> np.ndarray:
        np.dot(x, self.average, out=self.mean)
        np.subtract(x, self.mean, out=self.normal)
        np.multiply(self.normal, self.normal, out=self.work)
        np.dot(self.work, self.average, out=self.inverse)
        np.add(self.inverse, _EPSILON, out=self.inverse)
        np.reciprocal(np.sqrt(self.inverse, out=self.inverse), out=self.inverse)
        np.multiply(self.normal, self.inverse, out=self.normal)
        np.multiply(self.normal, g, out=self.out)
        return np.add(self.out, b, out=self.out)

    def parameters(self, grad: np.ndarray, of_g: np.ndarray, of_b: np.ndarray) -> None:
        """The gradients of ``g`` and ``b``."""
        np.dot(self.ones, np.multiply(grad, self.normal, out=self.work), out=of_g)
        np.dot(self.ones, grad, out=of_b)

    def backward(self, grad: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The gradient of ``x``, written over ``grad``."""
        np.multiply(grad, g, out=grad)
        np.dot(grad, self.average, out=self.mean)
        np.dot(np.multiply(grad, self.normal, out=self.work), self.average, out=self.other)
        np.subtract(grad, self.mean, out=grad)
        np.subtract(grad, np.multiply(self.normal, self.other, out=self.work), out=grad)
        return np.multiply(grad, self.inverse, out=grad)


class Gelu:
    """The approximation of gelu by tanh, and its derivative."""

    def __init__(self, *shape: int) -> None:
        self.out, self.t, self.work = (_floats(*shape) for _ in range(3))

    def forward(self, x: np.ndarray) -> np.ndarray:
        t = self.t
        np.multiply(x, x, out=t)
        np.multiply(t, _B * _A, out=t)
        np.add(t, _A, out=t)
        np.multiply(t, x, out=t)
        np.tanh(t, out=t)
        np.add(t, _ONE, out=self.out)
        np.multiply(self.out, _HALF, out=self.out)
        return np.multiply(self.out, x, out=self.out)

    def backward(self, grad: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The gradient of ``x``, written over ``grad``."""
        t, work = self.t, self.work
        np.multiply(x, x, out=work)
        np.multiply(work, _3B * _A * _HALF, out=work)
        np.add(work, _A * _HALF, out=work)
        np.multiply(work, x, out=work)  # x (a + 3 a b x^2) / 2
        np.multiply(t, t, out=self.out)
        np.subtract(_ONE, self.out, out=self.out)
        np.multiply(work, self.out, out=work)
        np.add(t, _ONE, out=t)
        np.multiply(t, _HALF, out=t)
        np.add(work, t, out=work)
        return np.multiply(grad, work, out=grad)


class Attention:
    """Causal attention of joint queries, keys and values (rows, 3 * width), and the way back."""

    def __init__(self, texts: int, length: int, heads: int, width: int) -> None:
        size = width // heads
        self.shape = (texts, length, 3, heads, size)
        self.q, self.k, self.v = self.parts = _floats(3, texts, heads, length, size)
        self.part_grads = np.empty_like(self.parts)
        self.weights, self.work = (_floats(texts, heads, length, length) for _ in range(2))
        self.sums = _floats(texts, heads, length, 1)
        self.found = np.empty_like(self.q)
        self.out = _floats(texts * length, width)
        self.grad = _floats(texts * length, 3 * width)
        self.keep = np.tril(np.ones((length, length), "float32"))
        self.ones = np.ones((length, 1), "float32")
        self.scale = np.float32(size**-0.5)

    def _by_text(self, rows: np.ndarray) -> np.ndarray:
        texts, length, _, heads, size = self.shape
        return rows.reshape(texts, length, heads, size).transpose(0, 2, 1, 3)

    def forward(self, joint: np.ndarray) -> np.ndarray:
        np.copyto(self.parts, joint.reshape(self.shape).transpose(2, 0, 3, 1, 4))
        np.multiply(self.q, self.scale, out=self.q)
        np.matmul(self.q, self.k.swapaxes(2, 3), out=self.weights)
        np.exp(self.weights, out=self.weights)  # scores are small: no maximum has to be taken away
        np.multiply(self.weights, self.keep, out=self.weights)
        self._sum(self.weights)
        np.multiply(self.weights, np.reciprocal(self.sums, out=self.sums), out=self.weights)
        np.matmul(self.weights, self.v, out=self.found)
        np.copyto(self._by_text(self.out), self.found)
        return self.out

    def _sum(self, table: np.ndarray) -> None:
        np.dot(table.reshape(-1, table.shape[-1]), self.ones, out=self.sums.reshape(-1, 1))

    def backward(self, grad: np.ndarray) -> np.ndarray:
        """The gradient of the joint array."""
        np.copyto(self.found, self._by_text(grad))
        of_q, of_k, of_v = self.part_grads
        np.matmul(self.weights.swapaxes(2, 3), self.found, out=of_v)
        np.matmul(self.found, self.v.swapaxes(2, 3), out=self.work)
        np.multiply(self.work, self.weights, out=self.work)
        self._sum(self.work)
        np.subtract(self.work, np.multiply(self.weights, self.sums, out=self.weights), out=self.work)
        np.matmul(self.work, self.k, out=of_q)
        np.multiply(of_q, self.scale, out=of_q)
        np.matmul(self.work.swapaxes(2, 3), self.q, out=of_k)
        np.copyto(self.grad.reshape(self.shape).transpose(2, 0, 3, 1, 4), self.part_grads)
        return self.grad


class Linear:
    """``x @ w.T + b``, and the way back."""

    def __init__(self, rows: int, w: np.ndarray) -> None:
        self.out, self.grad, self.ones = (
            _floats(rows, len(w)),
            _floats(rows, w.shape[1]),
            np.ones(rows, "float32"),
        )

    def forward(self, x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.add(np.dot(x, w.T, out=self.out), b, out=self.out)

    def backward(
        self, grad: np.ndarray, x: np.ndarray, w: np.ndarray, of_w: np.ndarray, of_b: np.ndarray
    ) -> np.ndarray:
        np.dot(grad.T, x, out=of_w)
        np.dot(self.ones, grad, out=of_b)
        return np.dot(grad, w, out=self.grad)


def gpt(x: np.ndarray, parameters: Sequence[np.ndarray], heads: int) -> Rival:
    """The mean square of the block's result, and its gradient in all parameters."""
    texts, length, width = x.shape
    rows = texts * length
    x = x.reshape(rows, width)
    g1, b1, w_qkv, b_qkv, w_o, b_o, g2, b2, w_1, b_1, w_2, b_2 = parameters
    grads = _like(parameters)
    d_g1, d_b1, d_w_qkv, d_b_qkv, d_w_o, d_b_o, d_g2, d_b2, d_w_1, d_b_1, d_w_2, d_b_2 = grads
    first, second = LayerNorm(rows, width), LayerNorm(rows, width)
    joint, projection, wide, narrow = (Linear(rows, w) for w in (w_qkv, w_o, w_1, w_2))
    attention, gelu = Attention(texts, length, heads, width), Gelu(rows, len(w_1))
    y, out, grad = (_floats(rows, width) for _ in range(3))
    scale = np.float32(2 / out.size)

    def run() -> Any:
        h = first.forward(x, g1, b1)
        mixed = attention.forward(joint.forward(h, w_qkv, b_qkv))
        np.add(x, projection.forward(mixed, w_o, b_o), out=y)
        n = second.forward(y, g2, b2)
        u = wide.forward(n, w_1, b_1)
        v = gelu.forward(u)
        np.add(y, narrow.forward(v, w_2, b_2), out=out)
        loss = np.dot(out.ravel(), out.ravel()) / out.size
        np.multiply(out, scale, out=grad)
        back = gelu.backward(narrow.backward(grad, v, w_2, d_w_2, d_b_2), u)
        back = wide.backward(back, n, w_1, d_w_1, d_b_1)
        second.parameters(back, d_g2, d_b2)
        np.add(grad, second.backward(back, g2), out=grad)
        back = attention.backward(projection.backward(grad, mixed, w_o, d_w_o, d_b_o))
        first.parameters(joint.backward(back, h, w_qkv, d_w_qkv, d_b_qkv), d_g1, d_b1)
        return [loss, *grads]

    return run
