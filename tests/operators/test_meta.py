"""The Meta backend against the CPU: shapes, dtypes and strides without data."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["without data"].operators())
def test_shape_dtype_and_strides(name: str) -> None:
    ASPECTS["without data"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["layouts"].operators())
def test_layouts(name: str) -> None:
    """For inputs of all layouts the results have the strides that they have with data."""
    ASPECTS["layouts"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["backward without data"].operators())
def test_backward_on_meta(name: str) -> None:
    """A backward pass runs without data, and gives gradients of the inputs' shapes."""
    ASPECTS["backward without data"].verify(name)
