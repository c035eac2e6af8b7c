"""read, parse and check in one call: a folder of declarations to a Declarations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from .check.added_kernels import with_kernels
from .check.cycles import check_cycles
from .check.derivatives import DerivativeChecker
from .check.expand import Declared, expand
from .check.kernels import Sources
from .check.names import OperatorTable
from .check.operators import OperatorChecker
from .check.tables import TABLES, Tables, load_tables
from .derive.onnx_forms import with_symbolic
from .model.diagnostics import Report, suggestion
from .model.operators import Declarations, Derivative, Operator
from .model.schema import OperatorName
from .model.source import Entry, Place
from .parse.schema import SchemaError, parse_name
from .read.entries import KERNELS, MECHANISMS, mechanism_of, read_entries
from .read.fields import words
from .read.functions import FunctionIndex, attributes_of, classes_of
from .read.libraries import Library, index

# Where the attributes of a Tensor, of its shape and of its dtype are written by hand.
_ATTRIBUTE_FILES = (
    "tensor.py", "tensor_base.py", "autograd/tensor_properties.py", "size.py", "scalar_type.py",
    "scalar_type_base.py", "device.py",
)  # fmt: skip
# What shapes, numbers and the metadata of tensors have, wherever they are written.
_PLAIN_ATTRIBUTES = frozenset({
    "shape", "dtype", "ndim", "device", "numel", "is_complex", "is_floating_point", "dim", "size", "index",
    "count", "conjugate", "real", "imag", "stride", "storage_offset",
})  # fmt: skip


def load(declarations_dir: Path, runtime_dir: Path, library: Library | None = None) -> Declarations:
    """Everything that the folder declares, and a library on top of it.

    ``runtime_dir`` is where the functions that declarations name are looked up; its modules are
    read, never imported.  Raises DeclarationErrors with every mistake that was found.
    """
    report = Report()
    declarations = load_reporting(declarations_dir, runtime_dir, report, library)
    report.finish()
    return declarations


def load_reporting(
    declarations_dir: Path, runtime_dir: Path, report: Report, library: Library | None = None
) -> Declarations:
    """As ``load``, but mistakes go to ``report``, and entries that have one are left out."""
    native = index(runtime_dir, "native", library)
    symbolics = index(runtime_dir, "onnx", None, "symbolics*.py")
    tables = load_tables(declarations_dir, native, symbolics, report, library)
    base = f"tengen/{declarations_dir.name}" if library is not None else declarations_dir.name
    own_native = native
    if library is not None:  # what tengen declares does not see the library's functions
        native = index(runtime_dir, "native", None)
    declared, entries, kernels = _read(declarations_dir, base, tables, native, report)
    if library is not None:
        own = _read(library.declarations, library.display, tables, own_native, report, KERNELS)
        named = [_of_library(item, library.name) for item in own[0]]
        declared, entries, kernels = [*declared, *named], [*entries, *own[1]], own[2]
    unique = _unique(declared, report)
    sources = Sources(
        tables=tables,
        native=native,
        composite=index(runtime_dir, "composite", None),
        formulas=index(runtime_dir, "formulas", None),
        symbolics=symbolics,
        operators=_operator_table(unique.values(), report.unread, runtime_dir),
        errors=classes_of(runtime_dir / "errors.py"),
        references=_references(declarations_dir, None),
    )
    own_sources = sources
    if library is not None:
        own_sources = replace(
            sources,
            native=own_native,
            composite=index(runtime_dir, "composite", library),
            formulas=index(runtime_dir, "formulas", library),
            symbolics=index(runtime_dir, "onnx", library, "symbolics*.py"),
            references=_references(declarations_dir, library),
            home=library.display.rpartition("/")[0],
            library=library.name,
        )
    operators, bad = _operators(unique, sources, own_sources, report)
    pointwise = tables.primitives.pointwise
    operators = {
        name: with_symbolic(o, pointwise, own_sources.symbolics if name.namespace else sources.symbolics)
        for name, o in operators.items()
    }
    if kernels:
        operators = with_kernels(operators, kernels, own_sources, report)
    check_cycles(operators, sources.operators.attributes, report)
    derivatives = _derivatives(entries, operators, sources, own_sources, report)
    return Declarations(
        operators=tuple(
            sorted((o for o in operators.values() if o.name not in bad), key=lambda o: str(o.name))
        ),
        # Of one base the order of the declarations stays: it numbers the Nodes, MulBackward0 first.
        derivatives=tuple(sorted((d for d in derivatives if d.name not in bad), key=lambda d: d.name.base)),
        scalar_types=tuple(tables.scalar_types.values()),
        backends=tuple(tables.backends.values()),
        tags=tables.tags,
        primitives=pointwise,
        library=own_sources.library,
        folder="" if library is None else f"{library.display}/",
    )


def _of_library(item: Declared, library: str) -> Declared:
    """A declaration, its operator being the library's."""
    name = replace(item.schema.name, namespace=library)
    return replace(item, schema=replace(item.schema, name=name))


