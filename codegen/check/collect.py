"""Check: the entries of all files of a folder, and of a library's, as one kind of declaration."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ..model.diagnostics import Report, suggestion
from ..model.schema import OperatorName
from ..model.source import Entry, Place
from ..read.entries import KERNELS, MECHANISMS, MODULES, mechanism_of, read_entries
from ..read.functions import FunctionIndex
from ..read.libraries import Library
from .expand import Declared, expand
from .foreach import with_foreach
from .tables import TABLES, Tables
from .transposes import with_transposes


@dataclass(frozen=True, slots=True)
class Collected:
    """What files declare: the operators by name, and the entries of derivatives and of other files."""

    operators: dict[OperatorName, Declared]
    derivatives: list[Entry]
    kernels: list[Entry]
    modules: list[Entry]


def collect(
    declarations: Path, display: str, tables: Tables, functions: FunctionIndex, report: Report
) -> Collected:
    """All that tengen declares; ``display`` is the folder as messages show it."""
    declared, others = _read_folder(declarations, display, tables, functions, report, MODULES)
    return Collected(_unique(declared, tables, report), others["derivatives"], [], others[MODULES])


def collect_library(
    library: Library, base: Collected, tables: Tables, functions: FunctionIndex, report: Report
) -> Collected:
    """What a library declares: its operators behind tengen's, and its entries alone."""
    declared, others = _read_folder(library.declarations, library.display, tables, functions, report, KERNELS)
    every = [*base.operators.values(), *(_of_library(item, library.name) for item in declared)]
    return Collected(_unique(every, tables, report), others["derivatives"], others[KERNELS], base.modules)


def _of_library(item: Declared, library: str) -> Declared:
    """A declaration, its operator being the library's."""
    name = replace(item.schema.name, namespace=library)
    transposes = None if item.transposes is None else _of_library(item.transposes, library)
    return replace(item, schema=replace(item.schema, name=name), transposes=transposes)


def _read_folder(
    directory: Path, display: str, tables: Tables, functions: FunctionIndex, report: Report, more: str
) -> tuple[list[Declared], dict[str, list[Entry]]]:
    """The operators of all files, in the order of the files' names, and by mechanism the other entries.

    ``more`` is the mechanism that only tengen, or only a library, has.
    """
    declared: list[Declared] = []
    others: dict[str, list[Entry]] = {"derivatives": [], more: []}
    for path in sorted(directory.iterdir()) if directory.is_dir() else ():
        mechanism = mechanism_of(path)
        if mechanism is None or mechanism not in (*MECHANISMS.values(), "cwrap", more):
            _known_file(path, display, report)
            continue
        for entry in read_entries(path, f"{display}/{path.name}", mechanism, report):
            if mechanism in others:
                others[mechanism].append(entry)
            else:
                operators, derivatives = expand(entry, tables, functions, report)
                declared += [form for each in operators for form in with_foreach(each, report)]
                others["derivatives"] += derivatives
    transposed, derivatives = with_transposes(declared, others["derivatives"])
    others["derivatives"] += derivatives
    return declared + transposed, others


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


def _unique(declared: list[Declared], tables: Tables, report: Report) -> dict[OperatorName, Declared]:
    """The operators by name; one that is listed twice, or whose method's name is taken, is reported."""
    words = {word: s.name for s in tables.scalar_types.values() for word in (s.dtype, *s.aliases)}
    result: dict[OperatorName, Declared] = {}
    methods: dict[str, OperatorName] = {}
    functions: dict[str, Place] = {}  # of tengen, which come before a library's
    for item in declared:
        name = item.schema.name
        place = item.source.place if item.source is not None else item.place
        if name.function in words:
            message = f'"{name.function}" is the scalar type {words[name.function]}'
            report.error(place, message, length=len(name.function), expected="another name")
            continue
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
