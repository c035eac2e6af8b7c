"""What the fuzzer has found stays mended; and one batch of programs, always the same.

``python dev.py fuzz`` tries new ones, as CI does for a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from checks import CHECKS, ORACLE, Finding, check
from fuzz import batch
from pinned import PINNED
from programs import Program, Step, Wire

import tengen


@pytest.mark.parametrize("what", [w for w, (name, _) in PINNED.items() if name in CHECKS])
def test_pinned(what: str) -> None:
    name, program = PINNED[what]
    assert check(name, program), "the check says nothing of the program any more"


@pytest.mark.oracle
@pytest.mark.parametrize("what", [w for w, (name, _) in PINNED.items() if name in ORACLE])
def test_pinned_beside_torch(what: str) -> None:
    pytest.importorskip("torch")
    name, program = PINNED[what]
    assert check(name, program), "the check says nothing of the program any more"


@pytest.mark.filterwarnings("ignore:Casting complex values to real")  # which some programs do
def test_a_batch() -> None:
    seen = Counter[str]()
    batch(0, [*CHECKS], 25, seen)
    assert all(seen[name] for name in CHECKS)


@pytest.mark.oracle
def test_a_batch_beside_torch() -> None:
    pytest.importorskip("torch")
    seen = Counter[str]()
    batch(0, [*ORACLE], 60, seen)
    assert seen["alike"]


WIRED = Step("mul.Tensor", "[3, 4], [3, 4]", "call", (((1, None), Wire(0, "transposed", 0)),))
SMALL = Program("float64", (Step("exp", "[3, 4]"), WIRED))
SOME = iter(range(1, 1_000_000))

#: By check what is wrong with a kernel, or its derivative, that it sees: what is added to the result.
MISTAKES: dict[str, Callable[[tengen.Tensor], Any]] = {
    "repeated": lambda x: next(SOME) * 1e-13,
    "strided": lambda x: 0.0 if x.is_contiguous() else 0.25,
    "batched": lambda x: 0.25 * (x.ndim - 2),
    "numeric": lambda x: 0.25 * (x - x.detach()),
    "second": lambda x: 0.25 * (x - x.detach()).square(),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check(name, SMALL) and eval(repr(SMALL)) == SMALL
    kind = type(tengen.ones((), dtype=tengen.float64)._type)
    right = kind.exp
    monkeypatch.setattr(kind, "exp", lambda T, x: right(T, x) + MISTAKES[name](x))
    with pytest.raises(Finding, match=r"r1 = mul\.Tensor"):
        check(name, SMALL)
