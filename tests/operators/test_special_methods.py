"""Python's operators on tensors are NumPy's on arrays: the ``operators`` key of the declarations."""

from __future__ import annotations

import operator as python
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing.closeness import close
from tengen.testing.declared import calls, operators, working_dtypes

#: The declared operator of each special method.
SPECIAL = {method: name for name, o in operators().items() for method in o.operators}
#: What Python does for a method of two operands; those with an r or i before it follow.
BINARY = {
    "add": python.add,
    "sub": python.sub,
    "mul": python.mul,
    "truediv": python.truediv,
    "floordiv": python.floordiv,
    "mod": python.mod,
    "pow": python.pow,
    "matmul": python.matmul,
    "and": python.and_,
    "or": python.or_,
    "xor": python.xor,
    "lshift": python.lshift,
    "rshift": python.rshift,
    "eq": python.eq,
    "ne": python.ne,
    "lt": python.lt,
    "le": python.le,
    "gt": python.gt,
    "ge": python.ge,
}
UNARY = {"neg": python.neg, "pos": python.pos, "abs": python.abs, "invert": python.invert}


def methods(before: str, table: Any) -> list[str]:
    """The declared special methods of a form: ``__rsub__`` for "r"."""
    return [m for m in SPECIAL if m.strip("_").startswith(before) and m.strip("_")[len(before) :] in table]


def operands(method: str) -> tuple[Any, Any]:
    """Two arrays: those of the declared sample, or its one and small numbers."""
    call = calls(SPECIAL[method])[0]
    found = [v for v in call.arrays(working_dtypes(call)[0]) if isinstance(v, np.ndarray)]
    a = found[0]
    small = np.asarray(1 + np.arange(a.size).reshape(a.shape) % 3).astype(a.dtype)
    return a, found[1] if len(found) > 1 else small


def agrees(found: Any, expected: Any, method: str) -> None:
    """A tensor's values are an array's."""
    close(found.numpy(), expected, 1e-12, method)


@pytest.mark.parametrize("method", methods("", UNARY))
def test_unary(method: str) -> None:
    function = UNARY[method.strip("_")]
    a, _ = operands(method)
    agrees(function(tengen.from_numpy(a)), function(a), method)


@pytest.mark.parametrize("method", methods("", BINARY))
def test_binary(method: str) -> None:
    function = BINARY[method.strip("_")]
    a, b = operands(method)
    agrees(function(tengen.from_numpy(a), tengen.from_numpy(b)), function(a, b), method)
    if function is not python.matmul:
        agrees(function(tengen.from_numpy(a), 2), function(a, 2), method)


@pytest.mark.parametrize("method", methods("r", BINARY))
def test_reflected(method: str) -> None:
    function = BINARY[method.strip("_")[1:]]
    a, b = operands(method)
    if function is python.matmul:
        agrees(getattr(tengen.from_numpy(b), method)(tengen.from_numpy(a)), function(a, b), method)
    else:
        agrees(function(2, tengen.from_numpy(a)), function(2, a), method)


@pytest.mark.parametrize("method", methods("i", BINARY))
def test_in_place(method: str) -> None:
    function = BINARY[method.strip("_")[1:]]
    a, b = operands(method)
    target = tengen.from_numpy(a.copy())
    memory = target.data_ptr()
    result = getattr(target, method)(tengen.from_numpy(b))
    assert result is target and target.data_ptr() == memory
    agrees(result, function(a, b), method)


def test_every_special_method_is_tested() -> None:
    forms = [*methods("", UNARY), *methods("", BINARY), *methods("r", BINARY), *methods("i", BINARY)]
    assert set(forms) == set(SPECIAL)
