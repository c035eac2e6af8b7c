"""The small tables beside the operators: scalar_types, backends, tags and primitives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...ir.expressions import Call, Name, walk
from ...ir.kernels import NativeKernel
from ...ir.routines import FUNCTIONS, Routines
from ..model.diagnostics import Report
from ..model.names import OPERANDS
from ..model.operators import Backend, Formula, Primitive, Rule, ScalarType
from ..model.optimizers import OptimizerUpdate
from ..model.source import Located, Place
from ..parse.formula import parse_formula, place_of
from ..read.fields import check_keys, check_word, known_word, known_words, require_keys, words
from ..read.functions import FunctionIndex
from ..read.keys import Key
from ..read.libraries import Library
from ..read.tables import open_table, table_rows
from .backends import library_backends, load_backends
from .native_kernels import NATIVE_KERNEL_KEYS, LoweringCheck, load_native_kernels
from .onnx_language import onnx_form
from .optimizers import OPTIMIZER_KEYS, REQUIRED, functions_of, load_optimizers
from .routines import load_routines
from .scalar_types import load_scalar_types

TABLES = (
    "scalar_types.yaml",
    "backends.yaml",
    "tags.yaml",
    "primitives.yaml",
    "native_kernels.yaml",
    "optimizers.yaml",
)

_TAG_KEYS = {
    key.name: key
    for key in (
        Key("tag", ("str",), "its name"),
        Key("desc", ("str",), "what it says of an operator"),
        Key("excludes", ("str", "list"), "tags that cannot be beside it"),
    )
}


_PRIMITIVE_KEYS = {
    key.name: key
    for key in (
        Key("pointwise", ("map",), "elementwise functions"),
        Key("native", ("map",), "routines of functions that an array namespace lacks"),
        Key("constants", ("list",), "numbers and markers"),
        Key("array", ("list",), "functions for operators that are not pointwise"),
    )
}


_POINTWISE_KEYS = {
    key.name: key
    for key in (
        Key("arguments", ("number",), "how many arguments it takes"),
        Key("operator", ("str",), "the operator over Tensors that is the same function"),
        Key("symbol", ("str",), "the operator of Python that is the same"),
        Key("helper", ("str",), "the same function of Python numbers, below runtime/formulas"),
        Key("derivative", ("list",), "its derivative by each argument, in x, y, z and result"),
        Key("real", ("bool",), "whether these are derivatives for real arguments only"),
        Key("out", ("bool",), "whether it takes ``out=``, as ufuncs do; true unless said otherwise"),
        Key("costly", ("bool",), "whether an element takes longer to compute than to bring from memory"),
        Key("onnx", ("str",), "the same in ONNX, in x, y and z"),
        Key("native", ("map",), "its routines, by dtype"),
    )
}


@dataclass(frozen=True, slots=True)
class Primitives:
    """What expressions may use of an array namespace, ``xp``."""

    pointwise: Mapping[str, Primitive]
    constants: frozenset[str]
    array: frozenset[str]
    routines: Routines = field(default_factory=dict)  # by function and dtype


@dataclass(frozen=True, slots=True)
class Tables:
    """What the operators' entries refer to."""

    scalar_types: Mapping[str, ScalarType]
    backends: Mapping[str, Backend]
    tags: Mapping[str, str]
    primitives: Primitives
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by tag, those not beside it
    native_kernels: Mapping[str, NativeKernel] = field(default_factory=dict)
    optimizers: tuple[OptimizerUpdate, ...] = ()


def load_tables(
    directory: Path,
    functions: FunctionIndex,
    symbolics: FunctionIndex,
    report: Report,
    lowered: set[str] | None = None,
) -> Tables:
    """Reads the tables; mistakes are reported.

    ``lowered`` are the native kernels that need not be lowered to see whether they can be.
    """
    scalar_types = load_scalar_types(directory, report)
    backends = load_backends(directory, scalar_types, functions, report)
    tags: dict[str, str] = {}
    listed: list[tuple[str, Located]] = []
    for fields, _ in table_rows(directory, "tags.yaml", _TAG_KEYS, ("tag", "desc"), report):
        check_word(fields["tag"], "a word, as pointwise", report)
        tags[fields["tag"].value] = " ".join(fields["desc"].value.split())
        if "excludes" in fields:
            listed.append((fields["tag"].value, fields["excludes"]))
    excluded = {tag: frozenset(known_words(located, tags, "tag", report)) for tag, located in listed}
    primitives = _primitives(directory, scalar_types, symbolics, report)
    check = LoweringCheck(primitives.routines, set() if lowered is None else lowered, report)
    native_kernels = load_native_kernels(
        _rows(directory, "native_kernels.yaml", NATIVE_KERNEL_KEYS, ("kernel", "body"), report),
        primitives.routines,
        check,
        report,
    )
    optimizers = load_optimizers(
        _rows(directory, "optimizers.yaml", OPTIMIZER_KEYS, REQUIRED, report),
        functions_of(primitives.pointwise, {*FUNCTIONS, *primitives.routines}),
        check,
        report,
    )
    return Tables(scalar_types, backends, tags, primitives, excluded, native_kernels, optimizers)


