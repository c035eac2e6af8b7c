"""``nn.grad``: the gradients of convolutions as functions."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen import nn

GEOMETRIES = [{}, {"stride": 2, "padding": 1, "groups": 2}, {"dilation": 2, "padding": 2}]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=str)
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_they_are_those_of_autograd(dims: int, geometry: dict[str, Any]) -> None:
    groups = geometry.get("groups", 1)
    x = tengen.randn(2, 4, *[6] * dims, dtype=tengen.float64, requires_grad=True)
    weight = tengen.randn(6, 4 // groups, *[3] * dims, dtype=tengen.float64, requires_grad=True)
    out = getattr(nn.functional, f"conv{dims}d")(x, weight, **geometry)
    grad = tengen.randn_like(out)
    for_x, for_weight = tengen.autograd.grad(out, (x, weight), grad)
    found = getattr(nn.grad, f"conv{dims}d_input")(x.shape, weight, grad, **geometry)
    tengen.testing.assert_close(found.detach(), for_x)
    assert found.requires_grad
    found = getattr(nn.grad, f"conv{dims}d_weight")(x, weight.shape, grad, **geometry)
    tengen.testing.assert_close(found.detach(), for_weight)


def test_functional_has_it_too() -> None:
    assert nn.functional.grad is nn.grad
