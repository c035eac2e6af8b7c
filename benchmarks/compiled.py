"""``tengen.compile`` beside ``torch.compile``, both without, and ``jax.jit``.

    python benchmarks/compiled.py                     # all workloads, with one thread
    python benchmarks/compiled.py chain mlp           # those whose names begin so
    python benchmarks/compiled.py --only tengen,tengen.compile --seconds 1

A row is a workload: microseconds of a call, and in brackets the processor's seconds of the first one. All run
in one process in turn (harness.py), on equal data; results are compared before. Where gradients belong to a
workload, they are compiled with it, but for torch.compile, which has none inside. Steps are whole.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
from harness import calibrated
from libraries import load, threads

import tengen

RNG = np.random.default_rng(0)
Program = Callable[..., Any]
#: What the names of rows of training begin with, and its learning rate.
STEP, RATE = "step of Adam: ", 1e-4


def normal(*shape: int, scale: float = 1.0) -> Any:
    """Numbers in float32."""
    return (RNG.standard_normal(shape) * scale).astype(np.float32)


# -- workloads: of tensors, and of JAX's arrays; the arguments, and those of which gradients are taken


def chain(T: Any) -> Program:
    def run(x: Any, b: Any) -> Any:
        for _ in range(50):
            x = T.tanh(x * b)
        return x.sum()

    return run


def chain_of_arrays(J: Any) -> Program:
    return chain(J)


def expression(T: Any) -> Program:
    F = T.nn.functional
    return lambda x: (F.gelu(x) * T.sigmoid(x) + T.tanh(x)).sum()


def expression_of_arrays(J: Any) -> Program:
    import jax.nn as nn

    return lambda x: (nn.gelu(x, approximate=False) * nn.sigmoid(x) + J.tanh(x)).sum()


def norms(T: Any) -> Program:
    F = T.nn.functional
    return lambda x, w, b: F.gelu(F.layer_norm(x, (1024,), w, b)).mean()


def norms_of_arrays(J: Any) -> Program:
    import jax

    def run(x: Any, w: Any, b: Any) -> Any:
        center = x - x.mean(-1, keepdims=True)
        y = center * jax.lax.rsqrt((center * center).mean(-1, keepdims=True) + 1e-5)
        return jax.nn.gelu(y * w + b, approximate=False).mean()

    return run


def bodies(T: Any) -> Program:
    def run(x: Any, m: Any) -> Any:
        d = x[:, None] - x[None]
        return -(m[:, None] * m[None] / T.sqrt((d * d).sum(-1) + 0.01)).sum()

    return run


def bodies_of_arrays(J: Any) -> Program:
    return bodies(J)


def network(T: Any) -> Program:
    def run(x: Any, y: Any, *p: Any) -> Any:
        for i in range(0, len(p), 2):
            x = x @ p[i] + p[i + 1]
            x = T.tanh(x) if i + 2 < len(p) else x
        return ((x - y) ** 2).mean()

    return run


def network_of_arrays(J: Any) -> Program:
    return network(J)


def inference(T: Any) -> Program:
    def run(x: Any, *p: Any) -> Any:
        for i in range(0, len(p), 2):
            x = T.tanh(x @ p[i] + p[i + 1])
        return x

    return run


def inference_of_arrays(J: Any) -> Program:
    return inference(J)


def recurrent(T: Any) -> Program:
    def run(xs: Any, w: Any, u: Any, b: Any) -> Any:
        given = xs @ w + b
        h = given[0] * 0
        for t in range(50):
            h = T.tanh(given[t] + h @ u)
        return (h * h).sum()

    return run


def recurrent_of_arrays(J: Any) -> Program:
    return recurrent(J)


def regression(T: Any) -> Program:
    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (T.log(1 + T.exp(z)) - y * z).mean()

    return lambda w, x, y: (T.func.grad(loss)(w, x, y), T.func.hessian(loss)(w, x, y))


def regression_of_arrays(J: Any) -> Program:
    import jax

    def loss(w: Any, x: Any, y: Any) -> Any:
        z = x @ w
        return (J.log(1 + J.exp(z)) - y * z).mean()

    return lambda w, x, y: (jax.grad(loss)(w, x, y), jax.hessian(loss)(w, x, y))


def words(T: Any) -> Program:
    F = T.nn.functional
    return lambda i, y, table, w: F.cross_entropy(F.embedding(i, table) @ w, y)


def words_of_arrays(J: Any) -> Program:
    return lambda i, y, table, w: _cross_entropy(J, table[i] @ w, y)


def _cross_entropy(J: Any, logits: Any, classes: Any) -> Any:
    import jax

    rows = jax.nn.log_softmax(logits)
    return -J.take_along_axis(rows, classes[:, None], 1).mean()


def images(T: Any) -> Program:
    F = T.nn.functional

    def run(x: Any, y: Any, k: Any, b: Any, kk: Any, bb: Any, w: Any, c: Any) -> Any:
        h = F.max_pool2d(T.relu(F.conv2d(x, k, b, padding=1)), 2)
        h = F.max_pool2d(T.relu(F.conv2d(h, kk, bb, padding=1)), 2)
        return F.cross_entropy(h.flatten(1) @ w + c, y)

    return run


def images_of_arrays(J: Any) -> Program:
    from jax import lax

    def layer(x: Any, k: Any, b: Any) -> Any:
        h = lax.conv_general_dilated(x, k, (1, 1), "SAME") + b[:, None, None]
        h = J.maximum(h, 0)
        return lax.reduce_window(h, -J.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")

    def run(x: Any, y: Any, k: Any, b: Any, kk: Any, bb: Any, w: Any, c: Any) -> Any:
        h = layer(layer(x, k, b), kk, bb)
        return _cross_entropy(J, h.reshape(len(h), -1) @ w + c, y)

    return run


def physics(T: Any) -> Program:
    """The residual of Burgers' equation, of a network of place and time."""

    def run(x: Any, *p: Any) -> Any:
        x = x.detach().requires_grad_()
        u = T.tanh(T.tanh(x @ p[0] + p[1]) @ p[2] + p[3]) @ p[4] + p[5]
        (g,) = T.autograd.grad(u.sum(), x, create_graph=True)
        (second,) = T.autograd.grad(g[:, 0].sum(), x, create_graph=True)
        return ((g[:, 1] + u[:, 0] * g[:, 0] - 0.01 * second[:, 0]) ** 2).mean()

    return run


