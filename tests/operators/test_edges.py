"""Derivatives of each operator where differences say nothing: of nothing, at ties, at NaN and infinities."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["empty derivative"].operators())
def test_of_nothing(name: str) -> None:
    ASPECTS["empty derivative"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["derivative at ties"].operators())
def test_at_ties(name: str) -> None:
    """Forward mode has formulas of its own: they are of the same linear map."""
    ASPECTS["derivative at ties"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["derivative at special numbers"].operators())
def test_at_special_numbers(name: str) -> None:
    """What is declared of single inputs holds at all special numbers, in both modes."""
    ASPECTS["derivative at special numbers"].verify(name)
