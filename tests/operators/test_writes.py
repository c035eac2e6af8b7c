"""Writes through aliases of what a Node has saved are seen, for every operator: never a wrong gradient."""

from __future__ import annotations

import re
from typing import Any

import pytest
from sides import TENGEN
from writing import after, double, named, unlike, writable

from tengen.testing.declared import calls, operators, working_dtypes, writes
from tengen.testing.differentiable import inputs_of, recorded

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
