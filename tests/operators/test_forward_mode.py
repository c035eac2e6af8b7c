"""Each operator through dual numbers: tangents, and the tangents of gradients, against differences."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["tangent"].operators())
def test_tangent(name: str) -> None:
    ASPECTS["tangent"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["tangent of gradient"].operators())
def test_tangent_of_gradient(name: str) -> None:
    """Forward over reverse: what Nodes saved has its tangents."""
    ASPECTS["tangent of gradient"].verify(name)


IN_PLACE = dict(ASPECTS["tangent in place"].pairs())


@pytest.mark.parametrize("name", IN_PLACE)
def test_tangent_in_place(name: str) -> None:
    """An in-place variant makes of the tangent what the operator makes of it, where it writes as much."""
    ASPECTS["tangent in place"].verify(IN_PLACE[name], name)
