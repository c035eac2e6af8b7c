"""``tengen.testing``'s checks of operators: what a failure says, and who is to blame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.codegen.model.diagnostics import DeclarationErrors, Report
from tengen.codegen.model.source import Place
from tengen.testing import declared
from tengen.testing.aspects import Case, aspects
from tengen.testing.calls import first_failure
from tengen.testing.causes import Looked
from tengen.testing.closeness import close
from tengen.testing.failure import Failure, Mismatch, Part
from tengen.testing.operators import unchecked
from tengen.testing.verdict import judged, verdict


def test_a_right_operator_passes() -> None:
    tengen.testing.check_operator("sin")
    found = verdict("sin")
    assert not found.failures and found.checks > 50


def test_one_call_of_one_aspect() -> None:
    tengen.testing.check_operator("sin", "gradient", sample="[3, 4]", dtype="float64")
    with pytest.raises(LookupError, match="no such call"):
        tengen.testing.check_operator("sin", "gradient", sample="[3, 5]")


def test_unknown_names() -> None:
    with pytest.raises(LookupError, match='no operator is named "sinn": did you mean "sin"'):
        tengen.testing.check_operator("sinn")
    with pytest.raises(LookupError, match='no aspect is named "gradients": did you mean "gradient"'):
        tengen.testing.check_operator("sin", "gradients")


def test_declarations_with_mistakes_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test says what is wrong with them, at once."""
    reads = []

    def load(*_: Any) -> Any:
        reads.append(1)
        report = Report(sources={"native_functions.yaml": ["- func: sinn"]})
        report.error(Place("native_functions.yaml", 1, 9), "no schema")
        report.finish()

    kept = declared._given
    monkeypatch.setattr(declared, "load", load)
    try:
        declared._given = None
        declared._forget()
        depths = set()
        for _ in range(3):
            for ask in (declared.variants, lambda: tengen.testing.check_operator("sin")):
                with pytest.raises(DeclarationErrors, match="no schema"):
                    ask()
            with pytest.raises(DeclarationErrors, match="no schema") as caught:
                declared.declarations()
            depths.add(len(caught.traceback))
        assert reads == [1]
        assert len(depths) == 1  # the traceback does not grow
    finally:
        declared._given = kept
        declared._forget()
    monkeypatch.undo()
    assert "sin" in declared.operators()


def test_what_cannot_be_checked_has_a_reason() -> None:
    reasons = dict(unchecked("rand"))
    assert reasons["values against the reference"] == "its results are random"


def test_tests_of_a_library() -> None:
    """``operator_tests`` has a case for each operator of the prefix and each aspect that it has."""
    test = tengen.testing.operator_tests("sin")
    (mark,) = (m for m in test.pytestmark if m.name == "parametrize")  # type: ignore[attr-defined]
    pairs = mark.args[1]
    assert ("sin", "gradient") in pairs and ("sinh", "batching") in pairs
    assert all(name.startswith("sin") for name, _ in pairs)
    test("sin", "gradient")


@pytest.fixture
def wrong_reference() -> Iterator[str]:
    """An operator in a declaration with another reference, until the test is done."""
    operators = declared.operators()
    right = operators["sin"]
    assert right.reference is not None
    source = replace(right.reference.source, value="np.sin(self) + self")
    operators["sin"] = replace(right, reference=replace(right.reference, source=source))
    declared.calls.cache_clear()
    yield "sin"
    operators["sin"] = right
    declared.calls.cache_clear()
    first_failure.cache_clear()


def test_a_failure_says_what_and_where(wrong_reference: str) -> None:
    with pytest.raises(Failure) as raised:
        tengen.testing.check_operator(wrong_reference, "value")
    failure = raised.value
    assert (failure.operator, failure.aspect, failure.sample) == ("sin", "value", "[3, 4]")
    assert failure.doubtful == (Part("reference"),)
    assert failure.error is not None and failure.error > 1
    assert [name for name, _ in failure.inputs] == ["self"]
    assert failure.reproduction in str(failure)
    with pytest.raises(Failure):
        eval(failure.reproduction, {"tengen": tengen})


