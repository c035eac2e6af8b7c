"""Each operator's values against its declared reference, its dtypes and its layouts."""

from __future__ import annotations

import pytest

from tengen.testing import declared
from tengen.testing.aspects import aspects
from tengen.testing.closeness import TOLERANCE

ASPECTS = aspects()


@pytest.mark.parametrize("name", ASPECTS["value"].operators())
def test_value_is_the_references(name: str) -> None:
    ASPECTS["value"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["sample"].operators())
def test_samples_are_taken(name: str) -> None:
    ASPECTS["sample"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["dtypes"].operators())
def test_every_claimed_dtype_computes(name: str) -> None:
    """Each dtype gives the values of the widest one, in the dtype that the declaration says."""
    ASPECTS["dtypes"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["scalars"].operators())
def test_numbers_take_part_as_the_dtype_says(name: str) -> None:
    """Whatever numbers there are among the arguments, a result's array is of the result's dtype."""
    ASPECTS["scalars"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["dtype"].operators())
def test_a_dtype_that_is_asked_for(name: str) -> None:
    ASPECTS["dtype"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["integers"].operators())
def test_integers_give_what_floating_numbers_give(name: str) -> None:
    ASPECTS["integers"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["refused"].operators())
def test_other_dtypes_are_refused(name: str) -> None:
    """A dtype that is not claimed is an error that names the operator, or promotes to one that is."""
    ASPECTS["refused"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["layout"].operators())
def test_layout_does_not_matter(name: str) -> None:
    """Inputs that are not contiguous give the values that contiguous ones give."""
    ASPECTS["layout"].verify(name)


@pytest.mark.parametrize("name", ASPECTS["inputs"].operators())
def test_inputs_are_left_alone(name: str) -> None:
    ASPECTS["inputs"].verify(name)


def test_tolerances_are_of_dtypes() -> None:
    """Every dtype that rounds has a tolerance."""
    inexact = {
        s.dtype for s in declared.declarations().scalar_types if s.category not in ("bool", "integral")
    }
    assert set(TOLERANCE) == inexact
