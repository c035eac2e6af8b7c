"""Compiled calls of each operator give what the operator gives: its samples, their gradients, all dtypes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from compared import alike

import tengen
from tengen.dispatch.operator import operator as operator_named
from tengen.testing import declared
from tengen.testing.backends import tried
from tengen.testing.samples import Call, CallMaker
from tengen.utils.pytree import tree_flatten, tree_map

pytestmark = pytest.mark.filterwarnings("ignore")

OPERATORS = tried()
MAKER = CallMaker(declared.declarations().scalar_types)
#: Exceptions that say nothing of a function.
MISTAKES = re.compile(r"(Type|Attribute|Key|Name|Index|Value|Assertion|ZeroDivision|UnboundLocal)Error: ")
#: The dtypes of which one sample of each operator is tried; of float32 it is all of them.
OTHERS = ("float64", "float16", "bfloat16", "int64", "bool")


@dataclass
class Tried:
    """An operator on the tensors of a sample."""

    function: Callable[..., Any]
    tensors: list[Any]


def made(name: str, call: Call, kind: Any, needs: bool) -> Tried | None:
    """A sample of an operator as a function of its tensors; None where there is none, or it is an error."""
    values = call.tensors(kind, lambda array: tengen.from_numpy(np.array(array)))
    tensors = [v for v in tree_flatten(list(values))[0] if isinstance(v, tengen.Tensor)]
    if needs:
        for tensor in tensors:
            if tensor.is_floating_point() or tensor.is_complex():
                tensor.requires_grad_()
    operator = operator_named(name)

    def function(*given: Any) -> Any:
        left: Iterator[Any] = iter(given)
        return operator(*tree_map(lambda v: next(left) if isinstance(v, tengen.Tensor) else v, list(values)))

    try:
        tengen.manual_seed(0)
        results = [r for r in tree_flatten(function(*tensors))[0] if isinstance(r, tengen.Tensor)]
    except Exception:
        return None
    if needs and not any(r.requires_grad for r in results):
        return None
    if needs:
        try:
            wanted = [t for t in tensors if t.requires_grad]
            sums = [r.abs().sum() for r in results if r.requires_grad]
            tengen.autograd.grad(sum(sums[1:], sums[0]), wanted, allow_unused=True)
        except (NotImplementedError, RuntimeError):
            return None
    return Tried(function, tensors)


def check(name: str, case: Tried) -> None:
    """Three calls are alike; of operators whose results are whatever memory holds, they are made."""
    operator, compiled = OPERATORS[name], tengen.compile(case.function)
    for _ in range(3):
        tengen.manual_seed(0)
        if "empty" in name or operator.determined:
            compiled(*case.tensors)
        else:
            alike(compiled, case.function, *case.tensors)
    for entry in compiled.entries:  # what is no reason is a mistake of the compiler's
        assert not MISTAKES.match(entry.reason), entry.reason


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_float32(name: str) -> None:
    for sample in OPERATORS[name].samples:
        call = MAKER.call(OPERATORS[name], sample)
        for needs in (False, True):
            if call.takes(tengen.float32) and (case := made(name, call, tengen.float32, needs)):
                check(name, case)


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_other_dtypes(name: str) -> None:
    calls = [MAKER.call(OPERATORS[name], sample) for sample in OPERATORS[name].samples]
    for kind in [getattr(tengen, dtype) for dtype in OTHERS]:
        call = next((c for c in calls if c.takes(kind)), None)
        if call is not None and (case := made(name, call, kind, kind is tengen.float64)):
            check(name, case)


#: Every so many operators are tried within ``vmap``, and once more with machine code that is on disk.
SOME = 12


@pytest.mark.parametrize("name", sorted(OPERATORS)[::SOME])
def test_in_vmap_and_from_the_cache(name: str) -> None:
    for sample in OPERATORS[name].samples:
        call = MAKER.call(OPERATORS[name], sample)
        case = made(name, call, tengen.float32, False) if call.takes(tengen.float32) else None
        if case is None or not case.tensors or OPERATORS[name].determined or "empty" in name:
            continue
        check(name, case)
        check(name, case)
        compiled = tengen.compile(case.function)
        batch = [tengen.stack([t, t]) for t in case.tensors]
        try:
            expected = tengen.func.vmap(case.function)(*batch)
        except (RuntimeError, NotImplementedError, ValueError):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for _ in range(2):
                alike(tengen.func.vmap(compiled), lambda *args, r=expected: r, *batch)
                alike(compiled, case.function, *case.tensors)
        return
