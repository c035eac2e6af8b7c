"""Trajectories beside torch's: the same program in both libraries, to rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optim_programs import CASES, PROBLEMS, groups, named, parameters, train

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

STEPS = 60
TOLERANCE = {"float32": 2e-4, "float64": 1e-9}


def compare(ours: list[list[np.ndarray]], theirs: list[list[np.ndarray]], tolerance: float) -> None:
    """Every parameter after every step; they are of the size of 1."""
    for step, (here, there) in enumerate(zip(ours, theirs, strict=True)):
        for a, b in zip(here, there, strict=True):
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=f"step {step}")


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=named)
def test_trajectory(name: str, options: dict[str, Any], problem: str, dtype: str) -> None:
    """Two groups, all pairs of options."""
    seen = []
    for m in (tengen, torch):
        params = parameters(m, dtype)
        made = getattr(m.optim, name)(groups(params, options), **options)
        seen.append(train(m, PROBLEMS[problem], params, made, STEPS))
    compare(*seen, TOLERANCE[dtype])
