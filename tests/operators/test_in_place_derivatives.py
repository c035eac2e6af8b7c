"""In-place operators whose functional form has no derivative: theirs is zero, or there is none."""

from __future__ import annotations

import pytest

import tengen
from tengen.autograd import forward_ad
from tengen.testing import declared
from tengen.testing.declared import REAL, calls, operators, run, variants
from tengen.testing.samples import Call
from tengen.testing.variants import in_place_variants

NODES = declared.derived().nodes
#: With the functional operator of each.
TRUTHS = {
    v: n
    for n, o in operators().items()
    for v in in_place_variants(n)
    if o.result_kind == "bool" and n not in NODES and any(c.takes(REAL) for c in calls(n))
}
OWN = [v for v in TRUTHS if v in NODES]
CONSTANT = [v for v in TRUTHS if declared.constant_in_place(variants()[v])]


def fitting(variant: str) -> Call:
    """A call whose result goes into its first argument."""
    for call in calls(TRUTHS[variant]):
        values = call.tensors(REAL)
        if (
            call.takes(REAL)
            and values[0].dtype == REAL
            and run(TRUTHS[variant], values).shape == values[0].shape
        ):
            return call
    raise LookupError(variant)


def test_most_classes_have_operators() -> None:
    assert OWN and CONSTANT and not set(OWN) & set(CONSTANT)


@pytest.mark.parametrize("variant", TRUTHS)
def test_gradients_and_tangents_are_zero(variant: str) -> None:
    values = fitting(variant).tensors(REAL)
    leaf = values[0].requires_grad_()
    values[0] = leaf.clone()
    run(variant, values)
    assert values[0].requires_grad
    grad = tengen.autograd.grad(values[0].sum(), leaf, allow_unused=True)[0]
    assert grad is None if variant in CONSTANT else not grad.any()
    with forward_ad.dual_level():
        values = fitting(variant).tensors(REAL)
        values[0] = forward_ad.make_dual(values[0], tengen.ones_like(values[0]))
        run(variant, values)
        tangent = forward_ad.unpack_dual(values[0]).tangent
        assert tangent is not None and not tangent.any()


@pytest.mark.parametrize("variant", OWN)
def test_what_is_compared_with_has_a_gradient(variant: str) -> None:
    values = fitting(variant).tensors(REAL)
    others = [v.requires_grad_() for v in values[1:] if isinstance(v, tengen.Tensor)]
    run(variant, values)
    assert values[0].requires_grad is bool(others)
    for other in others:
        (grad,) = tengen.autograd.grad(values[0].sum(), other)
        assert grad.shape == other.shape and not grad.any()


@pytest.mark.parametrize("variant", OWN)
def test_a_view_is_written_as_its_base(variant: str) -> None:
    values = fitting(variant).tensors(REAL)
    leaf = tengen.stack([values[0].detach()] * 2).requires_grad_()
    base = leaf * 3
    values[0] = base[0]
    run(variant, values)
    base.sum().backward()
    assert leaf.grad is not None and not leaf.grad[0].any() and (leaf.grad[1] == 3).all()


@pytest.mark.parametrize("variant", CONSTANT)
def test_a_leaf_may_be_written_where_there_is_no_derivative(variant: str) -> None:
    values = fitting(variant).tensors(REAL)
    leaf = values[0].requires_grad_()
    product = leaf * leaf
    run(variant, values)
    assert leaf.is_leaf and leaf.requires_grad and leaf._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    values[0] = leaf.view(leaf.shape)  # a view of a leaf as well
    run(variant, values)
    assert leaf._version == 2


@pytest.mark.parametrize("variant", OWN)
def test_a_leaf_may_not_be_written_where_there_is_one(variant: str) -> None:
    values = fitting(variant).tensors(REAL)
    before = values[0].clone()
    values[0].requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        run(variant, values)
    assert (values[0] == before).all() and values[0]._version == 0
