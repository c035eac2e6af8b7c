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
    """An object for a tensor, a tensor for a list: a TypeError that names the function and what came."""
    ASPECTS["types"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["keywords"].operators())
def test_unknown_keyword(name: str) -> None:
    ASPECTS["keywords"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["numbers"].operators())
def test_numbers_alone_name_operator_and_argument(name: str) -> None:
    """Numbers for all tensors are a TypeError that names the function and what came."""
    ASPECTS["numbers"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["bools"].operators())
def test_truth_values_are_no_ints(name: str) -> None:
    """A bool for an int, or a list of it for ints, is a TypeError."""
    ASPECTS["bools"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["sizes"].operators())
def test_sizes_that_cannot_be(name: str) -> None:
    """Sizes beyond all memory, and negative ones, are a RuntimeError that names the operator."""
    ASPECTS["sizes"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["dims"].operators())
def test_tensors_without_dimensions(name: str) -> None:
    """A tensor without dimensions in the place of any other is computed with, or refused in our words."""
    ASPECTS["dims"].verify(name)
