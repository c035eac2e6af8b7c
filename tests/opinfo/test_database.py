"""PyTorch's own database of operators, run by torch and by tengen: each operator, in each aspect.

``python dev.py oracle --all`` runs all samples in all dtypes; else the first ones of each operator in two
dtypes. Operators that tengen does not have are skipped, for a reason that expected.yaml gives.
"""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")
aspects = pytest.importorskip("aspects")
comparison = pytest.importorskip("comparison")
database = pytest.importorskip("database")
translation = pytest.importorskip("translation")
pytestmark = pytest.mark.oracle

OPERATORS = database.OPERATORS
torch.set_num_threads(1)


def differences(op: Any, aspect: str) -> dict[str, list[str]]:
    """By the dtypes in which an operator was compared, the differences, save what cannot be compared."""
    found: dict[str, list[str]] = {}
    reasons = set()
    for question in aspects.ASPECTS[aspect](op):
        try:
            wrong = comparison.differing(question)
        except translation.NotComparable as kind:
            reasons.add(str(kind))
            continue
        if wrong is not None:
            here = found.setdefault(comparison.name(question.case.dtype), [])
            here += [f"{question.what} {question.case}: {wrong}"] if wrong else []
    if not found:
        pytest.skip(f"not comparable: {', '.join(sorted(reasons))}" if reasons else "nothing to compare")
    return found


@pytest.mark.parametrize(
    ("name", "aspect"),
    [
        pytest.param(name, aspect, id=f"{name}-{aspect}")
        for aspect in aspects.ASPECTS
        for name in (database.SPARSE if aspect == "sparse" else OPERATORS)
    ],
)
def test_same(name: str, aspect: str) -> None:
    op = OPERATORS[name]
    try:
        found = differences(op, aspect)
    except translation.Absent as absent:
        reason = database.expectation(op, database.ABSENT, "")
        assert reason, f"absent: {absent}"
        pytest.skip(f"absent: {absent}; {reason.reason}")
    wrong = []
    for dtype, here in found.items():
        expected = database.expectation(op, aspect, dtype)
        if expected is not None:
            missed = database.ALL and not here and not expected.sometimes
            assert not missed, f"a difference is expected in {dtype}, but there is none: {expected.reason}"
        elif not database.is_declared(op, aspect, dtype):
            wrong += here
    assert not wrong, f"{len(wrong)} differ:\n" + "\n".join(wrong[:6])


def test_expected_differences_are_of_operators() -> None:
    assert set(database.expected()) <= set(OPERATORS)
    named = {a for found in database.expected().values() for one in found for a in one.aspects}
    assert named <= {*aspects.ASPECTS, database.ABSENT}


def test_what_is_expected_to_be_absent_is() -> None:
    for name, found in database.expected().items():
        if any(database.ABSENT in one.aspects for one in found):
            with pytest.raises(translation.Absent):
                translation.Translator().value(OPERATORS[name].op)
