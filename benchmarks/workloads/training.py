"""Networks: a step of an MLP, an RNN, a block of a GPT, a convnet."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from libraries import Arrays, Tensors

from . import floors_training as floors
from .floors_convnet import convnet
from .workload import Rival, Workload, data, integers, zero_grads

LEARNING_RATE = 1e-6  # so that steps, however many are timed, stay on the same data


# -- MLP 784-256-128-10 ------------------------------------------------------------------------

SIZES = (784, 256, 128, 10)
BATCH = 64


def _mlp_data() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    parameters = []
    for i, (a, b) in enumerate(pairwise(SIZES)):
        parameters += [data(b, a, seed=i, scale=a**-0.5), data(b, seed=10 + i, scale=0.1)]
    return data(BATCH, SIZES[0], seed=20), integers(SIZES[-1], BATCH, seed=21), parameters


def _mlp_tensors(library: Tensors) -> Rival:
    xs, labels, ps = _mlp_data()
    x, y, parameters = library.tensor(xs), library.tensor(labels), library.tensors(ps)
    F = library.F
    optimizer = library.m.optim.SGD(parameters, lr=LEARNING_RATE)

    def run() -> Any:
        optimizer.zero_grad()
        h = x
        for i in range(0, len(parameters), 2):
            h = F.linear(h, parameters[i], parameters[i + 1])
            h = h.relu() if i < len(parameters) - 2 else h
        loss = F.cross_entropy(h, y)
        loss.backward()
        optimizer.step()
        return [loss, *parameters]

    return run


def _mlp_arrays(library: Arrays) -> Rival:
    xs, labels, ps = _mlp_data()
    xp, x, y = library.xp, library.put(xs), library.put(labels)

    def loss(parameters: Any) -> Any:
        h = x
        for i in range(0, len(parameters), 2):
            h = xp.dot(h, parameters[i].T) + parameters[i + 1]
            h = xp.maximum(h, 0) if i < len(parameters) - 2 else h
        return _cross_entropy(xp, h, y)

    gradient = library.value_and_grad(loss)

    def step(parameters: Any) -> Any:
        value, grads = gradient(parameters)
        return [value, *[p - LEARNING_RATE * g for p, g in zip(parameters, grads, strict=True)]]

    return library.function(step, [library.put(p) for p in ps])


def _flat(found: Any) -> list[Any]:
    value, grads = found
    return [value, *grads]


def _cross_entropy(xp: Any, scores: Any, labels: Any) -> Any:
    top = xp.max(scores, axis=1, keepdims=True)
    logs = scores - top - xp.log(xp.sum(xp.exp(scores - top), axis=1, keepdims=True))
    return -xp.mean(logs[np.arange(len(labels)), labels])


# -- tanh RNN ----------------------------------------------------------------------------------

TIMES, HIDDEN, SEQUENCES = 100, 64, 16


def _rnn_data() -> tuple[np.ndarray, list[np.ndarray]]:
    scale = HIDDEN**-0.5
    weights = [data(HIDDEN, HIDDEN, seed=1, scale=scale), data(HIDDEN, HIDDEN, seed=2, scale=scale)]
    return data(TIMES, SEQUENCES, HIDDEN, seed=3), [*weights, data(HIDDEN, seed=4, scale=0.1)]


def _rnn_tensors(library: Tensors) -> Rival:
    xs, ps = _rnn_data()
    x, parameters = library.tensor(xs), library.tensors(ps)

    def run() -> Any:
        w, u, b = parameters
        h = library.m.zeros(SEQUENCES, HIDDEN)
        for t in range(TIMES):
            h = (x[t] @ w + h @ u + b).tanh()
        zero_grads(parameters)
        total = h.sum()
        total.backward()
        return [total, *[p.grad for p in parameters]]

    return run


def _rnn_arrays(library: Arrays) -> Rival:
    xs, ps = _rnn_data()
    xp, x = library.xp, library.put(xs)

    def f(p: Any) -> Any:
        w, u, b = p
        h = xp.zeros((SEQUENCES, HIDDEN), dtype="float32")
        if library.scan is not None:
            h, _ = library.scan(lambda h, row: (xp.tanh(row @ w + h @ u + b), None), h, x)
        else:
            for t in range(TIMES):
                h = xp.tanh(xp.dot(x[t], w) + xp.dot(h, u) + b)
        return xp.sum(h)

    run = library.gradient(f, [library.put(p) for p in ps])
    return lambda: _flat(run())


# -- a block of a GPT ----------------------------------------------------------------------------

WIDTH, HEADS, LENGTH, TEXTS = 128, 4, 64, 8


def _gpt_data() -> tuple[np.ndarray, list[np.ndarray]]:
    d, s = WIDTH, WIDTH**-0.5
    ones, zeros = np.ones(d, "float32"), np.zeros(d, "float32")
    return data(TEXTS, LENGTH, d, seed=1), [
        *(ones, zeros, data(3 * d, d, seed=2, scale=s), data(3 * d, seed=3, scale=0.1)),
        *(data(d, d, seed=4, scale=s), data(d, seed=5, scale=0.1), ones, zeros),
        *(data(4 * d, d, seed=6, scale=s), data(4 * d, seed=7, scale=0.1)),
        *(data(d, 4 * d, seed=8, scale=s), data(d, seed=9, scale=0.1)),
    ]


def gpt_tensors(library: Tensors) -> Rival:
    xs, ps = _gpt_data()
    x, parameters = library.tensor(xs), library.tensors(ps)
    F = library.F
    mask = library.tensor(np.triu(np.ones((LENGTH, LENGTH), bool), 1))

    def run() -> Any:
        g1, b1, w_qkv, b_qkv, w_o, b_o, g2, b2, w_1, b_1, w_2, b_2 = parameters
        h = F.layer_norm(x, (WIDTH,), g1, b1)
        q, k, v = (
            F.linear(h, w_qkv, b_qkv).view(TEXTS, LENGTH, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        )
        scores = (q @ k.transpose(-2, -1)) * (WIDTH // HEADS) ** -0.5
        weights = scores.masked_fill(mask, float("-inf")).softmax(-1)
        heads = (weights @ v).transpose(1, 2).reshape(TEXTS, LENGTH, WIDTH)
        y = x + F.linear(heads, w_o, b_o)
        z = F.linear(
            F.gelu(F.linear(F.layer_norm(y, (WIDTH,), g2, b2), w_1, b_1), approximate="tanh"), w_2, b_2
        )
        zero_grads(parameters)
        loss = ((y + z) ** 2).mean()
        loss.backward()
        return [loss, *[p.grad for p in parameters]]

    return run


def _gpt_arrays(library: Arrays) -> Rival:
    xs, ps = _gpt_data()
    xp, x = library.xp, library.put(xs)
    mask = np.where(np.triu(np.ones((LENGTH, LENGTH), bool), 1), np.float32(-1e30), np.float32(0))

    def norm(x: Any, g: Any, b: Any) -> Any:
        centred = x - xp.mean(x, axis=-1, keepdims=True)
        return centred / xp.sqrt(xp.mean(centred**2, axis=-1, keepdims=True) + np.float32(1e-5)) * g + b

    def f(p: Any) -> Any:
        g1, b1, w_qkv, b_qkv, w_o, b_o, g2, b2, w_1, b_1, w_2, b_2 = p
        joint = xp.reshape(norm(x, g1, b1) @ w_qkv.T + b_qkv, (TEXTS, LENGTH, 3, HEADS, WIDTH // HEADS))
        joint = xp.transpose(joint, (2, 0, 3, 1, 4))
        q, k, v = joint[0], joint[1], joint[2]
        scores = xp.matmul(q, xp.swapaxes(k, -2, -1)) * np.float32((WIDTH // HEADS) ** -0.5) + mask
        e = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
        heads = xp.matmul(e / xp.sum(e, axis=-1, keepdims=True), v)
        y = x + xp.reshape(xp.transpose(heads, (0, 2, 1, 3)), (TEXTS, LENGTH, WIDTH)) @ w_o.T + b_o
        h = norm(y, g2, b2) @ w_1.T + b_1
        h = np.float32(0.5) * h * (1 + xp.tanh(np.float32(0.7978845608) * (h + np.float32(0.044715) * h**3)))
        return xp.mean((y + h @ w_2.T + b_2) ** 2)

    run = library.gradient(f, [library.put(p) for p in ps])
    return lambda: _flat(run())


# -- a convnet with two 3x3 convolutions ----------------------------------------------------------


def _convnet_data() -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    return (
        data(32, 1, 28, 28, seed=1),
        integers(10, 32, seed=2),
        [
            *(data(8, 1, 3, 3, seed=3, scale=0.3), data(8, seed=4, scale=0.1)),
            *(data(16, 8, 3, 3, seed=5, scale=0.1), data(16, seed=6, scale=0.1)),
            *(data(10, 784, seed=7, scale=0.03), data(10, seed=8, scale=0.1)),
        ],
    )


def _convnet_tensors(library: Tensors) -> Rival:
    xs, labels, ps = _convnet_data()
    x, y, parameters = library.tensor(xs), library.tensor(labels), library.tensors(ps)
    F = library.F

    def run() -> Any:
        w1, b1, w2, b2, w3, b3 = parameters
        h = F.max_pool2d(F.conv2d(x, w1, b1, padding=1).relu(), 2)
        h = F.max_pool2d(F.conv2d(h, w2, b2, padding=1).relu(), 2)
        zero_grads(parameters)
        loss = F.cross_entropy(F.linear(h.flatten(1), w3, b3), y)
        loss.backward()
        return [loss, *[p.grad for p in parameters]]

    return run


def _convnet_arrays(library: Arrays) -> Rival:
    xs, labels, ps = _convnet_data()
    xp, x, y = library.xp, library.put(xs), library.put(labels)

    def convolve(x: Any, w: Any, b: Any) -> Any:
        if library.is_jax:
            import jax

            return jax.lax.conv(x, w, (1, 1), "SAME") + b[:, None, None]
        x = xp.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="constant")
        height, width = x.shape[2] - 2, x.shape[3] - 2
        parts = [x[:, :, i : i + height, j : j + width] for i in range(3) for j in range(3)]
        columns = xp.reshape(xp.stack(parts, axis=2), (x.shape[0], -1, height * width))
        found = xp.matmul(xp.reshape(w, (w.shape[0], -1)), columns)
        return xp.reshape(found, (x.shape[0], -1, height, width)) + b[:, None, None]

    def pool(x: Any) -> Any:
        n, c, height, width = x.shape
        return xp.max(xp.reshape(x, (n, c, height // 2, 2, width // 2, 2)), axis=(3, 5))

    def f(p: Any) -> Any:
        w1, b1, w2, b2, w3, b3 = p
        h = pool(xp.maximum(convolve(x, w1, b1), 0))
        h = pool(xp.maximum(convolve(h, w2, b2), 0))
        return _cross_entropy(xp, xp.reshape(h, (h.shape[0], -1)) @ w3.T + b3, y)

    run = library.gradient(f, [library.put(p) for p in ps])
    return lambda: _flat(run())


def _mlp_flops() -> int:
    products = [BATCH * a * b for a, b in pairwise(SIZES)]
    return 2 * (3 * sum(products) - products[0])  # the input has no gradient


def _gpt_flops() -> int:
    rows, d = TEXTS * LENGTH, WIDTH
    return 3 * 2 * (rows * d * (3 * d + d + 4 * d + 4 * d) + 2 * rows * LENGTH * d)


def _convnet_flops() -> int:
    return 2 * 32 * (2 * 8 * 9 * 28**2 + 3 * 16 * 8 * 9 * 14**2 + 3 * 784 * 10)


TRAINING = (
    Workload(
        "mlp",
        "MLP 784-256-128-10, batch 64, step",
        _mlp_tensors,
        _mlp_arrays,
        0.9,
        1.1,
        floor=lambda library: floors.mlp(*_mlp_data(), LEARNING_RATE),
        flops=_mlp_flops(),
    ),
    Workload(
        "rnn",
        "tanh RNN, 100 steps, hidden 64, batch 16",
        _rnn_tensors,
        _rnn_arrays,
        0.7,
        0.9,
        floor=lambda library: floors.rnn(*_rnn_data()),
        flops=5 * 2 * TIMES * SEQUENCES * HIDDEN**2,
    ),
    Workload(
        "gpt",
        "GPT block, d 128, 4 heads, sequence 64, batch 8",
        gpt_tensors,
        _gpt_arrays,
        1.2,
        1.5,
        floor=lambda library: floors.gpt(*_gpt_data(), HEADS),
        flops=_gpt_flops(),
    ),
    Workload(
        "convnet",
        "convnet 32x1x28x28, two 3x3 convolutions",
        _convnet_tensors,
        _convnet_arrays,
        2.0,
        2.5,
        floor=lambda library: convnet(*_convnet_data()),
        flops=_convnet_flops(),
    ),
)
