"""Operators on chunked tensors beside bare dask.array: building the graph, and computing it.

    python benchmarks/dask_overhead.py
    python benchmarks/dask_overhead.py --size 512 --chunk 64

Both compute with Dask's synchronous scheduler, in turn; the figure is the ratio of medians. Added are the
call of tengen, and what a kernel of the group of array libraries has of steps beside Dask's function.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import dask
import dask.array as da
import numpy as np
from harness import in_turn

import tengen

#: Of each operator a call on tensors, and one on arrays.
CALLS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "mul": (lambda x, y: x * y, lambda x, y: x * y),
    "exp": (lambda x, y: x.exp(), lambda x, y: da.exp(x)),
    "where": (lambda x, y: tengen.where(x > y, x, y), lambda x, y: da.where(x > y, x, y)),
    "sum": (lambda x, y: x.sum(), lambda x, y: x.sum()),
    "sum(dim)": (lambda x, y: x.sum(1), lambda x, y: x.sum(axis=1)),
    "mean(dim)": (lambda x, y: x.mean(0), lambda x, y: x.mean(axis=0)),
    "amax": (lambda x, y: x.amax(1), lambda x, y: x.max(axis=1)),
    "std": (lambda x, y: x.std(0), lambda x, y: x.std(axis=0, ddof=1)),
    "matmul": (lambda x, y: x @ y, lambda x, y: x @ y),
    "transpose": (lambda x, y: x.T, lambda x, y: x.T),
    "reshape": (lambda x, y: x.reshape(-1), lambda x, y: da.reshape(x, (-1,))),
    "cat": (lambda x, y: tengen.cat([x, y]), lambda x, y: da.concatenate([x, y])),
    "slice": (lambda x, y: x[3:, ::2], lambda x, y: x[3:, ::2]),
    "cumsum": (lambda x, y: x.cumsum(0), lambda x, y: da.cumsum(x, axis=0)),
    "argmax": (lambda x, y: x.argmax(1), lambda x, y: da.argmax(x, axis=1)),
    "clip": (lambda x, y: x.clamp(-1, 1), lambda x, y: da.clip(x, -1, 1)),
    "softmax": (lambda x, y: x.softmax(1), lambda x, y: _softmax(x)),
}


def _softmax(x: Any) -> Any:
    e = da.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", type=int, default=1024)
    parser.add_argument("--chunk", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    rng = np.random.default_rng(0)
    shape, chunks = (given.size, given.size), (given.chunk, given.chunk)
    arrays = [da.from_array(rng.standard_normal(shape), chunks=chunks) for _ in range(2)]
    tensors = [tengen.dask.from_dask(a) for a in arrays]
    print(f"{'operator':12} {'dask ms':>8} {'tengen ms':>9} {'ratio':>6} {'tasks':>6} {'tengen':>6}")
    with dask.config.set(scheduler="synchronous"):
        for name, (ours, theirs) in CALLS.items():
            rivals = {
                "dask": lambda f=theirs: f(*arrays).compute(),
                "tengen": lambda f=ours: tengen.dask.compute(f(*tensors)),
            }
            np.testing.assert_allclose(rivals["tengen"]().numpy(), rivals["dask"](), rtol=1e-9)
            times = in_turn(rivals, given.rounds)
            tasks = [len(theirs(*arrays).__dask_graph__()), len(ours(*tensors)._array.__dask_graph__())]
            ratio = times["tengen"] / times["dask"]
            milliseconds = f"{times['dask'] * 1e3:8.1f} {times['tengen'] * 1e3:9.1f}"
            print(f"{name:12} {milliseconds} {ratio:6.2f} {tasks[0]:6} {tasks[1]:6}", flush=True)


if __name__ == "__main__":
    main()
