"""The Meta backend against the CPU: shapes, dtypes and strides without data."""

from __future__ import annotations

import pytest

from tengen.testing.aspects import aspects

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["meta"].operators())
def test_shape_dtype_and_strides(name: str) -> None:
    ASPECTS["meta"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["meta backward"].operators())
def test_backward_on_meta(name: str) -> None:
    """A backward pass runs without data, and gives gradients of the inputs' shapes."""
    ASPECTS["meta backward"].verify(name)
