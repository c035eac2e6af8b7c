"""In-place operators, of which some alone have a derivative: gradients and tangents as in PyTorch."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.testing import declared
from tengen.testing.declared import REAL, calls, operators, run, variants
from tengen.testing.samples import Call
from tengen.testing.variants import in_place_variants

torch = pytest.importorskip("torch")
side = pytest.importorskip("torch_side")
pytestmark = pytest.mark.oracle

PAIRS = [(v, n) for n in operators() for v in in_place_variants(n) if side.overload(v) is not None]
#: What has no derivative keeps the old one in PyTorch, as if nothing had been written: see differences.md.
CONSTANT = [v for v, _ in PAIRS if declared.constant_in_place(variants()[v])]


class Sides:
    """A call of an in-place operator with either library's tensors."""

    def __init__(self, variant: str, call: Call) -> None:
        self.given = [
            (tengen, tengen.from_numpy, lambda values: run(variant, values)),
            (torch, side.from_array, lambda values: side.call(variant, call.operator, values)),
        ]
        self.call = call

    def outcomes(self, probe: Any) -> list[Any]:
        """What a probe finds on either side, or the error there."""
        return [
            side.outcome(probe, library, self.call.tensors(REAL, make=make), write)
            for library, make, write in self.given
        ]


def copied(library: Any, values: list[Any], write: Any) -> Any:
    """Write to a copy of a leaf; the name of the Node, and whether the leaf's gradient is zero."""
    leaf = values[0].requires_grad_()
    values[0] = leaf.clone()
    write(values)
    return history(library, values[0], leaf)


def beside(library: Any, values: list[Any], write: Any) -> Any:
    """Write something that depends on another operand, which requires gradients."""
    others = [v for v in values[1:] if isinstance(v, library.Tensor) and v.is_floating_point()]
    if not others:
        return None
    others[0].requires_grad_()
    write(values)
    return history(library, values[0], others[0])


def history(library: Any, written: Any, leaf: Any) -> Any:
    if not written.requires_grad:
        return "none"
    found = library.autograd.grad(written, leaf, library.ones_like(written), allow_unused=True)[0]
    return "none" if found is None else "zero" if not found.count_nonzero() else "some"


def to_a_leaf(library: Any, values: list[Any], write: Any) -> Any:
    """Write to a leaf."""
    values[0].requires_grad_()
    write(values)
    return values[0].requires_grad, values[0].is_leaf


def dual(library: Any, values: list[Any], write: Any) -> Any:
    """Write to a dual; whether its tangent is zero then."""
    forward = library.autograd.forward_ad
    with forward.dual_level():
        values[0] = forward.make_dual(values[0], library.ones_like(values[0]))
        write(values)
        tangent = forward.unpack_dual(values[0]).tangent
        return "none" if tangent is None else "zero" if not tangent.count_nonzero() else "some"


@pytest.mark.parametrize("probe", [copied, beside, to_a_leaf, dual])
@pytest.mark.parametrize(("variant", "name"), PAIRS)
def test_as_in_pytorch(variant: str, name: str, probe: Any) -> None:
    if variant in CONSTANT and probe in (copied, dual):
        pytest.skip("a difference that is declared")
    for call in calls(name):
        ours, theirs = Sides(variant, call).outcomes(probe)
        if side.failed(theirs) or not fits(name, call):
            continue  # it has fewer derivatives, and writes what does not fit at times
        assert not side.failed(ours) and ours == theirs, (
            f"{call}: {side.described(ours)}, but torch: {theirs}"
        )


def fits(name: str, call: Call) -> bool:
    """Whether what an operator returns has the shape of what its in-place form writes to."""
    values = call.tensors(REAL)
    result = side.outcome(run, name, values)
    return not side.failed(result) and bool(result.shape == values[0].shape)


def test_nodes_of_comparisons_have_their_names() -> None:
    """A Node that an in-place operator alone has is named as in PyTorch."""
    own = [(v, n) for v, n in PAIRS if v in declared.derived().nodes and n not in declared.derived().nodes]
    assert own
    for variant, name in own:
        for call in [c for c in calls(name) if c.takes(REAL)][:1]:
            ours, theirs = Sides(variant, call).outcomes(named)
            assert ours == theirs and ours, f"{variant}: {ours}, but torch: {theirs}"


def named(library: Any, values: list[Any], write: Any) -> str:
    """The name of the Node of a written copy of a leaf."""
    values[0] = values[0].requires_grad_().clone()
    write(values)
    return str(values[0].grad_fn.name())
