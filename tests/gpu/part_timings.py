"""A dozen programs of tengen and of torch on the GPU, in turn, by events: medians, and their ratio.

Both run the same program over the same numbers, and must give the same before they are timed. ``seconds`` is
for all of them together; sizes are multiplied by ``scale``. Where torch has no GPU there are no ratios.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
from beside import torch_on_cuda
from worker import FAILED, Item

#: How long a batch of calls lasts, in milliseconds: long against the clock of events.
BATCH = 4.0
ROUNDS = (3, 60)
#: Of float32, as a share of the greatest: what sums of thousands of terms in other orders may differ by.
SAME = 1e-3


@dataclass(frozen=True)
class Library:
    """tengen or torch, and what a program makes with it."""

    m: Any
    scale: float

    def size(self, full: int) -> int:
        return max(8, int(full * self.scale))

    def tensor(self, *shape: int, requires_grad: bool = False) -> Any:
        """Normal numbers in float32, the same for both."""
        values = np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)
        return self.m.from_numpy(values).to("cuda").requires_grad_(requires_grad)

    def integers(self, below: int, *shape: int) -> Any:
        return self.m.from_numpy(np.random.default_rng(0).integers(0, below, shape)).to("cuda")

    @property
    def F(self) -> Any:
        return import_module(f"{self.m.__name__}.nn.functional")


#: What is timed: a program makes its inputs, and gives the function that is called.
Program = Callable[[Library], Callable[[], Any]]
PROGRAMS: dict[str, Program] = {}


def program(name: str) -> Callable[[Program], Program]:
    """One of the rows, under a name."""

    def named(function: Program) -> Program:
        PROGRAMS[name] = function
        return function

    return named


def gradient(library: Library, loss: Callable[[], Any], leaves: list[Any]) -> Callable[[], Any]:
    """The gradients of a loss, forward and backward."""
    return lambda: library.m.autograd.grad(loss(), leaves)


@program("add, 8x8")
def _(library: Library) -> Callable[[], Any]:
    a, b = library.tensor(8, 8), library.tensor(8, 8)
    return lambda: a + b


@program("add, 1e7")
def _(library: Library) -> Callable[[], Any]:
    a, b = library.tensor(library.size(10**7)), library.tensor(library.size(10**7))
    return lambda: a + b


@program("gelu(x) * sigmoid(x) + tanh(x), 1e7")
def _(library: Library) -> Callable[[], Any]:
    x, m, gelu = library.tensor(library.size(10**7)), library.m, library.F.gelu
    return lambda: gelu(x) * m.sigmoid(x) + m.tanh(x)


@program("the same with its gradient, 1e6")
def _(library: Library) -> Callable[[], Any]:
    x, m, gelu = library.tensor(library.size(10**6), requires_grad=True), library.m, library.F.gelu
    return gradient(library, lambda: (gelu(x) * m.sigmoid(x) + m.tanh(x)).sum(), [x])


@program("matmul, 2048x2048")
def _(library: Library) -> Callable[[], Any]:
    n = library.size(2048)
    a, b = library.tensor(n, n), library.tensor(n, n)
    return lambda: a @ b


@program("sum(1), 4096x1024")
def _(library: Library) -> Callable[[], Any]:
    x = library.tensor(library.size(4096), 1024)
    return lambda: x.sum(1)


@program("softmax(1), 4096x1024")
def _(library: Library) -> Callable[[], Any]:
    x = library.tensor(library.size(4096), 1024)
    return lambda: x.softmax(1)


@program("layer_norm with its gradients, 4096x1024")
def _(library: Library) -> Callable[[], Any]:
    x, w, b = (library.tensor(*s, requires_grad=True) for s in ((library.size(4096), 1024), (1024,), (1024,)))
    norm = library.F.layer_norm
    return gradient(library, lambda: (norm(x, (1024,), w, b) ** 2).sum(), [x, w, b])


@program("cross_entropy with its gradient, 4096x1024")
def _(library: Library) -> Callable[[], Any]:
    rows = library.size(4096)
    x, labels = library.tensor(rows, 1024, requires_grad=True), library.integers(1024, rows)
    return gradient(library, lambda: library.F.cross_entropy(x, labels), [x])


@program("conv2d 3x3 with its gradients, 32x64x32x32")
def _(library: Library) -> Callable[[], Any]:
    side = library.size(32)
    x = library.tensor(side, 64, side, side, requires_grad=True)
    w = library.tensor(64, 64, 3, 3, requires_grad=True)
    return gradient(library, lambda: (library.F.conv2d(x, w, padding=1) ** 2).mean(), [x, w])


@program("embedding, 65536 of 50000x256")
def _(library: Library) -> Callable[[], Any]:
    rows = library.size(50000)
    weight, chosen = library.tensor(rows, 256), library.integers(rows, library.size(65536))
    return lambda: library.F.embedding(chosen, weight)


@program("sort, 1e6")
def _(library: Library) -> Callable[[], Any]:
    x = library.tensor(library.size(10**6))
    return lambda: library.m.sort(x)[0]


@program("cumsum(1), 4096x1024")
def _(library: Library) -> Callable[[], Any]:
    x = library.tensor(library.size(4096), 1024)
    return lambda: x.cumsum(1)


@program("gradients of an MLP 784-256-128-10, batch 64")
def _(library: Library) -> Callable[[], Any]:
    x, labels = library.tensor(64, 784), library.integers(10, 64)
    sizes = (784, 256, 128, 10)
    weights = [library.tensor(o, i, requires_grad=True) for i, o in pairwise(sizes)]

    def loss() -> Any:
        h = x
        for w in weights[:-1]:
            h = library.m.tanh(h @ (w.T * 0.05))
        return library.F.cross_entropy(h @ weights[-1].T, labels)

    return gradient(library, loss, weights)


# -- how it is timed


def items(options: Mapping[str, Any]) -> dict[str, Item]:
    import tengen

    libraries = {"tengen": tengen, **rivals()}
    seconds = options.get("seconds", 45.0) / len(PROGRAMS)
    return {
        name: partial(timed, made, libraries, seconds, options.get("scale", 1.0))
        for name, made in PROGRAMS.items()
    }


def rivals() -> dict[str, Any]:
    """torch, where it has a GPU; with products in all digits of float32, as CuPy's are."""
    torch = torch_on_cuda()
    if torch is None:
        return {}
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    return {"torch": torch}


