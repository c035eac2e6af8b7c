"""What has machine code is found out once, and known in later runs; nothing else is."""

from __future__ import annotations

from collections.abc import Mapping

from tengen.codegen.check.lowered import Lowered
from tengen.ir.expressions import Name
from tengen.ir.routines import Routine

ROUTINES: Mapping[str, Mapping[str, Routine]] = {}


def refuse() -> bool:
    raise AssertionError("it is asked again")


def test_what_is_known_is_not_asked_again() -> None:
    answers: set[str] = set()
    first = Lowered(ROUTINES, answers)
    assert first.knows("a", lambda: True) and not first.knows("b", lambda: False)
    second = Lowered(ROUTINES, answers)
    assert second.knows("a", refuse) and not second.knows("b", refuse)
    assert Lowered(ROUTINES, answers).knows("a", refuse)
    assert len(answers) == 1  # what is not asked any more is forgotten


def test_with_other_routines_nothing_is_known() -> None:
    answers: set[str] = set()
    assert Lowered(ROUTINES, answers).knows("first", lambda: True)
    others = {"f": {"float64": Routine(("x",), (("result", Name("x")),), 0.0)}}
    assert not Lowered(others, answers).knows("first", lambda: False)