def _read(
    directory: Path, display: str, tables: Tables, native: FunctionIndex, report: Report, *more: str
) -> tuple[list[Declared], list[Entry], list[Entry]]:
    """The operators, the derivatives and the kernels of all files, in the order of the files' names.

    ``more`` are the mechanisms that only a library has.
    """
    declared: list[Declared] = []
    entries: list[Entry] = []
    kernels: list[Entry] = []
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        mechanism = mechanism_of(path)
        if mechanism is None or mechanism not in (*MECHANISMS.values(), "cwrap", *more):
            _known_file(path, display, report)
            continue
        for entry in read_entries(path, f"{display}/{path.name}", mechanism, report):
            if mechanism == "derivatives":
                entries.append(entry)
            elif mechanism == KERNELS:
                kernels.append(entry)
            else:
                operators, derivatives = expand(entry, tables, native, report)
                declared += operators
                entries += derivatives
    return declared, entries, kernels


def _known_file(path: Path, display: str, report: Report) -> None:
    """A YAML file that nothing reads has a misspelt name."""
    if path.suffix != ".yaml" or path.name in TABLES:
        return
    stem = path.name.split(".")[0]
    tables = [name.removesuffix(".yaml") for name in TABLES]
    report.error(
        Place(f"{display}/{path.name}", 1, 1),
        "nothing reads a file of this name",
        expected=f"{', '.join(MECHANISMS)} (.yaml, or .PART.yaml), or {', '.join(tables)} (.yaml)",
        help=suggestion(stem, [*MECHANISMS, *tables]),
    )


def _unique(declared: list[Declared], report: Report) -> dict[OperatorName, Declared]:
    """The operators by name; one that is listed twice, or whose method's name is taken, is reported."""
    result: dict[OperatorName, Declared] = {}
    methods: dict[str, OperatorName] = {}
    functions: dict[str, Place] = {}  # of tengen, which come before a library's
    for item in declared:
        name = item.schema.name
        place = item.source.place if item.source is not None else item.place
        if not name.namespace:
            functions.setdefault(name.function, place)
        elif name.function in functions:
            report.error(
                place,
                f'"{name.function}" is an operator of tengen',
                length=len(name.function),
                expected="another name: formulas could mean either",
                help=f"{KERNELS}.yaml adds kernels to tengen's operators, derivatives.yaml derivatives",
                related=((functions[name.function], "it is declared here"),),
            )
            continue
        if name in result:
            first = result[name]
            related = (
                (first.source.place if first.source is not None else first.place, "it is first listed here"),
            )
            report.error(
                place, f'the operator "{name}" is listed twice', length=len(str(name)), related=related
            )
        elif name.method in methods:
            report.error(
                place,
                f'"{name}" and "{methods[name.method]}" would both be the method {name.method}',
                length=len(str(name)),
                expected="another name or overload",
            )
        else:
            result[name] = item
            methods[name.method] = name
    return result


def _operator_table(declared: Iterable[Declared], unread: Iterable[str], runtime_dir: Path) -> OperatorTable:
    """All functions and methods that operators give, with the variants that autogen adds."""
    silent = Report()
    rows = []
    for item in declared:
        fields = item.fields
        derived = [name.function for name in _autogen(item)]
        variants = (
            frozenset(w for w, _ in words(fields["variants"], silent))
            if "variants" in fields
            else frozenset({"function"})
        )
        rows.append((item.schema, variants, derived))
    attributes = attributes_of(runtime_dir / name for name in _ATTRIBUTE_FILES)
    return OperatorTable(rows, attributes | _PLAIN_ATTRIBUTES, unread)


def _autogen(item: Declared) -> list[OperatorName]:
    """The variants that an entry asks for, so far as they are names; mistakes are reported elsewhere."""
    located = item.fields.get("autogen")
    found = []
    for word, _ in words(located, Report()) if located is not None else ():
        try:
            found.append(parse_name(word))
        except SchemaError:
            continue
    return found


def _operators(
    declared: dict[OperatorName, Declared], sources: Sources, own: Sources, report: Report
) -> tuple[dict[OperatorName, Operator], frozenset[OperatorName]]:
    """The operators, and the names of those that have a mistake."""
    names = {name: item.place for name, item in declared.items()}
    derived = [name for item in declared.values() for name in _autogen(item)]
    checkers = {s.library: OperatorChecker(s, names, derived, report) for s in (sources, own)}
    result: dict[OperatorName, Operator] = {}
    bad: set[OperatorName] = set()
    for name, item in declared.items():
        before = len(report.diagnostics)
        result[name] = checkers[name.namespace].operator(item)
        if len(report.diagnostics) != before:
            bad.add(name)
    return result, frozenset(bad)


def _derivatives(
    entries: list[Entry],
    operators: dict[OperatorName, Operator],
    sources: Sources,
    own: Sources,
    report: Report,
) -> list[Derivative]:
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


def _references(declarations_dir: Path, library: Library | None) -> frozenset[str] | None:
    """The functions of tests/references.py; None where the tests are not at hand."""
    tests = declarations_dir.parent / "tests"
    if not tests.is_dir():
        return None
    index = FunctionIndex(tests, "references*.py")
    if library is not None:
        index.join(library.tests, "tests")
    return frozenset(index.functions)
