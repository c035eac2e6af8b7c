"""Check: all operators and all derivatives, and which of them have mistakes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model.diagnostics import Report
from ..model.operators import Derivative, Operator
from ..model.schema import OperatorName
from ..model.source import Entry, Place
from .derivatives import DerivativeChecker
from .expand import Declared
from .kernels import Sources
from .operators import OperatorChecker
from .vocabulary import autogen_names


def check_operators(
    declared: Mapping[OperatorName, Declared], sources: Sources, report: Report
) -> tuple[dict[OperatorName, Operator], frozenset[OperatorName]]:
    """The operators that these sources are of, and the names of those that have a mistake.

    ``declared`` are all that there are: of a library's tengen's, too.
    """
    names = {name: item.place for name, item in declared.items()}
    derived = [name for item in declared.values() for name in autogen_names(item)]
    checker = OperatorChecker(sources, names, derived, report)
    result: dict[OperatorName, Operator] = {}
    bad: set[OperatorName] = set()
    for name, item in declared.items():
        if name.namespace == sources.library:
            before = len(report.diagnostics)
            result[name] = checker.operator(item)
            if len(report.diagnostics) != before:
                bad.add(name)
    return result, frozenset(bad)


def check_derivatives(
    entries: Iterable[Entry],
    operators: dict[OperatorName, Operator],
    sources: Sources,
    known: Mapping[OperatorName, Place],
    report: Report,
) -> list[Derivative]:
    """The derivatives of entries, without those that have a mistake; ``known`` are those that there are."""
    checker = DerivativeChecker(operators, sources, report)
    places = dict(known)
    result = []
    for entry in entries:
        before = len(report.diagnostics)
        derivative = checker.derivative(entry)
        if derivative is None:
            continue
        place = entry.fields["name"].place
        if derivative.name in places:
            report.error(
                place,
                f"{derivative.name} has two entries",
                length=len(str(derivative.name)),
                related=((places[derivative.name], "the first is here"),),
            )
        places.setdefault(derivative.name, place)
        if len(report.diagnostics) == before:
            result.append(derivative)
    return result
