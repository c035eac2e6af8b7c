"""What a data-parallel training step takes on many workers of dask.distributed: a simulation, on paper.

    python benchmarks/dask_workers.py
    python benchmarks/dask_workers.py --workers 100 1000 --parameters 10000000 --compute 20

The tasks, and what each waits for, are those of tengen's own graph of a step, optimised as Dask does it: a
batch of one chunk for each worker, loss and gradients in one pass. Simulated are a scheduler, which takes one
task after the other, workers with one thread, and the links. Not simulated: stealing, spilling, failures, a
network that is shared.
"""

from __future__ import annotations

import argparse
import heapq
import math
from typing import Any

import dask
from dask.core import get_dependencies

import tengen
import tengen.nn.functional as F


def step_graph(workers: int, width: int = 8) -> dict[Any, Any]:
    """The tasks of a step of a network, of a row for each worker: their number does not depend on sizes."""
    rows = tengen.dask.rechunk(tengen.ones(workers, width).to("dask"), (1, -1))
    labels = tengen.dask.rechunk(tengen.zeros(workers, dtype=tengen.int64).to("dask"), 1)
    sizes = ((width, width), (width,), (3, width))
    there = [tengen.zeros(size).to("dask").requires_grad_() for size in sizes]
    loss = F.cross_entropy(F.linear(F.linear(rows, *there[:2]).relu(), there[2]), labels)
    wanted = [loss, *tengen.autograd.grad(loss, there)]
    arrays = dask.optimize(*[tengen.dask.to_dask_array(t.detach()) for t in wanted])
    graph: dict[Any, Any] = {}
    for array in arrays:
        graph.update(dict(array.__dask_graph__()))
    return graph


def simulated(graph: dict[Any, Any], workers: int, handling: float, compute: float, combine: float) -> float:
    """The seconds until all tasks are done.

    ``handling`` is what the scheduler takes for a task, ``compute`` what all tasks of a chunk take together,
    ``combine`` what a task takes that brings results of several workers together.
    """
    waits = {key: set(get_dependencies(graph, key)) for key in graph}
    needed: dict[Any, list[Any]] = {key: [] for key in graph}
    for key, before in waits.items():
        for each in before:
            needed[each].append(key)
    alone = sum([len(before) <= 2 for before in waits.values()])
    own = compute * workers / max(alone, 1)
    ready = [key for key, before in waits.items() if not before]
    free = [0.0] * workers
    running: list[tuple[float, int, Any]] = []
    scheduler = now = 0.0
    count = 0
    while ready or running:
        for key in ready:
            scheduler = max(scheduler, now) + handling
            start = max(heapq.heappop(free), scheduler)
            end = start + (own if len(get_dependencies(graph, key)) <= 2 else combine)
            heapq.heappush(free, end)
            count += 1
            heapq.heappush(running, (end, count, key))
        now, _, done = heapq.heappop(running)
        ready = []
        for each in needed[done]:
            waits[each].discard(done)
            if not waits[each]:
                ready.append(each)
    return max(now, scheduler)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, nargs="+", default=[10, 100, 1000])
    parser.add_argument("--parameters", type=int, default=1_000_000, help="float32 numbers")
    parser.add_argument("--handling", type=float, default=2e-4, help="seconds of the scheduler for a task")
    parser.add_argument(
        "--compute", type=float, default=1.0, help="seconds of a chunk's forward and backward"
    )
    parser.add_argument("--bandwidth", type=float, default=1.25e9, help="bytes a second of a link")
    given = parser.parse_args()
    size = 4 * given.parameters
    send = size / given.bandwidth
    print(f"{'workers':>8} {'tasks':>7} {'in graph s':>10} {'in tree s':>9} {'step s':>7} {'useful':>7}")
    for workers in given.workers:
        graph = step_graph(workers)
        # Parameters that are in the graph leave by one link; of a scatter who has them sends them on.
        by_graph, by_tree = workers * send, math.ceil(math.log2(workers + 1)) * send
        step = by_tree + simulated(graph, workers, given.handling, given.compute, 4 * send)
        share = given.compute / step
        print(
            f"{workers:8} {len(graph):7} {by_graph:10.2f} {by_tree:9.2f} {step:7.2f} {share:7.0%}", flush=True
        )


if __name__ == "__main__":
    main()
