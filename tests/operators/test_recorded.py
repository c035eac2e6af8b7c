"""Dtypes of results and defaults of arguments beside what was recorded of PyTorch, which need not be here."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import recorded
from recorded import INPLACE, TENGEN, UNKNOWN

from tengen.codegen.model.annotations import default_value
from tengen.testing.declared import declared_operators, made_beside, operators, scalar_types

RECORDED = recorded.recorded()
SCALARS = [s.name for s in scalar_types()]


def known(table: str, names: Mapping[str, object]) -> list[str]:
    """The operators that there are of those of a table."""
    return [n for n in RECORDED[table] if n in names]


@pytest.mark.parametrize("name", known("defaults", declared_operators()))
def test_defaults(name: str) -> None:
    """What an argument is that is left out."""
    assert recorded.defaults(name, lambda _, a: default_value(a)) == RECORDED["defaults"][name]


def base_of(name: str) -> Mapping[str, str]:
    """Where the operator differs that a backward one is made beside."""
    base = declared_operators().get(made_beside(operators()[name]))
    return {} if base is None else base.differs


@pytest.mark.parametrize("name", known("dtypes", operators()))
def test_dtypes(name: str) -> None:
    """In each dtype the results of the samples are of the dtypes that they are of there, or are errors."""
    differs = {*operators()[name].differs, *base_of(name)}
    found, expected = (t.split(" ") for t in (recorded.dtypes(TENGEN, name), RECORDED["dtypes"][name]))
    pairs = zip(SCALARS, found, expected, strict=True)
    wrong = [f"{s}: {a}, not {b}" for s, a, b in pairs if a != b and s not in differs and UNKNOWN not in b]
    assert not wrong, wrong


def promotes_alike(name: str) -> bool:
    """Whether an operator, or that of an in-place variant, is there and declares no difference."""
    operator = operators().get(INPLACE.get(name, name))
    return operator is not None and "promotion" not in operator.differs


@pytest.mark.parametrize(
    ("table", "name"),
    [(t, n) for t in ("tensors", "numbers", "in place") for n in RECORDED[t] if promotes_alike(n)],
)
def test_promotion(table: str, name: str) -> None:
    """Operands of each two dtypes give the dtype that they give there, or an error."""
    text, _ = recorded.TABLES[table]
    found, expected = text(TENGEN, name).split(" "), RECORDED[table][name].split(" ")
    for kind, ours, theirs in zip(recorded.DTYPES, found, expected, strict=True):
        assert len(ours) == len(theirs)
        wrong = [i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b and b != UNKNOWN]
        assert not wrong, f"{kind}: {ours}, not {theirs}"


def test_most_operators_are_recorded() -> None:
    """The tables say something of nearly all operators."""
    assert sum(n in RECORDED["dtypes"] for n in operators()) > 0.8 * len(operators())
