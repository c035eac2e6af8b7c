"""Writes through aliases of what a Node has saved are seen, for every operator: never a wrong gradient."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sides import TENGEN
from writing import after, double, named, unlike, writable

import tengen
from tengen.testing.closeness import close, tolerance
from tengen.testing.declared import calls, flat, operators, run, working_dtypes, writes
from tengen.testing.differentiable import inexact, inputs_of, recorded
from tengen.testing.variants import in_place_variants

#: Of what was saved; and of expanded memory, which nothing can be written to.
REFUSED = "modified by an inplace operation|refers to a single memory location"
RECORDED = [n for n, o in operators().items() if recorded(n) and not writes(o)]


def through_an_alias(tensor: Any) -> None:
    """A write that the history does not see, only the memory."""
    double(tensor.detach().view_as(tensor))


@pytest.mark.parametrize("name", RECORDED)
def test_a_write_through_an_alias_is_seen(name: str) -> None:
    """The gradients are those without the write, or the backward pass is an error."""
    for call in calls(name):
        for kind in working_dtypes(call):
            places = inputs_of(call, call.tensors(kind))
            try:
                expected = after(TENGEN, call, kind, places, None)
            except RuntimeError:
                continue  # there is no derivative by all of these: other tests look at that
            for write in writable(TENGEN, call, kind):
                try:
                    found = after(TENGEN, call, kind, places, write, how=through_an_alias)
                except RuntimeError as error:
                    assert re.search(REFUSED, str(error)), f"{call}: {named(call, write)}"
                    continue
                assert not unlike(call, kind, found, expected), f"{call}: {named(call, write)}"


IN_PLACE = [(v, name) for name in RECORDED for v in in_place_variants(name)]


@pytest.mark.parametrize(("variant", "name"), IN_PLACE)
def test_a_backward_pass_goes_through_what_was_written_in_place(variant: str, name: str) -> None:
    """Nothing that the derivative needs is what the operator itself has written over."""
    for call in calls(name):
        kind = working_dtypes(call)[0]
        if not inexact(call.tensors(kind)[0]):
            continue
        values, others = call.tensors(kind), call.tensors(kind)
        if (0, None) not in inputs_of(call, values):
            continue  # another argument alone has a derivative
        leaf, other = values[0].requires_grad_(), others[0].requires_grad_()
        values[0], others[0] = leaf.clone(), other.clone()
        try:
            result = run(variant, values)
        except RuntimeError:
            continue  # the result does not go into the argument
        expected = flat(run(name, others))[0]
        if result.requires_grad and expected.requires_grad:
            cotangent = tengen.ones_like(result)
            (found,) = tengen.autograd.grad(result, leaf, cotangent, allow_unused=True)
            (wanted,) = tengen.autograd.grad(expected, other, cotangent.to(expected.dtype), allow_unused=True)
            assert (found is None) is (wanted is None)
            if found is not None:
                close(found.numpy(), wanted.numpy(), tolerance(call.operator, kind), str(call))