def physics_of_arrays(J: Any) -> Program:
    import jax

    def run(x: Any, *p: Any) -> Any:
        def u(at: Any) -> Any:
            return (J.tanh(J.tanh(at @ p[0] + p[1]) @ p[2] + p[3]) @ p[4] + p[5])[0]

        def residual(at: Any) -> Any:
            first = jax.grad(u)
            g, second = jax.jvp(first, (at,), (J.asarray([1.0, 0.0], at.dtype),))
            return g[1] + u(at) * g[0] - 0.01 * second[0]

        return (jax.vmap(residual)(x) ** 2).mean()

    return run


def attention(T: Any) -> Program:
    """A block of a causal transformer, with its loss."""
    F = T.nn.functional

    def run(x: Any, y: Any, *p: Any) -> Any:
        batch, count, width = x.shape
        h = F.layer_norm(x, (width,), p[0], p[1]) @ p[2] + p[3]
        q, k, v = [t.reshape(batch, count, 8, width // 8).transpose(1, 2) for t in h.split(width, -1)]
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + h.transpose(1, 2).reshape(batch, count, width) @ p[4] + p[5]
        h = F.gelu(F.layer_norm(x, (width,), p[6], p[7]) @ p[8] + p[9]) @ p[10] + p[11]
        return ((x + h - y) ** 2).mean()

    return run


def attention_of_arrays(J: Any) -> Program:
    import jax

    def norm(x: Any, w: Any, b: Any) -> Any:
        center = x - x.mean(-1, keepdims=True)
        return center * jax.lax.rsqrt((center * center).mean(-1, keepdims=True) + 1e-5) * w + b

    def run(x: Any, y: Any, *p: Any) -> Any:
        batch, count, width = x.shape
        h = J.split(norm(x, p[0], p[1]) @ p[2] + p[3], 3, -1)
        q, k, v = [t.reshape(batch, count, 8, width // 8).transpose(0, 2, 1, 3) for t in h]
        scores = J.where(
            J.tril(J.ones((count, count), bool)), q @ k.swapaxes(2, 3) * (width // 8) ** -0.5, -J.inf
        )
        h = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(batch, count, width)
        x = x + h @ p[4] + p[5]
        h = jax.nn.gelu(norm(x, p[6], p[7]) @ p[8] + p[9], approximate=False) @ p[10] + p[11]
        return ((x + h - y) ** 2).mean()

    return run


def _matrices(*sizes: tuple[int, int]) -> list[Any]:
    """Weights and biases of layers."""
    return [p for n, m in sizes for p in (normal(n, m, scale=n**-0.5), normal(m, scale=0.1))]


_LAYERS = (784, 256, 128, 10)
_PARAMETERS = _matrices(*pairwise(_LAYERS))
_BLOCK = [normal(256) * 0.1 + 1, normal(256), *_matrices((256, 768), (256, 256))]
_BLOCK += [normal(256) * 0.1 + 1, normal(256), *_matrices((256, 1024), (1024, 256))]
_SMALL = [p for _ in range(3) for p in (normal(64, 64, scale=0.1), normal(64, scale=0.1))]

#: (of tensors, of arrays, arguments, the arguments with gradients).
WORKLOADS: dict[
    str, tuple[Callable[[Any], Program], Callable[[Any], Program], list[Any], tuple[int, ...]]
] = {
    "chain: 50 tanh(h * b), 8x8": (chain, chain_of_arrays, [normal(8, 8), normal(8, 8)], (0, 1)),
    "inference: 3 layers of 64, batch 1": (inference, inference_of_arrays, [normal(1, 64), *_SMALL], ()),
    "expression: 1e6": (expression, expression_of_arrays, [normal(10**6)], (0,)),
    "expression: 1e7": (expression, expression_of_arrays, [normal(10**7)], (0,)),
    "layer_norm, gelu: 1024x1024": (
        norms,
        norms_of_arrays,
        [normal(1024, 1024), normal(1024), normal(1024)],
        (0, 1, 2),
    ),
    "n-body: 256": (bodies, bodies_of_arrays, [normal(256, 3), abs(normal(256))], (0,)),
    "network: 64x784-256-128-10": (
        network,
        network_of_arrays,
        [normal(64, 784), normal(64, 10), *_PARAMETERS],
        tuple(range(2, 8)),
    ),
    "logistic regression: gradient, Hessian": (
        regression,
        regression_of_arrays,
        [normal(30, scale=0.3), normal(1000, 30), (RNG.random(1000) < 0.5).astype(np.float32)],
        (),
    ),
    "recurrent: 50 steps of 16x64": (
        recurrent,
        recurrent_of_arrays,
        [normal(50, 16, 64), normal(64, 64, scale=0.1), normal(64, 64, scale=0.1), normal(64)],
        (1, 2, 3),
    ),
    "embedding, cross-entropy: 512 of 10000x64, 1000": (
        words,
        words_of_arrays,
        [
            RNG.integers(0, 10000, 512),
            RNG.integers(0, 1000, 512),
            normal(10000, 64),
            normal(64, 1000, scale=0.1),
        ],
        (2, 3),
    ),
    "convolutions, max_pool2d: 32x28x28": (
        images,
        images_of_arrays,
        [
            normal(32, 1, 28, 28),
            RNG.integers(0, 10, 32),
            normal(16, 1, 3, 3, scale=0.3),
            normal(16, scale=0.1),
            normal(32, 16, 3, 3, scale=0.1),
            normal(32, scale=0.1),
            normal(1568, 10, scale=0.03),
            normal(10, scale=0.1),
        ],
        tuple(range(2, 8)),
    ),
    "physics: 1000 of 2-64-64-1": (
        physics,
        physics_of_arrays,
        [normal(1000, 2), *_matrices((2, 64), (64, 64), (64, 1))],
        tuple(range(1, 7)),
    ),
    "attention: block of 8x64x256": (
        attention,
        attention_of_arrays,
        [normal(8, 64, 256), normal(8, 64, 256), *_BLOCK],
        tuple(range(2, 14)),
    ),
}
#: Of these workloads a step of Adam is a row, too, which is compiled whole.
TRAINED = ("network", "embedding", "convolutions", "physics", "attention")
RIVALS = ("torch", "torch.compile", "jax", "tengen", "tengen.compile")


def of_tensors(T: Any, compiles: bool, name: str) -> Callable[[], Any]:
    """A call of a workload by tengen or torch."""
    make, _, arguments, differentiated = WORKLOADS[name]
    given = [T.tensor(a) for a in arguments]
    for i in differentiated:
        given[i].requires_grad_()
    whole = compiles and T is tengen
    run = T.compile(make(T)) if compiles and not whole else make(T)

    def of(*given: Any) -> Any:
        wanted = [given[i] for i in differentiated]
        value = run(*given)
        return (value, *T.autograd.grad(value, wanted)) if wanted else value

    called = T.compile(of) if whole else of

    def call() -> Any:
        if differentiated:
            return called(*given)
        with T.no_grad():
            return called(*given)

    return call


def of_arrays(name: str) -> Callable[[], Any]:
    """A call of a workload by ``jax.jit``."""
    import jax

    _, make, arguments, differentiated = WORKLOADS[name]
    given = [jax.numpy.asarray(a) for a in arguments]
    run = make(jax.numpy)
    compiled = jax.jit(jax.value_and_grad(run, differentiated) if differentiated else run)
    return lambda: jax.block_until_ready(compiled(*given))


def step_of_tensors(T: Any, compiles: bool, name: str) -> Callable[[], Any]:
    """A step of training by tengen or torch."""
    make, _, arguments, differentiated = WORKLOADS[name]
    given = [T.tensor(a) for a in arguments]
    parameters = [given[i].requires_grad_() for i in differentiated]
    optimiser, run = T.optim.Adam(parameters, RATE), make(T)

    def step(*given: Any) -> Any:
        optimiser.zero_grad()
        loss = run(*given)
        loss.backward()
        optimiser.step()
        return loss.detach()

    called = T.compile(step) if compiles else step
    return lambda: called(*given)


def step_of_arrays(name: str) -> Callable[[], Any]:
    """A step of training by ``jax.jit``, which may write to what it is given."""
    import jax

    _, make, arguments, differentiated = WORKLOADS[name]
    given = [jax.numpy.asarray(a) for a in arguments]
    gradient = jax.value_and_grad(make(jax.numpy), differentiated)

    def adam(count: Any, p: Any, g: Any, m: Any, v: Any) -> tuple[Any, Any, Any]:
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        size = jax.numpy.sqrt(v / (1 - 0.999**count)) + 1e-8
        return p - RATE * m / (1 - 0.9**count) / size, m, v

    def step(count: Any, parameters: Any, means: Any, squares: Any) -> Any:
        full = list(given)
        for i, p in zip(differentiated, parameters, strict=True):
            full[i] = p
        loss, grads = gradient(*full)
        changed = [adam(count, *each) for each in zip(parameters, grads, means, squares, strict=True)]
        return loss, *zip(*changed, strict=True)

    compiled = jax.jit(step, donate_argnums=(1, 2, 3))
    parameters = tuple([given[i] + 0 for i in differentiated])
    state = [parameters, tuple([0 * p for p in parameters]), tuple([0 * p for p in parameters])]
    count = 0

    def call() -> Any:
        nonlocal count
        count += 1
        loss, *state[:] = compiled(float(count), *state)
        return jax.block_until_ready(loss)

    return call


def rival(kind: str, name: str) -> Callable[[], Any]:
    """A call of a workload, or a step of training one, by a rival."""
    trains, name = name.startswith(STEP), name.removeprefix(STEP)
    if kind == "jax":
        return step_of_arrays(name) if trains else of_arrays(name)
    library, _, compiles = kind.partition(".")
    call = step_of_tensors if trains else of_tensors
    if library == "tengen":
        return call(tengen, bool(compiles), name)
    import torch

    return call(torch, bool(compiles), name)


def numbers(result: Any) -> list[Any]:
    """The arrays of a result."""
    if isinstance(result, list | tuple):
        return [array for each in result for array in numbers(each)]
    return [np.asarray(result.detach() if hasattr(result, "detach") else result)]


def compared(name: str, results: Mapping[str, Any]) -> None:
    """Raise AssertionError where two rivals give other numbers."""
    (first, expected), *others = [(kind, numbers(found)) for kind, found in results.items()]
    for kind, found in others:
        for a, b in zip(expected, found, strict=True):
            np.testing.assert_allclose(a, b, 1e-2, 1e-3, err_msg=f"{name}: {first} and {kind}")


def measured(name: str, kinds: list[str], seconds: float) -> str:
    """The row of a workload."""
    calls: dict[str, Callable[[], Any]] = {}
    first: dict[str, float] = {}
    results: dict[str, Any] = {}
    for kind in kinds:
        call = rival(kind, name)
        start = time.process_time()
        try:
            results[kind] = call()
        except RuntimeError:
            if kind != "torch.compile":  # which has no second derivatives
                raise
            continue
        first[kind] = time.process_time() - start
        call(), call()  # tengen compares once more
        calls[kind] = call
    compared(name, results)
    times = calibrated(calls, seconds)
    cells = [f"{times[kind] * 1e6:.1f} ({first[kind]:.2f})" if kind in times else "-" for kind in kinds]
    ours = times.get("tengen.compile")
    rest = [times[kind] for kind in times if kind in ("torch.compile", "jax")]
    best = f"{ours / min(rest):.2f}" if ours and rest else ""
    return f"| {name} | {' | '.join(cells)} | {best} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="beginnings of workloads' names")
    parser.add_argument("--only", default=",".join(RIVALS), help="rivals, with commas between them")
    parser.add_argument("--seconds", type=float, default=5.0, help="of running each workload")
    options = parser.parse_args()
    there = [kind for kind in options.only.split(",") if find_spec(kind.partition(".")[0]) is not None]
    print(f"| us (s of the first call) | {' | '.join(there)} | to the better of the compiled |")
    print("|---" * (len(there) + 2) + "|")
    loaded = [load(library) for library in dict.fromkeys([kind.partition(".")[0] for kind in there])]
    with threads(loaded, 1):
        for name in [*WORKLOADS, *[STEP + name for name in WORKLOADS if name.startswith(TRAINED)]]:
            if not options.names or any(name.startswith(n) for n in options.names):
                print(measured(name, there, options.seconds), flush=True)


if __name__ == "__main__":
    main()
