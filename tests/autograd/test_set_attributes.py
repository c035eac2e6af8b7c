"""Attributes of tensors that are set, as in torch: parts of complex numbers, gradients."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

import tengen


@pytest.mark.parametrize("part", ["real", "imag"])
def test_parts_of_complex_numbers(m: Any, part: str) -> None:
    for value in (1, 2.5, True, m.tensor([3.0, 4.0]), m.tensor(5)):
        z, other = m.zeros(2, dtype=m.complex64), m.zeros(2)
        setattr(z, part, value)
        other[...] = value
        assert getattr(z, part).tolist() == other.tolist()


def test_grad_by_its_other_name(m: Any) -> None:
    p, g = m.ones(2, requires_grad=True), m.ones(2)
    p._grad = g
    assert p.grad is g and p._grad is g
    p._grad = None
    assert p.grad is None and p._grad is None
    p.grad = g
    del p._grad
    assert p.grad is None
    with pytest.raises(RuntimeError):
        p._grad = m.ones(3)


@pytest.mark.parametrize("name", ["linspace", "logspace"])
def test_points_between_tensors_have_no_gradient(m: Any, name: str) -> None:
    end = m.tensor(1.0, requires_grad=True)
    for ends in ((end, 2), (0, end), (end, end)):
        assert not getattr(m, name)(*ends, 3).requires_grad


def test_deprecated_overloads_warn_each_time_if_asked() -> None:
    x = tengen.ones(2)
    tengen.set_warn_always(True)
    try:
        for _ in range(2):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                tengen.add(x, 2, x)  # type: ignore[call-overload]  # the old signature
            assert len(told) == 1
    finally:
        tengen.set_warn_always(False)
