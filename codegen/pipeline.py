"""The generator, a line a stage: declarations in, files out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .check.added_kernels import with_kernels
from .check.collect import Collected, collect, collect_library
from .check.cycles import check_cycles
from .check.declarations import check_derivatives, check_operators
from .check.modules import check_modules
from .check.tables import Tables, load_tables, with_backends
from .check.vocabulary import library_vocabulary, vocabulary
from .derive.onnx_forms import with_symbolics
from .model.diagnostics import Report
from .model.operators import Declarations, Derivative, Operator
from .read.libraries import Library, index


@dataclass(frozen=True, slots=True)
class Base:
    """What tengen declares, as it was read, which a library stands on."""

    tables: Tables
    collected: Collected
    declared: Declarations


def load(
    declarations: Path,
    runtime: Path,
    library: Library | None = None,
    lowered: set[str] | None = None,
    base: Base | None = None,
) -> Declarations:
    """Everything that the folder declares, and a library on top of it.

    ``runtime`` is where the functions that declarations name are looked up; its modules are
    read, never imported.  Raises DeclarationErrors with every mistake that was found. ``lowered`` are the
    checksums of native kernels that are known to be lowered, and become those of these declarations. ``base``
    is what the folder declares, where ``load_base`` has read it.
    """
    report = Report()
    declared = load_reporting(declarations, runtime, report, library, lowered, base)
    report.finish()
    return declared


def load_base(declarations: Path, runtime: Path, lowered: set[str]) -> Base:
    """What tengen declares, for libraries. Raises what ``load`` does."""
    report = Report()
    base = _base(declarations, runtime, _below(declarations), report, lowered)
    report.finish()
    return replace(base, collected=replace(base.collected, derivatives=[]))  # none asks for these again


def load_reporting(
    declarations: Path,
    runtime: Path,
    report: Report,
    library: Library | None = None,
    lowered: set[str] | None = None,
    base: Base | None = None,
) -> Declarations:
    """As ``load``, but mistakes go to ``report``, and entries that have one are left out."""
    if library is None:
        return _base(declarations, runtime, declarations.name, report, lowered).declared
    base = base or _base(declarations, runtime, _below(declarations), report, lowered)
    return _with_library(base, declarations, runtime, library, report)


def _below(declarations: Path) -> str:
    """The folder of tengen's declarations as messages to a library show it."""
    return f"tengen/{declarations.name}"


def _base(declarations: Path, runtime: Path, display: str, report: Report, lowered: set[str] | None) -> Base:
    functions = index(runtime, "kernels", None)
    symbolics = index(runtime, "onnx", None, "symbolics*.py")
    tables = load_tables(declarations, functions, symbolics, report, lowered)
    found = collect(declarations, display, tables, functions, report)
    sources = vocabulary(
        found.operators.values(), tables, functions, symbolics, declarations, runtime, report
    )
    operators, bad = check_operators(found.operators, sources, report)
    operators = with_symbolics(operators, tables.primitives.pointwise, symbolics)
    check_cycles(operators, sources.operators.attributes, report)
    modules = check_modules(found.operators.values(), found.modules, runtime, report)
    derivatives = check_derivatives(found.derivatives, operators, sources, {}, report)
    declared = Declarations(
        operators=_sorted(o for name, o in operators.items() if name not in bad),
        derivatives=_by_base(d for d in derivatives if d.name not in bad),
        scalar_types=tuple(tables.scalar_types.values()),
        backends=tuple(tables.backends.values()),
        tags=tables.tags,
        primitives=tables.primitives.pointwise,
        routines=tables.primitives.routines,
        native_kernels=tables.native_kernels,
        optimizers=tables.optimizers,
        modules=modules,
    )
    return Base(tables, found, declared)


def _with_library(
    base: Base, declarations: Path, runtime: Path, library: Library, report: Report
) -> Declarations:
    functions, own_functions = index(runtime, "kernels", None), index(runtime, "kernels", library)
    symbolics = index(runtime, "onnx", None, "symbolics*.py")
    tables = with_backends(base.tables, library, own_functions, report)
    found = collect_library(library, base.collected, tables, own_functions, report)
    sources = vocabulary(
        found.operators.values(), tables, functions, symbolics, declarations, runtime, report
    )
    own = library_vocabulary(sources, library, own_functions, declarations, runtime)
    checked, bad = check_operators(found.operators, own, report)
    checked = with_symbolics(checked, tables.primitives.pointwise, own.symbolics)
    operators = {o.name: o for o in base.declared.operators} | checked
    operators = with_kernels(operators, found.kernels, own, report)
    check_cycles(operators, sources.operators.attributes, report)
    modules = check_modules(found.operators.values(), found.modules, runtime, report)
    known = {d.name: d.place for d in base.declared.derivatives}
    derivatives = check_derivatives(found.derivatives, operators, own, known, report)
    return replace(
        base.declared,
        operators=_sorted(o for name, o in operators.items() if name not in bad),
        derivatives=_by_base([*base.declared.derivatives, *(d for d in derivatives if d.name not in bad)]),
        backends=tuple(tables.backends.values()),
        modules=modules,
        library=own.library,
        folder=f"{library.display}/",
    )


def _sorted(operators: Iterable[Operator]) -> tuple[Operator, ...]:
    return tuple(sorted(operators, key=lambda o: str(o.name)))


def _by_base(derivatives: Iterable[Derivative]) -> tuple[Derivative, ...]:
    """Of one base the order of the declarations stays: it numbers the Nodes, MulBackward0 first."""
    return tuple(sorted(derivatives, key=lambda d: d.name.base))
