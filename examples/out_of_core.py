"""Logistic regression by Newton's method, on more data than the workers' memory holds.

    python examples/out_of_core.py --rows 100000
    python examples/out_of_core.py --rows 2000000 --memory-limit 240MB

starts a cluster of two processes here, and makes the data there, chunk by chunk. Gradient and Hessian are
tengen's, of the loss as it stands. A sample of the rows is computed here, too, dense, and compared. With
``--scheduler tcp://...`` a cluster computes that runs already.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import dask.array as da
from distributed import Client, LocalCluster

import tengen

COLUMNS = 32
TRUTH = tengen.linspace(-1, 1, COLUMNS, dtype=tengen.float64)


def loss(weights: Any, rows: Any, labels: Any) -> Any:
    """The mean logistic loss of labels that are 1 or -1."""
    return tengen.nn.functional.softplus(-labels * (rows @ weights)).mean()


def derivatives(weights: Any, rows: Any, labels: Any) -> tuple[Any, Any, Any]:
    """The loss, its gradient and its Hessian at ``weights``; on lazy tensors nothing is computed yet."""
    at = weights.to(rows.device)
    gradient, value = tengen.func.grad_and_value(loss)(at, rows, labels)
    return value, gradient, tengen.func.hessian(loss)(at, rows, labels)


def data(count: int, chunk: int) -> tuple[Any, Any]:
    """Rows and labels, in chunks that are made when they are needed."""
    rng = da.random.default_rng(0)
    rows = tengen.dask.from_dask(rng.uniform(-1, 1, (count, COLUMNS), chunks=(chunk, COLUMNS)))
    noise = tengen.dask.from_dask(rng.uniform(-1, 1, count, chunks=chunk))
    return rows, tengen.sign(rows @ TRUTH.to(rows.device) + noise)


def newton(rows: Any, labels: Any, steps: int) -> tuple[Any, list[float]]:
    """The weights after some steps of Newton's method from zero, and the loss before each."""
    weights, losses = tengen.zeros(COLUMNS, dtype=tengen.float64), []
    for _ in range(steps):
        value, gradient, hessian = tengen.dask.compute(derivatives(weights, rows, labels))
        weights = weights - tengen.linalg.solve(hessian, gradient)
        losses.append(value.item())
    return weights, losses


def difference(weights: Any, rows: Any, labels: Any) -> float:
    """How far loss, gradient and Hessian of rows on the cluster are from those computed here, at most."""
    there = tengen.dask.compute(derivatives(weights, rows, labels))
    here = derivatives(weights, *tengen.dask.compute(rows, labels))
    return max((a - b).abs().max().item() for a, b in zip(there, here, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--chunk", type=int, default=16_384)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--memory-limit", default="1GB", help="of each of the two workers")
    parser.add_argument("--scheduler", help="the address of a cluster; default: two processes here")
    given = parser.parse_args()
    if given.scheduler is None:
        options = {"threads_per_worker": 1, "memory_limit": given.memory_limit, "dashboard_address": None}
        client = Client(LocalCluster(n_workers=2, **options))
    else:
        client = Client(given.scheduler)
    with client:
        rows, labels = data(given.rows, given.chunk)
        print(f"{rows.nbytes / 1e6:.0f} MB of rows in chunks of {given.chunk}")
        start = time.perf_counter()
        weights, losses = newton(rows, labels, given.steps)
        print(f"losses {losses}, {time.perf_counter() - start:.1f} s")
        sample = slice(0, 2 * given.chunk + 1)
        print(f"from the dense result on a sample: {difference(weights, rows[sample], labels[sample]):.1e}")
    if given.scheduler is None:
        client.cluster.close()


if __name__ == "__main__":
    main()
