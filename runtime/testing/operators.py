"""Checks of whole operators: for programs, and as tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tengen.codegen.model.diagnostics import suggestion
from tengen.codegen.model.operators import Operator

from . import declared
from .aspects import Aspect, Case, aspects


def check_operator(
    name: str, aspect: str | None = None, *, sample: str | None = None, dtype: str | None = None
) -> None:
    """Check an operator by what it declares: its values, dtypes, derivatives, variants, errors ...

    ``name`` is the operator's full name ("mul.Tensor"), ``aspect`` one of the respects that
    ``tengen.testing.aspects.aspects()`` has; by default all are checked. With ``sample`` and ``dtype`` only
    the calls with that text ("[3, 4], dim=1") and in that dtype ("float64") are.

    Raises Failure, an AssertionError, for the first thing that is wrong; LookupError where there is no such
    operator, aspect, or call.
    """
    ran = 0
    for each, case in cases_of(name, aspect):
        if sample in (None, case.call.text) and dtype in (None, case.kind.name):
            ran += 1
            each.check(case)
    if not ran and (aspect or sample or dtype):
        raise LookupError(f"{name} has no such call to check")


def cases_of(name: str, aspect: str | None = None) -> Iterator[tuple[Aspect, Case]]:
    """Every case of an operator, or those in one respect. Raises LookupError for unknown names."""
    operator = find(name)
    every = aspects()
    if aspect is not None and aspect not in every:
        raise LookupError(_unknown("aspect", aspect, every))
    for each in every.values():
        applies = not each.sampled or name in declared.operators()
        if aspect in (None, each.name) and applies and not each.missing(operator):
            yield from ((each, case) for case in each.cases(name))


def find(name: str) -> Operator:
    """The declared operator of a name. Raises LookupError."""
    found = declared.declared_operators().get(name)
    if found is None:
        raise LookupError(_unknown("operator", name, declared.declared_operators()))
    return found


def _unknown(what: str, name: str, known: Any) -> str:
    close = suggestion(name, known)
    return f'no {what} is named "{name}"' + (f": {close}" if close else "")


def unchecked(name: str) -> list[tuple[str, str]]:
    """What of an operator cannot be checked, by aspects' titles, each with the reason."""
    operator = find(name)
    if name not in declared.operators():
        return [("everything", "it declares no samples")]
    reasons = [(aspect.title, aspect.missing(operator)) for aspect in aspects().values()]
    return [(title, reason) for title, reason in reasons if reason]


def operator_tests(prefix: str = "") -> Callable[..., None]:
    """A test for pytest of every declared operator whose name starts with ``prefix``, in every respect.

    One line in a module of a library's tests::

        test_operators = tengen.testing.operator_tests("mylib::")

    makes of each pair of an operator and an aspect a test, ``test_operators[mylib::foo-gradient]``.
    """
    import pytest

    pairs = [
        (name, aspect.name)
        for aspect in aspects().values()
        for name in aspect.operators()
        if name.startswith(prefix)
    ]

    @pytest.mark.parametrize(("name", "aspect"), sorted(pairs))
    def test(name: str, aspect: str) -> None:
        aspects()[aspect].verify(name)

    return test
