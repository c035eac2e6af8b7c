"""Trajectories beside torch's: the same program in both libraries, to rounding."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from optim_programs import CASES, OPTIONS, PROBLEMS, arrays, groups, named, network, parameters, train

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

STEPS = 60
#: A few units in the last place, for numbers of the size of 1.
ROUNDING = {"float32": 2e-6, "float64": 4e-15}


def compare(run: Callable[[ModuleType, list[Any]], Any], dtype: str, seed: int = 0) -> None:
    """Both run from the same parameters; how far rounding may lead is seen from torch, begun beside them."""
    ours = run(tengen, parameters(tengen, dtype, seed))
    theirs = run(torch, parameters(torch, dtype, seed))
    beside = parameters(torch, dtype, seed)
    with torch.no_grad():
        for p in beside:
            p.mul_(1 + ROUNDING[dtype])
    apart = run(torch, beside)
    unit = ROUNDING[dtype]
    bound = 0.0
    for step, states in enumerate(zip(ours, theirs, apart, strict=True)):
        bound = max(bound, *[float(np.abs(b - c).max(initial=0)) for _, b, c in zip(*states, strict=True)])
        for a, b, _ in zip(*states, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=20 * unit + 100 * bound, err_msg=f"step {step}")
    assert bound < 1e-2, "torch's own trajectories lead apart: nothing is compared"


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=named)
def test_trajectory(name: str, options: dict[str, Any], problem: str, dtype: str) -> None:
    """Two groups, all pairs of options."""

    def run(m: ModuleType, params: list[Any]) -> Any:
        made = getattr(m.optim, name)(groups(params, options), **options)
        return train(m, PROBLEMS[problem], params, made, STEPS)

    compare(run, dtype)
