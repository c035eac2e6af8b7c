"""A training step on 8 virtual devices, data- and model-parallel, beside one device; run by test_jax_mesh.py.

Prints what differs, and where shardings are lost.
"""

from __future__ import annotations

import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import tengen
import tengen.nn.functional as F
from tengen import nn

MESH = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
problems: list[str] = []


def over(*names: str | None) -> NamedSharding:
    """The sharding with these axes of the mesh for the dimensions."""
    return NamedSharding(MESH, PartitionSpec(*names))


class Network(nn.Module):
    """Two layers: columns of the first and rows of the second are spread over the axis ``model``."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(12, 32)
        self.outer = nn.Linear(32, 5)

    def forward(self, rows: Any) -> Any:
        return self.outer(F.gelu(self.inner(rows)))


#: How each parameter is spread.
SPREAD = {
    "inner.weight": over("model", None),
    "inner.bias": over("model"),
    "outer.weight": over(None, "model"),
    "outer.bias": over(None),
}


def step(model: Any, optimiser: Any, rows: Any, labels: Any) -> Any:
    loss = F.cross_entropy(model(rows), labels)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    return loss


def train(spread: bool, compiled: bool, steps: int = 4) -> tuple[list[float], Any, Any]:
    tengen.manual_seed(0)
    model = Network().double().to("jax")
    rows, labels = tengen.randn(64, 12, dtype=tengen.float64), tengen.randint(0, 5, (64,))
    if spread:
        with tengen.no_grad():
            for name, parameter in model.named_parameters():
                parameter.data = tengen.jax.device_put(parameter.data, SPREAD[name])
        rows = rows.to("jax", sharding=over("data", None))
        labels = labels.to("jax", sharding=over("data"))
    else:
        rows, labels = rows.to("jax"), labels.to("jax")
    optimiser = tengen.optim.Adam(model.parameters(), lr=0.01, capturable=True)
    run = tengen.jax.jit(step, donate_argnums=(0, 1)) if compiled else step
    losses = [run(model, optimiser, rows, labels).item() for _ in range(steps)]
    return losses, model, optimiser


def check_sharding(what: str, tensor: Any, wanted: NamedSharding) -> None:
    found = tengen.jax.sharding(tensor)
    if not found.is_equivalent_to(wanted, tensor.dim()):
        problems.append(f"{what}: {found.spec if hasattr(found, 'spec') else found}, not {wanted.spec}")


def check_training() -> None:
    for compiled, steps in ((True, 4), (False, 1)):
        losses, spread, optimiser = train(True, compiled, steps)
        alone, model, _ = train(False, True, steps)
        if compiled and not losses[-1] < losses[0]:
            problems.append(f"nothing is learnt: {losses}")
        if not np.allclose(losses, alone, rtol=1e-10):
            problems.append(f"losses with compiled={compiled}: {losses}, not {alone}")
        for (name, parameter), other in zip(spread.named_parameters(), model.parameters(), strict=True):
            if not np.allclose(parameter.detach().numpy(), other.detach().numpy(), rtol=1e-8, atol=1e-12):
                problems.append(f"{name} differs with compiled={compiled}")
            check_sharding(f"{name}, compiled={compiled}", parameter, SPREAD[name])
            moment = optimiser.state[parameter]["exp_avg"]
            check_sharding(f"exp_avg of {name}, compiled={compiled}", moment, SPREAD[name])


#: Operators that keep the sharding of their first dimension, each in its way.
KEPT = {
    "exp": lambda x: x.exp(),
    "add": lambda x: x + x.sum(1, keepdim=True),
    "mul by a number": lambda x: 2 * x,
    "sum": lambda x: x.sum(1),
    "softmax": lambda x: x.softmax(1),
    "layer_norm": lambda x: F.layer_norm(x, (4,)),
    "matmul": lambda x: x @ tengen.ones(4, 3, device="jax"),
    "transpose": lambda x: x.T.T,
    "cast": lambda x: x.double(),
    "where": lambda x: tengen.where(x > 0, x, 0),
    "clone": lambda x: x.clone(),
    "in place": lambda x: x.clone().mul_(3),
    "gradient": lambda x: tengen.func.grad(lambda t: t.tanh().sum())(x),
}


def check_kept() -> None:
    tengen.manual_seed(1)
    x = tengen.randn(16, 4)
    there = x.to("jax", sharding=over("data", None))
    for name, function in KEPT.items():
        result = function(there)
        check_sharding(name, result, over("data", *[None] * (result.dim() - 1)))
    y = x.to("jax").requires_grad_()
    (tengen.jax.device_put(y, over("data", "model")) ** 2).sum().backward()
    if not np.allclose(y.grad.numpy(), 2 * x.numpy()):
        problems.append("no gradient through device_put")
    constrained = tengen.jax.jit(lambda t: tengen.jax.device_put(t * 2, over(None, "model")))(there)
    check_sharding("device_put under jit", constrained, over(None, "model"))
    batched = tengen.vmap(lambda row: tengen.jax.device_put(row, over("model")))(x.to("jax"))
    check_sharding("device_put under vmap", batched, over(None, "model"))


def check_errors() -> None:
    for wanted, text in (
        (over("data", None, None), "argument 'sharding' does not fit the shape (6, 4)"),
        (over("data", None), "argument 'sharding' does not fit the shape (6, 4)"),
        ("data", "argument 'sharding' must be a jax.Device or a jax.sharding.Sharding, not str"),
    ):
        try:
            tengen.ones(6, 4).to("jax", sharding=wanted)
        except (TypeError, ValueError) as error:
            if text not in str(error):
                problems.append(f"{wanted}: {error}")
        else:
            problems.append(f"{wanted} is no error")


if __name__ == "__main__":
    check_training()
    check_kept()
    check_errors()
    print("\n".join(problems))
