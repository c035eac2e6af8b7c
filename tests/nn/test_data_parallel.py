"""DataParallel: without a GPU the module itself, over several devices what the module gives."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import tengen
from tengen import nn


class Both(nn.Module):
    """Takes tensors in a dict, and gives several."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2)).double()

    def forward(self, x: Any, *, scale: float = 1.0) -> dict[str, Any]:
        found = self.body(x["x"]) * scale
        return {"found": found, "total": found.sum(), "scale": scale}


def test_without_a_gpu_it_is_the_module() -> None:
    module = nn.Linear(3, 2)
    parallel = nn.DataParallel(module)
    x = tengen.randn(5, 3)
    assert parallel.device_ids == [] and tengen.equal(parallel(x), module(x))
    assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
    with pytest.raises(RuntimeError, match="no available devices"):
        nn.parallel.data_parallel(module, x)


@pytest.mark.parametrize("rows", [1, 2, 7])
def test_over_several_devices_it_gives_what_the_module_gives(rows: int) -> None:
    module = Both()
    other = copy.deepcopy(module)
    x = tengen.randn(rows, 3, dtype=tengen.float64)
    whole = other({"x": x}, scale=2.0)
    parts = nn.DataParallel(module, ["cpu", "cpu", "cpu"])({"x": x}, scale=2.0)
    tengen.testing.assert_close(parts["found"], whole["found"])
    assert parts["scale"] == 2.0
    assert parts["total"].shape == ((min(rows, 3),) if rows > 1 else ())
    parts["found"].pow(2).sum().backward()
    whole["found"].pow(2).sum().backward()
    for ours, theirs in zip(module.parameters(), other.parameters(), strict=True):
        tengen.testing.assert_close(ours.grad, theirs.grad)


def test_a_module_without_tensors_among_its_arguments_is_called_once() -> None:
    assert nn.DataParallel(nn.Identity(), ["cpu", "cpu"])(3) == 3


def test_parameters_must_be_on_the_first_device() -> None:
    with pytest.raises(RuntimeError, match=r"on device meta \(device_ids\[0\]\) but weight is on device cpu"):
        nn.DataParallel(nn.Linear(1, 1), ["meta", "cpu"])(tengen.ones(2, 1))


def test_several_processes_are_not_available() -> None:
    with pytest.raises(RuntimeError, match="not available"):
        nn.parallel.DistributedDataParallel(nn.Linear(1, 1))
    assert not isinstance(nn.Linear(1, 1), nn.parallel.DistributedDataParallel)
