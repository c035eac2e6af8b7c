"""Check: all operators and all derivatives, and which of them have mistakes."""

from __future__ import annotations

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
    declared: dict[OperatorName, Declared], sources: Sources, own: Sources, report: Report
) -> tuple[dict[OperatorName, Operator], frozenset[OperatorName]]:
    """The operators, and the names of those that have a mistake."""
    names = {name: item.place for name, item in declared.items()}
    derived = [name for item in declared.values() for name in autogen_names(item)]
    checkers = {s.library: OperatorChecker(s, names, derived, report) for s in (sources, own)}
    result: dict[OperatorName, Operator] = {}
    bad: set[OperatorName] = set()
    for name, item in declared.items():
        before = len(report.diagnostics)
        result[name] = checkers[name.namespace].operator(item)
        if len(report.diagnostics) != before:
            bad.add(name)
    return result, frozenset(bad)


def check_derivatives(
    entries: list[Entry],
    operators: dict[OperatorName, Operator],
    sources: Sources,
    own: Sources,
    report: Report,
) -> list[Derivative]:
    """The derivatives of all entries, without those that have a mistake."""
    tengens, owns = (DerivativeChecker(operators, s, report) for s in (sources, own))
    places: dict[OperatorName, Place] = {}
    result = []
    for entry in entries:
        before = len(report.diagnostics)
        of_library = own.library and entry.place.file.startswith(f"{own.home}/")
        derivative = (owns if of_library else tengens).derivative(entry)
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
