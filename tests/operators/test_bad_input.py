"""Bad input: the declared bad calls, and what is wrong for every operator."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["errors"].operators())
def test_declared_errors(name: str) -> None:
    ASPECTS["errors"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["types"].operators())
def test_wrong_types_name_operator_and_argument(name: str) -> None:
    """An object for a tensor is a TypeError that names the function and what came."""
    ASPECTS["types"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["keywords"].operators())
def test_unknown_keyword(name: str) -> None:
    ASPECTS["keywords"].verify(name)
