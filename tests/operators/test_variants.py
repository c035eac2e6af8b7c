"""In-place and out variants against the functional operator; views against memory."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize(("name", "base"), ASPECTS["in place"].pairs())
def test_in_place_is_the_functional_result(name: str, base: str) -> None:
    ASPECTS["in place"].verify(base, name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["leaf"].pairs())
def test_in_place_on_a_leaf_is_refused(name: str, base: str) -> None:
    ASPECTS["leaf"].verify(base, name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["out"].pairs())
def test_out_is_the_functional_result(name: str, base: str) -> None:
    ASPECTS["out"].verify(base, name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["out gradients"].pairs())
def test_out_refuses_gradients(name: str, base: str) -> None:
    ASPECTS["out gradients"].verify(base, name)


@pytest.mark.parametrize("name", ASPECTS["views"].operators())
def test_views_share_memory(name: str) -> None:
    ASPECTS["views"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["own memory"].operators())
def test_results_have_their_own_memory(name: str) -> None:
    """A result that is no view shares memory with no input."""
    ASPECTS["own memory"].verify(name)


@pytest.mark.parametrize(("name", "base"), ASPECTS["views in place"].pairs())
def test_views_in_place(name: str, base: str) -> None:
    """The tensor takes the shape, strides and place in memory that the view has."""
    ASPECTS["views in place"].verify(base, name)
