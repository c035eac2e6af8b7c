"""Tensors on a cluster of two processes of dask.distributed: what is computed there, and what survives."""

from __future__ import annotations

import importlib.util
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen

distributed = pytest.importorskip("distributed", reason="NOT TESTED: dask.distributed is not installed")

import dask  # noqa: E402
import dask.array as da  # noqa: E402

import tengen.dask as td  # noqa: E402

F = tengen.nn.functional
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "out_of_core.py"


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A cluster of two processes with a thread each."""
    options = {"threads_per_worker": 1, "memory_limit": "1GB", "dashboard_address": ":0"}
    before = dict(os.environ)
    # Else each start of a worker, that of one in place of a killed one too, tells this process that products
    # have one thread: what it starts later would heed that.
    with (
        dask.config.set({"distributed.nanny.pre-spawn-environ": {}}),
        distributed.LocalCluster(n_workers=2, **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client
    for name in os.environ.keys() - before.keys():  # a seed of hashes, and the like
        del os.environ[name]


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The example that ``python examples/out_of_core.py`` runs, on more data."""
    spec = importlib.util.spec_from_file_location("out_of_core", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_gradient_and_hessian_of_a_logistic_regression(client: Any, example: ModuleType) -> None:
    rows, labels = example.data(5000, 1024)
    weights, losses = example.newton(rows, labels, 2)
    assert losses[1] < losses[0]
    assert example.difference(weights, rows, labels) < 1e-12


def network(rows: Any, inner: Any, bias: Any, outer: Any) -> Any:
    """Two layers."""
    return F.linear(F.linear(rows, inner, bias).relu(), outer)


def train(rows: Any, labels: Any, steps: int) -> list[float]:
    """The losses of a network, the parameters of which are on the CPU, and go to the batch's device."""
    tengen.manual_seed(0)
    parameters = [tengen.randn(size, dtype=tengen.float64) for size in ((16, 6), (16,), (3, 16))]
    optimiser = tengen.optim.SGD(parameters, lr=0.05, momentum=0.9)
    losses = []
    for _ in range(steps):
        there = [p.to(rows.device).detach().requires_grad_() for p in parameters]
        loss = F.cross_entropy(network(rows, *there), labels)
        found = td.compute(loss, *tengen.autograd.grad(loss, there))
        losses.append(found[0].item())
        for parameter, gradient in zip(parameters, found[1:], strict=True):
            parameter.grad = gradient
        optimiser.step()
    return losses


def test_data_parallel_training_has_the_losses_of_one(client: Any) -> None:
    tengen.manual_seed(1)
    rows, labels = tengen.randn(100, 6, dtype=tengen.float64), tengen.randint(0, 3, (100,))
    alone = train(rows, labels, 4)
    # 100 rows in chunks of 30 have one of 10.
    chunked = train(rows.to("dask", chunks=(30, -1)), labels.to("dask", chunks=30), 4)
    assert alone[3] < alone[0]
    np.testing.assert_allclose(chunked, alone, rtol=1e-12)


def test_a_worker_that_is_killed_in_the_middle(client: Any, tmp_path: Path) -> None:
    mark = str(tmp_path / "killed")

    def made(block: Any, block_info: Any = None) -> Any:
        """Ones; the third chunk kills the first worker that makes it."""
        if block_info[None]["chunk-location"] == (2,) and not os.path.exists(mark):
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return np.ones_like(block)

    ones = da.map_blocks(made, da.zeros(60, chunks=10), dtype=np.float64, meta=np.empty(0))
    x = td.persist(td.from_dask(ones))
    w = tengen.linspace(0, 1, 60, dtype=tengen.float64)
    y = (w.to("dask").requires_grad_() * x).exp()
    np.testing.assert_allclose(td.compute(y.sum()).item(), w.exp().sum().item(), rtol=1e-12)
    assert os.path.exists(mark)


#: A call for each way in which the namespace of Dask does a thing: what the workers get must pickle.
KERNELS = {
    "pointwise": lambda x, i: F.gelu(x) + x.erfinv().nan_to_num() + x.sigmoid(),
    "special": lambda x, i: tengen.special.gammaln(x.abs() + 1) + x.digamma(),
    "reductions": lambda x, i: x.std(1) + x.logsumexp(1) + x.prod(1) + x.norm(dim=1),
    "sort": lambda x, i: x.sort(1, descending=True).values + x.argsort(0),
    "topk": lambda x, i: x.topk(2, 0).values,
    "scan": lambda x, i: x.cumsum(0) + x.cumprod(1) + x.cummax(0).values,
    "gather": lambda x, i: x.gather(0, i[:, None].expand(4, 6)),
    "index": lambda x, i: x[i] + x.index_select(0, i),
    "scatter": lambda x, i: tengen.zeros_like(x).index_add(0, i, x),
    "embedding": lambda x, i: F.embedding(i, x),
    "matmul": lambda x, i: x @ x.T + tengen.einsum("ij,kj->ik", x, x),
    "linalg": lambda x, i: tengen.linalg.inv(x[:, :4] + 9 * tengen.eye(4, device=x.device, dtype=x.dtype)),
    "fft": lambda x, i: tengen.fft.fft(x).abs(),
    "conv": lambda x, i: F.conv1d(x[None], x[:2, None, :3].expand(2, 4, 3), padding=1),
    "pool": lambda x, i: F.max_pool1d(x[None], 2) + F.avg_pool1d(x[None], 2),
    "norms": lambda x, i: F.layer_norm(x, (6,)) + F.softmax(x, 0),
    "losses": lambda x, i: F.cross_entropy(x, i) + F.binary_cross_entropy(x.sigmoid(), x.sigmoid()),
    "shapes": lambda x, i: tengen.cat([x, x.flip(0)]).reshape(6, 8).roll(1, 0).repeat(1, 2),
    "writes": lambda x, i: x.clone().mul_(2).masked_fill_(x > 0, 1),
}


def test_kernels_of_every_kind_run_on_workers(client: Any) -> None:
    tengen.manual_seed(2)
    x, i = tengen.rand(4, 6, dtype=tengen.float64) - 0.5, tengen.tensor([3, 0, 0, 2])
    there = x.to("dask", chunks=((3, 1), (1, 3, 2))), i.to("dask", chunks=3)
    found = td.compute({name: kernel(*there) for name, kernel in KERNELS.items()})
    for name, kernel in KERNELS.items():
        np.testing.assert_allclose(
            found[name].numpy(), kernel(x, i).numpy(), rtol=1e-9, atol=1e-12, err_msg=name
        )


def test_persisted_chunks_are_computed_once_and_stay_on_the_cluster(client: Any) -> None:
    x = td.from_dask(da.random.default_rng().random(50, chunks=10))
    kept = td.persist(x)
    assert td.compute(kept).tolist() == td.compute(kept * 1).tolist()
    assert len(kept._array.dask.layers) == 1 and td.chunks(kept) == ((10,) * 5,)


def test_indices_out_of_bounds_are_told_when_they_are_known(client: Any) -> None:
    x = tengen.arange(12.0).reshape(4, 3).to("dask", chunks=2)
    wrong = x.index_select(0, tengen.tensor([0, 7]).to("dask"))
    with pytest.raises(
        IndexError, match=r"index_select: index 7 is out of bounds for dimension 0 with size 4"
    ):
        td.compute(wrong)
    assert td.compute(x.sum()).item() == 66  # the cluster goes on


def test_a_cluster_that_is_gone() -> None:
    options = {"processes": False, "threads_per_worker": 1, "dashboard_address": ":0"}
    cluster = distributed.LocalCluster(n_workers=1, **options)
    with distributed.Client(cluster):
        lazy = tengen.arange(4.0).to("dask", chunks=2)
        kept = td.persist(lazy * 2)
        assert kept.sum().item() == 12
    cluster.close()
    with pytest.raises(RuntimeError, match=r"compute\(\): the cluster .* is gone.*can be computed elsewhere"):
        td.compute(kept + 1)
    assert td.compute(lazy * 2).tolist() == [0, 2, 4, 6]
