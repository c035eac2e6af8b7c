"""read, parse and check in one call: a folder of declarations to a Declarations."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from .check import OperatorChecker
from .derivatives import DerivativeChecker
from .diagnostics import Report, suggestion
from .dispatch import Sources
from .expand import Declared, expand
from .fields import words
from .kernels import FunctionIndex, attributes_of, classes_of
from .model import Declarations, Derivative, Entry, Operator, OperatorName, Place
from .names import OperatorTable
from .read import MECHANISMS, mechanism_of, read_entries
from .schema import SchemaError, parse_name
from .tables import TABLES, Tables, load_tables

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


def load(declarations_dir: Path, runtime_dir: Path) -> Declarations:
    """Everything that the folder declares.

    ``runtime_dir`` is where the functions that declarations name are looked up; its modules are
    read, never imported.  Raises DeclarationErrors with every mistake that was found.
    """
    report = Report()
    declarations = load_reporting(declarations_dir, runtime_dir, report)
    report.finish()
    return declarations


def load_reporting(declarations_dir: Path, runtime_dir: Path, report: Report) -> Declarations:
    """As ``load``, but mistakes go to ``report``, and entries that have one are left out."""
    native = FunctionIndex(runtime_dir / "native")
    tables = load_tables(declarations_dir, native, report)
    declared, entries = _read(declarations_dir, tables, native, report)
    unique = _unique(declared, report)
    sources = Sources(
        tables=tables,
        native=native,
        composite=FunctionIndex(runtime_dir / "composite"),
        formulas=FunctionIndex(runtime_dir / "formulas"),
        symbolics=FunctionIndex(runtime_dir / "onnx", "symbolics*.py"),
        operators=_operator_table(unique.values(), report.unread, runtime_dir),
        errors=classes_of(runtime_dir / "errors.py"),
        references=_references(declarations_dir),
    )
    operators, bad = _operators(unique, sources, report)
    derivatives = _derivatives(entries, operators, sources, report)
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
    )


def _read(
    directory: Path, tables: Tables, native: FunctionIndex, report: Report
) -> tuple[list[Declared], list[Entry]]:
    """The operators and the derivative entries of all files, in the order of the files' names."""
    declared: list[Declared] = []
    entries: list[Entry] = []
    for path in sorted(directory.iterdir()):
        mechanism = mechanism_of(path)
        if mechanism is None:
            _known_file(path, directory, report)
            continue
        for entry in read_entries(path, f"{directory.name}/{path.name}", mechanism, report):
            if mechanism == "derivatives":
                entries.append(entry)
            else:
                operators, derivatives = expand(entry, tables, native, report)
                declared += operators
                entries += derivatives
    return declared, entries


def _known_file(path: Path, directory: Path, report: Report) -> None:
    """A YAML file that nothing reads has a misspelt name."""
    if path.suffix != ".yaml" or path.name in TABLES:
        return
    stem = path.name.split(".")[0]
    tables = [name.removesuffix(".yaml") for name in TABLES]
    report.error(
        Place(f"{directory.name}/{path.name}", 1, 1),
        "nothing reads a file of this name",
        expected=f"{', '.join(MECHANISMS)} (.yaml, or .PART.yaml), or {', '.join(tables)} (.yaml)",
        help=suggestion(stem, [*MECHANISMS, *tables]),
    )


def _unique(declared: list[Declared], report: Report) -> dict[OperatorName, Declared]:
    """The operators by name; one that is listed twice, or whose method's name is taken, is reported."""
    result: dict[OperatorName, Declared] = {}
    methods: dict[str, OperatorName] = {}
    for item in declared:
        name = item.schema.name
        place = item.source.place if item.source is not None else item.place
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
        derived = []
        for word, _ in words(fields["autogen"], silent) if "autogen" in fields else ():
            try:
                derived.append(parse_name(word).function)
            except SchemaError:
                continue
        variants = (
            frozenset(w for w, _ in words(fields["variants"], silent))
            if "variants" in fields
            else frozenset()
        )
        rows.append((item.schema, variants, derived))
    attributes = attributes_of(runtime_dir / name for name in _ATTRIBUTE_FILES)
    return OperatorTable(rows, attributes | _PLAIN_ATTRIBUTES, unread)


def _operators(
    declared: dict[OperatorName, Declared], sources: Sources, report: Report
) -> tuple[dict[OperatorName, Operator], frozenset[OperatorName]]:
    """The operators, and the names of those that have a mistake."""
    names = {name: item.place for name, item in declared.items()}
    checker = OperatorChecker(sources, names, report)
    result: dict[OperatorName, Operator] = {}
    bad: set[OperatorName] = set()
    for name, item in declared.items():
        before = len(report.diagnostics)
        result[name] = checker.operator(item)
        if len(report.diagnostics) != before:
            bad.add(name)
    return result, frozenset(bad)


def _derivatives(
    entries: list[Entry], operators: dict[OperatorName, Operator], sources: Sources, report: Report
) -> list[Derivative]:
    checker = DerivativeChecker(operators, sources, report)
    places: dict[OperatorName, Place] = {}
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


def _references(declarations_dir: Path) -> frozenset[str] | None:
    """The functions of tests/references.py; None where the tests are not at hand."""
    tests = declarations_dir.parent / "tests"
    return frozenset(FunctionIndex(tests, "references*.py").functions) if tests.is_dir() else None
