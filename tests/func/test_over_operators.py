"""Derivatives of derivatives by transforms, of all differentiable operators and their in-place variants."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.func import grad, hessian, jacrev, jvp
from tengen.testing import declared
from tengen.testing.closeness import tolerance
from tengen.testing.declared import REAL, operators, run
from tengen.testing.differentiable import as_function, cases, inputs_of, recorded
from tengen.testing.samples import Call

pytestmark = [
    pytest.mark.filterwarnings("ignore:Casting complex values to real"),
    pytest.mark.filterwarnings("ignore:Tensor.mH is deprecated"),
]

NAMES = [name for name in operators() if recorded(name)]
#: The in-place variants that are derived, with the operators of which they write the result.
IN_PLACE = {
    str(v.name): str(v.base)
    for v in declared.variants().values()
    if v.kind == "inplace" and str(v.base) in NAMES
}


def first_case(name: str) -> Call:
    """The first call in float64 that has something to differentiate, smoothly; else the test is skipped."""
    for call, kind in cases(name):
        if kind is REAL:
            return call
    pytest.skip("nothing to differentiate in float64")


def total(results: list[Any]) -> Any:
    """A number that curves with each real one among the results."""
    total: Any = 0
    for r in results:
        parts = tengen.view_as_real(r.resolve_conj()) if r.is_complex() else r
        weights = tengen.arange(1, parts.numel() + 1, dtype=REAL).reshape(parts.shape)
        total = total + (parts.sin() * weights / parts.numel()).sum()
    return total


def assert_close(found: Any, expected: Any, name: str) -> None:
    close = 10 * tolerance(operators()[name], REAL)
    tengen.testing.assert_close(found, expected, rtol=close, atol=close, equal_nan=True)


@pytest.mark.parametrize("name", NAMES)
def test_products_with_the_hessian(name: str) -> None:
    """The tangent of the gradient is the gradient of the tangent."""
    function, inputs = as_function(first_case(name), REAL)
    x, rest = inputs[0], inputs[1:]

    def of_x(x: Any) -> Any:
        return total(function(x, *rest))

    v = tengen.cos(tengen.arange(x.numel(), dtype=REAL)).reshape(x.shape).to(x.dtype)
    try:
        found = jvp(grad(of_x), (x,), (v,))[1]
    except NotImplementedError:  # of a part that has no derivative, as is declared
        assert operators()[name].is_composite
        pytest.skip("a part has no derivative")
    assert_close(found, grad(lambda x: jvp(of_x, (x,), (v,))[1])(x), name)


@pytest.mark.parametrize("name", IN_PLACE)
def test_written_into_a_clone(name: str) -> None:
    """Its hessian, and gradients of its tangent, are those of the operator that gives a new tensor."""
    call = first_case(IN_PLACE[name])
    _, *rest = values = call.tensors(REAL)
    if (0, None) not in inputs_of(call, values):
        pytest.skip("what is written over has no gradient")

    def written(x: Any) -> Any:
        return total([run(name, [x.clone(), *rest])])

    def made(x: Any) -> Any:
        return total([run(IN_PLACE[name], [x, *rest])])

    x = values[0]
    second = jacrev(grad(made))(x)
    assert_close(hessian(written)(x), second, IN_PLACE[name])
    v = tengen.cos(tengen.arange(x.numel(), dtype=REAL)).reshape(x.shape)
    product = (second * v).flatten(x.ndim).sum(-1)
    assert_close(grad(lambda x: jvp(written, (x,), (v,))[1])(x), product, IN_PLACE[name])
