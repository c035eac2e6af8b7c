"""Numbers beside integers and 0-d tensors of other dtypes, beside PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import tengen

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.oracle

CALLS: dict[str, Any] = {
    "add, bools": lambda t: t.add(t.tensor([True, False]), True, alpha=2),
    "add, of bools and numbers": lambda t: t.add(t.tensor([True, False]), 2, alpha=2),
    "add wraps": lambda t: t.add(t.tensor([100], dtype=t.int8), 2, alpha=100),
    "add, unsigned": lambda t: t.add(t.tensor([100], dtype=t.uint8), 2, alpha=-1),
    "add_ wraps": lambda t: t.tensor([100], dtype=t.int8).add_(2, alpha=100),
    "add, alpha too great": lambda t: t.add(t.tensor([100], dtype=t.int8), 2, alpha=300),
    "add, float alpha": lambda t: t.add(t.tensor([1]), 2, alpha=2.5),
    "sub wraps": lambda t: t.sub(t.tensor([-100], dtype=t.int8), 2, alpha=100),
    "sub, unsigned tensors": lambda t: t.sub(t.ones(2, dtype=t.uint8), t.ones(2, dtype=t.uint8), alpha=-1),
    "rsub, unsigned": lambda t: t.rsub(t.tensor([3], dtype=t.uint8), 3, alpha=-1),
    "index_add, unsigned": lambda t: t.ones(2, dtype=t.uint8).index_add(
        0, t.tensor([0]), t.ones(1, dtype=t.uint8), alpha=-1
    ),
    "addcmul, unsigned": lambda t: t.addcmul(*[t.tensor([3], dtype=t.uint8)] * 3, value=-1),
    "addmm, beta too great": lambda t: t.addmm(*[t.ones(2, 2, dtype=t.int8)] * 3, beta=300),
    "threshold, unsigned": lambda t: t.threshold(t.tensor([3], dtype=t.uint8), -1, 2),
    "power of bytes": lambda t: t.tensor([3], dtype=t.uint8) ** -1,
    "power of shorts": lambda t: t.tensor([3], dtype=t.int16) ** -300,
    "power in place": lambda t: t.tensor([3], dtype=t.uint8).pow_(-1),
    "power too great": lambda t: t.tensor([3], dtype=t.int8) ** 300,
    "power of bytes as it may be": lambda t: t.tensor([3], dtype=t.uint8) ** 255,
    "lerp, 0-d weight": lambda t: t.lerp(t.ones(3), t.zeros(3), t.tensor(0.25, dtype=t.float64)),
    "lerp, 0-d integer": lambda t: t.lerp(t.ones(3), t.zeros(3), t.tensor(1)),
    "lerp, 0-d complex": lambda t: t.lerp(t.ones(3), t.zeros(3), t.tensor(1 + 1j)),
    "lerp_, 0-d weight": lambda t: t.ones(3).lerp_(t.zeros(3), t.tensor(0.25, dtype=t.float64)),
    "lerp, weights": lambda t: t.lerp(t.ones(3), t.zeros(3), t.ones(3, dtype=t.float64)),
    "lerp, another end": lambda t: t.lerp(t.ones(3), t.tensor(0.0, dtype=t.float64), t.ones(3)),
}


@pytest.mark.parametrize("name", CALLS)
def test_same_outcome(name: str) -> None:
    """The same values of the same dtype, or an error of the same class."""
    outcomes: list[Any] = []
    for library in (tengen, torch):
        try:
            result = CALLS[name](library)
            outcomes.append((str(result.dtype).rpartition(".")[2], result.tolist()))
        except Exception as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]
