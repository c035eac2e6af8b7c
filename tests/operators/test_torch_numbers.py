"""Numbers beside integers and 0-d tensors of other dtypes, beside PyTorch."""

from __future__ import annotations

import math
from typing import Any

import pytest

import tengen
from tengen.codegen.model.operators import Operator
from tengen.testing import declared
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import calls, operators, run
from tengen.testing.samples import Call, Random

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
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


#: Beyond the ranges of the integral dtypes, at their ends, between integers, and no numbers at all.
NUMBERS = [
    *(sign * 2**bits + offset for bits in (7, 8, 15, 31) for sign in (1, -1) for offset in (-1, 0, 1)),
    *(0, 3, -3, 2**63 - 1, 1 - 2**63, 2.5, 0.0, -0.5, -3.0, 300.0, 1e10, math.nan, math.inf, -math.inf),
]
INTEGRAL = [tengen.bool, tengen.uint8, tengen.int8, tengen.int16, tengen.int32, tengen.int64]


def given_numbers(operator: Operator) -> dict[int, Call]:
    """For each Scalar argument the first sample with elements that gives it."""
    found: dict[int, Call] = {}
    for call in calls(str(operator.name)):
        sizes = [math.prod(v.shape) for v in call.values if isinstance(v, Random)]
        for place, argument in enumerate(call.arguments):
            given = str(argument.type).rstrip("?") == "Scalar" and call.values[place] is not None
            if given and sizes and all(sizes):
                found.setdefault(place, call)
    return found


def numbers_for(operator: Operator) -> list[Any]:
    """The numbers, without those of the size of the greatest integers where the operator differs there."""
    return [n for n in NUMBERS if "overflow" not in operator.differs or not 1000 < abs(n) < math.inf]


WITH_NUMBERS = {
    n: o
    for n, o in operators().items()
    if side.same_schema(o) and declared.deterministic(o) and not declared.made_beside(o) and given_numbers(o)
}


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_numbers_beside_integers(name: str) -> None:
    """What the dtype cannot hold wraps, or is an error, where it is so in PyTorch."""
    operator = WITH_NUMBERS[name]
    differences = []
    for place, call in given_numbers(operator).items():
        for kind in filter(call.takes, INTEGRAL):
            for number in numbers_for(operator):
                found = difference(operator, call, kind, place, number)
                if found:
                    differences.append(f"{call.arguments[place].name}={number} in {kind}: {found}")
    side.fail_for(differences, operator, "nonfinite")


def difference(operator: Operator, call: Call, kind: Any, place: int, number: Any) -> str:
    """How the outcomes of a call with another number differ; "" where they do not."""
    values = [call.tensors(kind), call.tensors(kind, make=side.from_array)]
    for given in values:
        given[place] = number
    ours = side.outcome(run, str(operator.name), values[0])
    theirs = side.outcome(side.run, operator, values[1])
    if side.failed(ours) and side.failed(theirs):
        return ""
    if side.failed(ours) or side.failed(theirs):
        return f"{side.described(ours)}, but torch: {side.described(theirs)}"
    try:
        for t, e in zip(declared.flat(ours), side.flat(theirs), strict=True):
            assert side.same_dtype(t, e), f"{t.dtype} is not {e.dtype}"
            close(t.numpy(), side.to_array(e), tolerance(operator, t.dtype))
    except AssertionError as error:
        return str(error)
    return ""
