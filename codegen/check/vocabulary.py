"""Check: what the names in declarations may mean: functions of the runtime, operators, attributes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ...ir.factories import FACTORY_FORMS
from ...ir.views import VIEW_FORMS
from ..model.diagnostics import Report
from ..model.metadata import METADATA
from ..model.schema import OperatorName
from ..parse.schema import SchemaError, parse_name
from ..read.fields import words
from ..read.functions import FunctionIndex, attributes_of, classes_of, names_in
from ..read.libraries import Library, index
from ..read.references import reference_files
from .body_kinds import BodyKind, kind_of_body
from .expand import Declared
from .kernels import Sources
from .names import OperatorTable
from .tables import Tables

# The forms that kernels of other operators may ask for, and of which bodies these are.
_FORMS = {VIEW_FORMS: BodyKind.VIEW, FACTORY_FORMS: BodyKind.FACTORY}
# Where the attributes of a Tensor, of its shape and of its dtype are written by hand.
_ATTRIBUTE_FILES = (
    "tensors/tensor.py", "core/tensor_base.py", "tensors/autograd_properties.py", "core/size.py",
    "core/scalar_type.py", "core/scalar_type_base.py", "core/device.py", "tensors/description.py",
)  # fmt: skip
# What shapes, numbers and the metadata of tensors have, wherever they are written.
_PLAIN_ATTRIBUTES = frozenset({*METADATA, "size", "index", "count", "conjugate", "real", "imag"})


def vocabulary(
    declared: Iterable[Declared],
    tables: Tables,
    functions: FunctionIndex,
    symbolics: FunctionIndex,
    declarations: Path,
    runtime: Path,
    report: Report,
) -> Sources:
    """What tengen's own declarations may name."""
    return Sources(
        tables=tables,
        functions=functions,
        composite=index(runtime, "composite", None),
        formulas=index(runtime, "formulas", None),
        symbolics=symbolics,
        operators=_operator_table(declared, report.unread, runtime),
        forms={name: _forms(declared, kind) for name, kind in _FORMS.items()},
        errors=classes_of(runtime / "core" / "errors.py"),
        references=_references(declarations, None),
    )


def _forms(declared: Iterable[Declared], kind: BodyKind) -> frozenset[str]:
    """The forms of operators with such bodies."""
    found = [d.schema for d in declared if kind_of_body(d.schema, d.fields.get("body")) is kind]
    return frozenset([schema.name.method for schema in found])


def library_vocabulary(
    sources: Sources, library: Library | None, functions: FunctionIndex, declarations: Path, runtime: Path
) -> Sources:
    """What a library's declarations may name: its own functions too. Without a library, the same."""
    if library is None:
        return sources
    return replace(
        sources,
        functions=functions,
        composite=index(runtime, "composite", library),
        formulas=index(runtime, "formulas", library),
        symbolics=index(runtime, "onnx", library, "symbolics*.py"),
        references=_references(declarations, library),
        home=library.display.rpartition("/")[0],
        library=library.name,
    )


def _operator_table(declared: Iterable[Declared], unread: Iterable[str], runtime_dir: Path) -> OperatorTable:
    """All functions and methods that operators give, with the variants that autogen adds."""
    silent = Report()
    rows = []
    for item in declared:
        fields = item.fields
        given = {
            key: frozenset(w for w, _ in words(fields[key], silent))
            for key in ("variants", "inplace_variants")
            if key in fields
        }
        own = given.get("variants", frozenset({"function"}))
        variants = {
            name.function: given.get("inplace_variants", own) if name.inplace else own
            for name in autogen_names(item)
        }
        rows.append((item.schema, variants | {item.schema.name.function: own}))
    attributes = attributes_of(runtime_dir / name for name in _ATTRIBUTE_FILES)
    return OperatorTable(rows, attributes | _PLAIN_ATTRIBUTES, unread)


def autogen_names(item: Declared) -> list[OperatorName]:
    """The variants that an entry asks for, so far as they are names; mistakes are reported elsewhere."""
    located = item.fields.get("autogen")
    found = []
    for word, _ in words(located, Report()) if located is not None else ():
        try:
            found.append(parse_name(word))
        except SchemaError:
            continue
    return found


def _references(declarations_dir: Path, library: Library | None) -> frozenset[str] | None:
    """The functions of the tests' references; None where the tests are not at hand."""
    tests = declarations_dir.parent / "tests"
    if not tests.is_dir():
        return None
    folders = [tests] if library is None else [tests, library.tests]
    return names_in(path for folder in folders for path in reference_files(folder))