def test_a_derivative_that_agrees_makes_the_reference_wrong(wrong_reference: str) -> None:
    (failure,) = verdict(wrong_reference).failures
    assert failure.part == Part("reference")


def test_consequences_are_not_told() -> None:
    def failure(aspect: str, part: Part) -> Failure:
        return Failure("sin", aspect, part, "wrong")

    def looked(*failures: Failure) -> list[Looked]:
        call = declared.calls("sin")[0]
        passed = [Looked(aspect, Case(call, tengen.float64), None) for aspect in ("gradient", "tangent")]
        return passed + [Looked(f.aspect, Case(call, tengen.float64), f) for f in failures]

    kernel, gradient = Part("kernel", "CPU"), Part("gradient", "self")
    first = failure("value", kernel)
    found = looked(first, failure("gradient", gradient), failure("batching", Part("batching")))
    assert judged("sin", found) == [first]
    assert first.also == ["gradients", "vmap against a loop"]
    failures = [
        failure("gradient", gradient),
        failure("second gradient", gradient),
        failure("tangent", Part("tangent")),
    ]
    assert judged("sin", looked(*failures)) == failures[:1]  # its tangent is made of the gradient
    assert failures[0].also == ["gradients of gradients", "tangents"]


def test_one_part_is_told_once() -> None:
    """Though it shows in several respects that do not explain each other."""
    call = declared.calls("sin")[0]
    failures = [Failure("sin", a, Part("kernel", "CPU"), a) for a in ("value", "dtypes", "integers")]
    found = [Looked(f.aspect, Case(call, tengen.float32), f) for f in failures]
    (shown,) = judged("sin", found)
    assert shown is failures[0] and shown.also == [
        "every dtype that is claimed",
        "integers as floating numbers",
    ]


RELATIONS: list[tuple[Any, str]] = [
    (-1, "the sign is the wrong one throughout"),
    (0, "all of it is zero"),
    (2.5, "it is 2.5 times what it should be"),
]


@pytest.mark.parametrize(("factor", "text"), RELATIONS)
def test_what_wrong_values_have_in_common(factor: float, text: str) -> None:
    right = np.array([[1.0, -2.0], [0.5, 3.0]])
    with pytest.raises(Mismatch) as raised:
        close(factor * right, right, 1e-6)
    assert raised.value.help == text
    assert raised.value.error == pytest.approx(abs(factor - 1) * 3)


def test_a_conjugate_is_told() -> None:
    right = np.array([1 - 2j, 0.5 + 3j])
    with pytest.raises(Mismatch) as raised:
        close(right.conj(), right, 1e-6)
    assert raised.value.help == "it is the conjugate of what it should be"
    with pytest.raises(Mismatch) as raised:
        close(right * 1j, right, 1e-6)
    assert raised.value.help == ""


def test_nan_is_the_worst() -> None:
    with pytest.raises(Mismatch) as raised:
        close(np.array([1.0, 5.0, np.nan]), np.array([1.0, 2.0, 3.0]), 1e-6)
    assert raised.value.index == (2,) and raised.value.count == (2, 3)


def test_every_aspect_names_what_explains_it() -> None:
    """Only earlier ones: a failure is not explained by its consequence."""
    seen: set[str] = set()
    for aspect in aspects().values():
        assert aspect.operators(), aspect.name
        seen.add(aspect.name)
        assert set(aspect.after) <= set(aspects())


def test_a_reference_is_written_once(tmp_path: Path) -> None:
    """Of two of one name one would be used, and nobody would know which."""
    (tmp_path / "references.py").write_text("def half(x):\n    return x / 2\n")
    (tmp_path / "references_more.py").write_text("from math import pi\n\n\ndef twice(x):\n    return 2 * x\n")
    assert sorted(declared._functions_in(tmp_path)) == ["half", "twice"]
    (tmp_path / "references").mkdir()
    (tmp_path / "references" / "halves.py").write_text("def third(x):\n    return x / 3\n")
    assert sorted(declared._functions_in(tmp_path)) == ["half", "third", "twice"]
    (tmp_path / "references" / "halves.py").write_text("def half(x):\n    return 0.5 * x\n")
    with pytest.raises(ValueError, match=r"reference half is in references/halves\.py and in references\.py"):
        declared._functions_in(tmp_path)