def timed(made: Program, libraries: Mapping[str, Any], seconds: float, scale: float) -> dict[str, Any]:
    """The medians of the milliseconds of a call by library, and the ratio to torch's."""
    calls = {name: made(Library(m, scale)) for name, m in libraries.items()}
    error = difference([flat(call()) for call in calls.values()])
    clocks = {name: partial(milliseconds, m, calls[name]) for name, m in libraries.items()}
    found = in_turn(clocks, seconds)
    record: dict[str, Any] = {name: float(f"{value:.4g}") for name, value in found.items()}
    if len(found) > 1:
        record |= {"ratio": round(found["tengen"] / found["torch"], 3), "error": error}
    return {"outcome": "measured" if error < SAME else FAILED, **record}


def flat(value: Any) -> list[Any]:
    """The results of a program as NumPy's arrays."""
    values = value if isinstance(value, (tuple, list)) else [value]
    return [v.detach().cpu().numpy() for v in values]


def difference(found: list[list[Any]]) -> float:
    """How far the results of the libraries are apart at most, as a share of the greatest element."""
    first, *others = found
    return max(
        [
            float(np.max(np.abs(a - b)) / max(np.max(np.abs(a)), 1e-30))
            for other in others
            for a, b in zip(first, other, strict=True)
        ],
        default=0.0,
    )


def milliseconds(m: Any, call: Callable[[], Any], count: int) -> float:
    """Of one call, by the device's clock, in a batch of so many."""
    begin, end = (m.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / count


def in_turn(clocks: Mapping[str, Callable[[int], float]], seconds: float) -> dict[str, float]:
    """The median of each clock over rounds in which all have their turn, in about so many seconds.

    A clock gives the milliseconds of one call from a batch of so many. The first calls, which compile, are
    not counted.
    """
    end = time.monotonic() + seconds
    counts = {}
    for name, clock in clocks.items():
        clock(1)
        counts[name] = max(1, min(1000, round(BATCH / max(min(clock(1) for _ in range(3)), 1e-3))))
    times: dict[str, list[float]] = {name: [] for name in clocks}
    least, most = ROUNDS
    for done in range(most):
        if done >= least and time.monotonic() > end:
            break
        for name, clock in clocks.items():
            times[name].append(clock(counts[name]))
    return {name: statistics.median(found) for name, found in times.items()}
