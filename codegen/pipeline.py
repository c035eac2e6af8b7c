"""The generator, a line a stage: declarations in, files out."""

from __future__ import annotations

from pathlib import Path

from .check.added_kernels import with_kernels
from .check.collect import collect
from .check.cycles import check_cycles
from .check.declarations import check_derivatives, check_operators
from .check.modules import check_modules
from .check.tables import load_tables
from .check.vocabulary import library_vocabulary, vocabulary
from .derive.onnx_forms import with_symbolics
from .model.diagnostics import Report
from .model.operators import Declarations
from .read.libraries import Library, index


def load(
    declarations: Path, runtime: Path, library: Library | None = None, lowered: set[str] | None = None
) -> Declarations:
    """Everything that the folder declares, and a library on top of it.

    ``runtime`` is where the functions that declarations name are looked up; its modules are
    read, never imported.  Raises DeclarationErrors with every mistake that was found. ``lowered`` are the
    checksums of native kernels that are known to be lowered, and become those of these declarations.
    """
    report = Report()
    declared = load_reporting(declarations, runtime, report, library, lowered)
    report.finish()
    return declared


def load_reporting(
    declarations: Path,
    runtime: Path,
    report: Report,
    library: Library | None = None,
    lowered: set[str] | None = None,
) -> Declarations:
    """As ``load``, but mistakes go to ``report``, and entries that have one are left out."""
    native = index(runtime, "native", None)
    own_native = native if library is None else index(runtime, "native", library)
    symbolics = index(runtime, "onnx", None, "symbolics*.py")
    tables = load_tables(declarations, own_native, symbolics, report, library, lowered)
    found = collect(declarations, library, tables, native, own_native, report)
    sources = vocabulary(found.operators.values(), tables, native, symbolics, declarations, runtime, report)
    own = library_vocabulary(sources, library, own_native, declarations, runtime)
    operators, bad = check_operators(found.operators, sources, own, report)
    operators = with_symbolics(operators, tables.primitives.pointwise, sources.symbolics, own.symbolics)
    operators = with_kernels(operators, found.kernels, own, report)
    check_cycles(operators, sources.operators.attributes, report)
    modules = check_modules(found.operators.values(), found.modules, runtime, report)
    derivatives = check_derivatives(found.derivatives, operators, sources, own, report)
    return Declarations(
        operators=tuple(
            sorted((o for o in operators.values() if o.name not in bad), key=lambda o: str(o.name))
        ),
        # Of one base the order of the declarations stays: it numbers the Nodes, MulBackward0 first.
        derivatives=tuple(sorted((d for d in derivatives if d.name not in bad), key=lambda d: d.name.base)),
        scalar_types=tuple(tables.scalar_types.values()),
        backends=tuple(tables.backends.values()),
        tags=tables.tags,
        primitives=tables.primitives.pointwise,
        routines=tables.primitives.routines,
        native_kernels=tables.native_kernels,
        modules=modules,
        library=own.library,
        folder="" if library is None else f"{library.display}/",
    )
