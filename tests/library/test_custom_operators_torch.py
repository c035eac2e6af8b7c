"""Operators that programs define, beside torch: results, gradients, errors and warnings."""

from __future__ import annotations

import re
import textwrap
import typing
import warnings
from typing import Any

import numpy as np
import pytest
from library_programs import PROGRAMS as MORE_PROGRAMS, SAYS_ITS_OWN
from near import Near
from operator_programs import HEADER, PROGRAMS as OPERATOR_PROGRAMS

import tengen

PROGRAMS = {**OPERATOR_PROGRAMS, **MORE_PROGRAMS}
_kept: list[Any] = []


def outcome(T: Any, name: str) -> dict[str, Any]:
    """What a program does with a module: what it put into ``out``, its error, its warnings."""
    scope: dict[str, Any] = {
        "T": T,
        "Tensor": T.Tensor,
        "np": np,
        "ns": "program_" + re.sub(r"\W", "_", name),
        "seen": [],
        "out": [],
        "kept": _kept,
        **{n: getattr(typing, n) for n in ("List", "Optional", "Sequence", "Tuple")},
    }
    error = None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            text = textwrap.dedent(HEADER) + textwrap.dedent(PROGRAMS[name])
            # Annotations are no strings there, as they are here.
            exec(compile(text, f"<{name}>", "exec", dont_inherit=True), scope)
        except Exception as raised:
            error = (type(raised).__name__, _plain(str(raised)))
    ours = [w for w in told if "autograd kernel" in str(w.message)]
    return {
        "out": described(scope["out"]),
        "error": error,
        "warnings": [(w.category.__name__, str(w.message)[:80]) for w in ours],
    }


def _plain(message: str) -> str:
    """A message in the words of both."""
    message = re.sub(r"\(with implementation in .*?\):", "(with implementation in ...):", message)
    return re.sub(r"\s+", " ", message.replace("torch", "tengen")).strip()


def _node(name: str) -> str:
    return name.removeprefix("torch::autograd::").rstrip("0123456789")


def described(value: Any) -> Any:
    """A value as what both have in common."""
    if hasattr(value, "grad_fn"):
        # Of a product with a number torch's Node has another number.
        history = None if value.grad_fn is None else _node(value.grad_fn.name())
        elements = Near(value.detach().double().numpy(), 1e-5)
        return ("tensor", str(value.dtype).partition(".")[2], elements, value.requires_grad, history)
    if isinstance(value, dict):
        return {k: described(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [type(value).__name__, *[described(v) for v in value]]
    return value if isinstance(value, (int, float, str, type(None))) else repr(value)


@pytest.mark.oracle
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_it_does_with_torch(torch: Any, name: str) -> None:
    expected, found = outcome(torch, name), outcome(tengen, name)
    if name in SAYS_ITS_OWN:
        assert expected["error"] is not None and found["error"] is not None
        expected["error"], found["error"] = expected["error"][0], found["error"][0]
    assert found == expected


def test_what_says_its_own_is_a_program() -> None:
    assert not SAYS_ITS_OWN - PROGRAMS.keys()
    assert not OPERATOR_PROGRAMS.keys() & MORE_PROGRAMS.keys()
