"""Each operator's values against its declared reference, its dtypes and its layouts."""

from __future__ import annotations

import numpy as np
import pytest

import tengen
from tengen.codegen.model.operators import Operator
from tengen.core.scalar_type import named
from tengen.testing import declared
from tengen.testing.aspects import Case, aspects
from tengen.testing.closeness import TOLERANCE
from tengen.testing.dtypes import claimed, comparable, widened

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


#: By reduced dtype, the one that it is computed in.
WIDER = {
    named(s.dtype): named(wide.dtype)
    for s in declared.scalar_types()
    for wide in declared.scalar_types()
    if s.category == "reduced" and s.opmath == wide.name
}


def computes_wider(operator: Operator) -> bool:
    """Whether the reduced dtypes of an operator are computed in wider ones, as it is declared."""
    exempt = operator.factory is not None or declared.aliases(operator) or declared.writes(operator)
    return operator.opmath and comparable(operator) and not exempt


def reduced_cases(name: str) -> list[Case]:
    return [case for case in claimed(name) if case.kind in WIDER]


@pytest.mark.parametrize(
    "name", [n for n, o in declared.operators().items() if computes_wider(o) and reduced_cases(n)]
)
def test_reduced_dtypes_are_rounded_once(name: str) -> None:
    """Exactly what the wider dtype gives of the same numbers: the kernel sees no others, and is the same."""
    for case in reduced_cases(name):
        wide = WIDER[case.kind]
        found = declared.flat(declared.run(name, case.values))
        wider = declared.flat(declared.run(name, [widened(v, case.kind, wide) for v in case.values]))
        for t, e in zip(found, wider, strict=True):
            kind = tengen.complex128 if t.is_complex() else tengen.float64
            np.testing.assert_array_equal(t.to(kind).numpy(), e.to(t.dtype).to(kind).numpy(), str(case))


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
    inexact = {s.dtype for s in declared.scalar_types() if s.category not in ("bool", "integral")}
    assert set(TOLERANCE) == inexact
