"""What a kernel of Python's has computed stays computed, whatever comes after it in a fast path."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

import pytest

import tengen
from tengen.kernels import implicit_gradients, pointwise, special


def calls_of(code: CodeType, program: Callable[[], object]) -> int:
    """How often a function runs while the program does."""
    found = 0

    def note(frame: FrameType, event: str, _: Any) -> None:
        nonlocal found
        found += event == "call" and frame.f_code is code

    sys.setprofile(note)
    try:
        program()
    finally:
        sys.setprofile(None)
    return found


KERNELS = [
    (tengen.digamma, special.polygamma),
    (lambda x: x**3.5, pointwise.pow_scalar),
    (tengen._standard_gamma, implicit_gradients.standard_gamma_grad),
]


@pytest.mark.parametrize("operator, kernel", KERNELS)
@pytest.mark.parametrize("size", [1, 100, 5000])
@pytest.mark.parametrize("expanded", [False, True])
def test_a_gradient_asks_its_kernel_once(operator: Any, kernel: Any, size: int, expanded: bool) -> None:
    """Also of gradients that the machine's own loops do not take: long ones, and expanded ones."""
    x = tengen.rand(size, dtype=tengen.float64).add(0.5).requires_grad_()
    y = operator(x)
    grad = tengen.ones((), dtype=tengen.float64).expand(size) if expanded else tengen.ones_like(x)
    assert calls_of(kernel.__code__, lambda: y.backward(grad, retain_graph=True)) == 1
    found = x.grad
    x.grad = None
    with tengen.profiler.profile():  # which has Python's functions run
        y.backward(grad)
    assert tengen.equal(found, x.grad)