def with_backends(tables: Tables, library: Library, functions: FunctionIndex, report: Report) -> Tables:
    """The tables with the backends of a library, and its kernels."""
    backends = library_backends(library, tables.backends, tables.scalar_types, functions, report)
    return replace(tables, backends=backends)


def _rows(
    directory: Path, name: str, keys: Mapping[str, Key], required: Sequence[str], report: Report
) -> list[tuple[dict[str, Located], Place]]:
    """Those of a table that need not be there."""
    return table_rows(directory, name, keys, required, report) if (directory / name).exists() else []


def _primitives(
    directory: Path, scalar_types: Mapping[str, ScalarType], symbolics: FunctionIndex, report: Report
) -> Primitives:
    root = open_table(directory, "primitives.yaml", report)
    if root is None or not isinstance(root.value, dict):
        return Primitives({}, frozenset(), frozenset())
    fields = check_keys(root.value, _PRIMITIVE_KEYS, "primitives.yaml", report)
    pointwise: dict[str, Primitive] = {}
    rows = fields["pointwise"].value if "pointwise" in fields else {}
    for name, row in rows.items():
        made = _primitive(name, row, symbolics, report)
        if made is not None:
            pointwise[name] = made
    others = fields["native"].value if "native" in fields else {}
    routines = load_routines(rows, others, [s.dtype for s in scalar_types.values()], report)
    pointwise = {name: replace(p, native=routines.get(name, {})) for name, p in pointwise.items()}
    constants, array = (
        frozenset(word for word, _ in words(fields[key], report)) if key in fields else frozenset[str]()
        for key in ("constants", "array")
    )
    return Primitives(pointwise, constants, array, routines)


def _primitive(name: str, row: Located, symbolics: FunctionIndex, report: Report) -> Primitive | None:
    """One elementwise function."""
    if not isinstance(row.value, dict):
        expected = "{arguments: 1, operator: exp, derivative: [result]}"
        report.error(row.place, f'"{name}" is a mapping of keys to values', expected=expected)
        return None
    fields = check_keys(row.value, _POINTWISE_KEYS, f"the primitive {name}", report)
    require_keys(row.value, ("arguments",), _POINTWISE_KEYS, row.place, report)
    if "arguments" not in fields:
        return None
    count = fields["arguments"].value
    partials: list[Formula | None] | None = None
    if "derivative" in fields:
        rows = fields["derivative"]
        if len(rows.value) != count:
            message = f"{name} has {count} arguments and {len(rows.value)} derivatives"
            report.error(rows.place, message, expected=f"{count} expressions")
            return None
        partials = [None if r.value is None else parse_formula(r, report, "derivative") for r in rows.value]
        for formula in partials:
            _check_operands(formula, count, report)
    return Primitive(
        name=name,
        arguments=count,
        operator=fields["operator"].value if "operator" in fields else None,
        symbol=fields["symbol"].value if known_symbol(fields.get("symbol"), report) else None,
        helper=fields["helper"].value if "helper" in fields else None,
        derivative=None if partials is None else tuple(partials),
        real="real" in fields and fields["real"].value,
        out="out" not in fields or fields["out"].value,
        costly="costly" in fields and fields["costly"].value,
        onnx=_onnx(fields.get("onnx"), count, symbolics, report),
    )


def _onnx(located: Located | None, count: int, symbolics: FunctionIndex, report: Report) -> Rule | None:
    """The ONNX form of a primitive."""
    formula = None if located is None else parse_formula(located, report, "ONNX form")
    return None if formula is None else onnx_form(formula, OPERANDS[:count], symbolics, report)


#: The operators of Python's that a primitive may be written by.
SYMBOLS = (
    "+", "-", "*", "/", "**", "%", "//", "&", "|", "^", "-x", "+x", "~x", "==", "!=", "<", "<=", ">", ">=",
)  # fmt: skip


def known_symbol(located: Located | None, report: Report) -> bool:
    """Whether a symbol is given, and one of Python's; another is reported."""
    return located is not None and known_word(str(located.value), located.place, SYMBOLS, "symbol", report)


def _check_operands(formula: Formula | None, count: int, report: Report) -> None:
    """A derivative may name the operands that there are, and the result."""
    if formula is None:
        return
    known = (*OPERANDS[:count], "result")
    called = {id(n.function) for n in walk(formula.tree) if isinstance(n, Call)}
    for node in walk(formula.tree):
        if isinstance(node, Name) and id(node) not in called:
            known_word(node.id, place_of(formula, node), known, "operand", report)
