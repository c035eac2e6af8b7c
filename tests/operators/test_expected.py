"""What is declared of single inputs: ties, corners, NaN and infinities."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["expected"].operators())
def test_result(name: str) -> None:
    ASPECTS["expected"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["expected gradient"].operators())
def test_gradient(name: str) -> None:
    ASPECTS["expected gradient"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["expected tangent"].operators())
def test_tangent(name: str) -> None:
    """Forward mode multiplies by the gradient that is declared, or by what is declared instead."""
    ASPECTS["expected tangent"].verify(name)
