"""Derivatives of pointwise operators near both ends of float32, beside the same in float64.

What an intermediate of float32 loses there, float64 has: where the true derivative is a normal float32, the
one computed in float32 is neither infinite, nor NaN, nor 0; nor is it another number by far, unless the true
one is that, too, of operands that are another by no more than they are rounded by.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.testing import declared
from tengen.testing.declared import calls, operators, run
from tengen.testing.differentiable import recorded

Array = Any
FLOAT32 = np.finfo(np.float32)
EXPONENTS = np.array([-37.0, -30, -25, -20, -10, -3, 0, 3, 10, 20, 25, 30, 37])
#: An operand times one of these is between two numbers of float32 that are next to each other, mostly.
ROUNDED = [1 - 0.4 * float(FLOAT32.eps), 1 + 0.4 * float(FLOAT32.eps)]
NUMBERS = np.concatenate([10.0**EXPONENTS, -(10.0**EXPONENTS)]).astype(np.float32)


def tensors(name: str) -> list[int]:
    """Where required tensors stand."""
    arguments = operators()[name].schema.arguments
    return [i for i, a in enumerate(arguments) if a.is_tensor and a.default is None]


def gradients(name: str, grid: list[Array], kind: Any) -> tuple[Array, list[Array | None]] | None:
    """The values on a grid, and the gradients of their sum; None where the operator has none, or refuses."""
    values = list(calls(name)[0].values)
    for i, a in enumerate(operators()[name].schema.arguments):
        if a.default is not None:
            values[i] = declared.default(a)
    inputs = [tengen.from_numpy(array.astype(kind)).requires_grad_() for array in grid]
    for i, given in zip(tensors(name), inputs, strict=True):
        values[i] = given
    try:
        result = run(name, values)
        result = result[0] if isinstance(result, (tuple, list)) else result
        found = tengen.autograd.grad([result], inputs, [tengen.ones_like(result)], allow_unused=True)
    except (RuntimeError, NotImplementedError):
        return None
    return result.detach().numpy(), [None if g is None else g.numpy() for g in found]


NAMES = [
    n
    for n, o in operators().items()
    if "pointwise" in o.tags
    and not o.name.inplace
    and declared.deterministic(o)
    and recorded(n)
    and len(tensors(n)) in (1, 2, 3)
]


def apart(a: Array, b: Array) -> Array:
    """Where two numbers differ in sign, or by more than a factor of two."""
    return ~((a / 2 < b) & (b < 2 * a) | (2 * a < b) & (b < a / 2))


@pytest.mark.parametrize("name", NAMES)
def test_no_intermediate_leaves_the_range(name: str) -> None:
    count = len(tensors(name))
    grid = [g.ravel() for g in np.meshgrid(*[NUMBERS if count < 3 else NUMBERS[::2]] * count)]
    found, expected = (gradients(name, grid, kind) for kind in (np.float32, np.float64))
    if found is None or expected is None:
        assert found is None and expected is None
        return
    near = [gradients(name, [g.astype(np.float64) * by for g in grid], np.float64) for by in ROUNDED]
    with np.errstate(over="ignore"):
        regular = np.isfinite(expected[0].astype(np.float32))  # elsewhere the result itself is out of range
    for i, (ours, true) in enumerate(zip(found[1], expected[1], strict=True)):
        if ours is None or true is None:
            assert ours is None and true is None
            continue
        normal = regular & (np.abs(true) > FLOAT32.tiny) & (np.abs(true) < FLOAT32.max)
        wild = np.logical_or.reduce([apart(n[1][i], true) for n in near])
        lost = normal & (~(np.isfinite(ours) & (ours != 0)) | (apart(ours.astype(np.float64), true) & ~wild))
        assert not lost.any(), (name, [g[lost][0] for g in grid], ours[lost][0], true[lost][0])


def test_angles_and_areas_at_both_ends() -> None:
    """By mathematics: 1 / sqrt(x * x + 1), and the coordinates over the square of the distance."""
    for size in (1e-30, 1e-25, 1.0, 1e25, 1e37):
        y, x = (tengen.tensor([n * size]).requires_grad_() for n in (3.0, 4.0))
        by_y, by_x = tengen.autograd.grad(tengen.atan2(y, x).sum(), (y, x))
        # A hypotenuse within an ulp, two divisions, the operands' own rounding.
        np.testing.assert_allclose(by_y.item(), 0.16 / size, rtol=8 * FLOAT32.eps)
        np.testing.assert_allclose(by_x.item(), -0.12 / size, rtol=8 * FLOAT32.eps)
    for z in (1e20, -1e20, 1e30 + 1e30j, 3.0 - 1e25j):
        given = tengen.tensor([z], requires_grad=True)
        (found,) = tengen.autograd.grad(tengen.asinh(given).sum().abs(), given)
        np.testing.assert_allclose(abs(found.item()), 1 / abs(z), rtol=16 * FLOAT32.eps)
