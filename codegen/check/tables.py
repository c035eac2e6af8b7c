"""The small tables beside the operators: scalar_types, backends, tags and primitives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..ir.expressions import Call, Name, walk
from ..lower.scalars import Programs
from ..model.diagnostics import Report
from ..model.kernels import NativeKernel
from ..model.names import CATEGORIES, LAYOUTS, OPERANDS, STRIDED
from ..model.operators import Backend, Formula, Primitive, Program, Rule, ScalarType
from ..model.source import Located, Place
from ..parse.formula import parse_formula, place_of
from ..read.entries import read_text, read_yaml
from ..read.fields import check_keys, known_word, known_words, length_of_scalar, require_keys, words
from ..read.functions import ABSOLUTE, FunctionIndex
from ..read.keys import Key
from ..read.libraries import Library
from .native_kernels import NATIVE_KERNEL_KEYS, load_native_kernels
from .onnx_language import onnx_form
from .programs import load_programs

TABLES = ("scalar_types.yaml", "backends.yaml", "tags.yaml", "primitives.yaml", "native_kernels.yaml")

_SCALAR_TYPE_KEYS = {
    key.name: key
    for key in (
        Key("name", ("str",), "PyTorch's name of the type: Float"),
        Key("dtype", ("str",), "the name that users write: float32"),
        Key("aliases", ("str", "list"), "further names that users write"),
        Key("category", ("str",), "its category"),
        Key("array", ("str",), "the array dtype"),
        Key("opmath", ("str",), "the scalar type that it is computed in"),
        Key("real", ("str",), "the scalar type of its absolute value"),
        Key("signed", ("bool",), "whether it has negative numbers"),
        Key("promotes_to", ("str", "list"), "its immediate superiors in the promotion lattice"),
    )
}
_BACKEND_KEYS = {
    key.name: key
    for key in (
        Key("name", ("str",), "the dispatch key: CPU"),
        Key("device", ("str",), "the device type: cpu"),
        Key("library", ("str",), "the module that allocates, casts and copies"),
        Key("namespace", ("str",), "the module that is xp in expressions"),
        Key("kernels", ("str", "list"), "packages of kernel functions; -name leaves one out"),
        Key("group", ("bool", "str"), "true for a group, which no device has; the group of a member"),
        Key("extra", ("str",), "the extra by which its array library is installed"),
        Key("layouts", ("str", "list"), "the layouts of its tensors, where these are not strided"),
        Key("scalar_types", ("str", "list"), "the scalar types it has, or all"),
        Key("capabilities", ("map",), "facts that templates ask for"),
    )
}
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
        Key("native", ("map",), "native programs of functions that an array namespace lacks"),
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
        Key("native", ("map",), "its native programs, by dtype"),
    )
}


@dataclass(frozen=True, slots=True)
class Primitives:
    """What expressions may use of an array namespace, ``xp``."""

    pointwise: Mapping[str, Primitive]
    constants: frozenset[str]
    array: frozenset[str]
    programs: Mapping[str, Mapping[str, Program]] = field(default_factory=dict)  # by function and dtype


@dataclass(frozen=True, slots=True)
class Tables:
    """What the operators' entries refer to."""

    scalar_types: Mapping[str, ScalarType]
    backends: Mapping[str, Backend]
    tags: Mapping[str, str]
    primitives: Primitives
    excluded: Mapping[str, frozenset[str]] = field(default_factory=dict)  # by tag, those not beside it
    native_kernels: Mapping[str, NativeKernel] = field(default_factory=dict)


def load_tables(
    directory: Path,
    native: FunctionIndex,
    symbolics: FunctionIndex,
    report: Report,
    library: Library | None = None,
    lowered: set[str] | None = None,
) -> Tables:
    """Reads the tables, and the backends of a library; mistakes are reported.

    ``lowered`` are the native kernels that need not be lowered to see whether they can be.
    """
    scalar_types = _scalar_types(directory, report)
    backends = _backends(directory, scalar_types, native, report)
    if library is not None:
        backends = library_backends(library, backends, scalar_types, native, report)
    tags: dict[str, str] = {}
    listed: list[tuple[str, Located]] = []
    for fields, _ in _rows(directory, "tags.yaml", _TAG_KEYS, ("tag", "desc"), report):
        tags[fields["tag"].value] = " ".join(fields["desc"].value.split())
        if "excludes" in fields:
            listed.append((fields["tag"].value, fields["excludes"]))
    excluded = {tag: frozenset(known_words(located, tags, "tag", report)) for tag, located in listed}
    primitives = _primitives(directory, scalar_types, symbolics, report)
    native_kernels = _native_kernels(
        directory, primitives.programs, report, set() if lowered is None else lowered
    )
    return Tables(scalar_types, backends, tags, primitives, excluded, native_kernels)


def _native_kernels(
    directory: Path, programs: Programs, report: Report, lowered: set[str]
) -> dict[str, NativeKernel]:
    """Those of native_kernels.yaml, where there is one."""
    name, keys = "native_kernels.yaml", NATIVE_KERNEL_KEYS
    rows = _rows(directory, name, keys, ("kernel", "body"), report) if (directory / name).exists() else []
    return load_native_kernels(rows, programs, report, lowered)


def _open(directory: Path, name: str, report: Report, display: str = "") -> Located | None:
    """A table's file; a missing one is reported."""
    display = f"{display or directory.name}/{name}"
    path = directory / name
    if path.exists():
        text = read_text(path, display, report)
        return None if text is None else read_yaml(text, display, report)
    report.error(Place(display, 1, 1), "this file is missing")
    return None


def _primitives(
    directory: Path, scalar_types: Mapping[str, ScalarType], symbolics: FunctionIndex, report: Report
) -> Primitives:
    root = _open(directory, "primitives.yaml", report)
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
    programs = load_programs(rows, others, [s.dtype for s in scalar_types.values()], report)
    pointwise = {name: replace(p, native=programs.get(name, {})) for name, p in pointwise.items()}
    constants, array = (
        frozenset(word for word, _ in words(fields[key], report)) if key in fields else frozenset[str]()
        for key in ("constants", "array")
    )
    return Primitives(pointwise, constants, array, programs)


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


def _rows(
    directory: Path,
    name: str,
    keys: Mapping[str, Key],
    required: Sequence[str],
    report: Report,
    display: str = "",
) -> list[tuple[dict[str, Located], Place]]:
    """The entries of a table that have all required keys; the first of these is unique."""
    root = _open(directory, name, report, display)
    if root is None or not isinstance(root.value, tuple):
        if root is not None:
            report.error(
                root.place, "a declaration file is a list of entries", expected='"- " before each entry'
            )
        return []
    rows: dict[str, tuple[dict[str, Located], Place]] = {}
    for item in root.value:
        if not isinstance(item.value, dict):
            report.error(item.place, "an entry is a mapping of keys to values", expected="key: value lines")
            continue
        fields = check_keys(item.value, keys, f"an entry of {name}", report)
        require_keys(item.value, required, keys, item.place, report)
        if any(key not in fields for key in required):
            continue
        identity = fields[required[0]]
        if identity.value in rows:
            first = rows[identity.value][0][required[0]].place
            report.error(
                identity.place,
                f'"{identity.value}" is listed twice',
                length=len(identity.value),
                related=((first, "it was first listed here"),),
            )
            continue
        rows[identity.value] = (fields, item.place)
    return list(rows.values())


def _scalar_types(directory: Path, report: Report) -> dict[str, ScalarType]:
    rows = _rows(
        directory,
        "scalar_types.yaml",
        _SCALAR_TYPE_KEYS,
        ("name", "dtype", "category", "promotes_to"),
        report,
    )
    names = [fields["name"].value for fields, _ in rows]
    result: dict[str, ScalarType] = {}
    for fields, _ in rows:
        name, dtype = fields["name"].value, fields["dtype"].value
        known_word(fields["category"].value, fields["category"].place, CATEGORIES, "category", report)
        superiors = words(fields["promotes_to"], report)
        for key in ("opmath", "real"):
            if key in fields:
                superiors_of = fields[key]
                known_word(superiors_of.value, superiors_of.place, names, "scalar type", report)
        for word, place in superiors:
            known_word(word, place, names, "scalar type", report)
        result[name] = ScalarType(
            name=name,
            dtype=dtype,
            aliases=tuple(word for word, _ in words(fields["aliases"], report))
            if "aliases" in fields
            else (),
            category=fields["category"].value,
            array=fields["array"].value if "array" in fields else dtype,
            opmath=fields["opmath"].value if "opmath" in fields else name,
            real=fields["real"].value if "real" in fields else name,
            promotes_to=tuple(word for word, _ in superiors),
            signed=fields["signed"].value if "signed" in fields else True,
        )
    return result


def _backends(
    directory: Path, scalar_types: Mapping[str, ScalarType], native: FunctionIndex, report: Report
) -> dict[str, Backend]:
    result: dict[str, Backend] = {}
    for fields in _backend_rows(directory, report, needs_kernels=True):
        kernels = _modules(fields["kernels"], native, report) if "kernels" in fields else ()
        made = _backend(fields, kernels, scalar_types, result, report)
        result[made.name] = made
    return result


_BACKEND_MUST = ("name", "device", "library", "namespace")


def _backend_rows(
    directory: Path, report: Report, display: str = "", needs_kernels: bool = False
) -> list[dict[str, Located]]:
    """The entries of backends.yaml that have the keys which their kind needs."""
    rows = _rows(directory, "backends.yaml", _BACKEND_KEYS, ("name",), report, display)
    found = []
    for fields, place in rows:
        needed = _BACKEND_MUST + (("kernels",) if needs_kernels else ())
        if "group" in fields:
            needed = ("name", "kernels") if fields["group"].value is True else ("name", "device", "library")
        require_keys(fields, needed, _BACKEND_KEYS, place, report)
        if all(key in fields for key in needed):
            found.append(fields)
    return found


def _backend(
    fields: Mapping[str, Located],
    kernels: tuple[str, ...],
    scalar_types: Mapping[str, ScalarType],
    known: Mapping[str, Backend],
    report: Report,
) -> Backend:
    group = _group(fields.get("group"), known, report)
    types = tuple(scalar_types) if group is None else group.scalar_types
    if "scalar_types" in fields and fields["scalar_types"].value != "all":
        types = known_words(fields["scalar_types"], scalar_types, "scalar type", report)
    for key in ("device", "library", "namespace"):
        if key in fields:
            _module(fields[key], key, report)
    layouts: tuple[str, ...] = (STRIDED,)
    if "layouts" in fields:
        layouts = known_words(fields["layouts"], LAYOUTS, "layout", report)
    own = _plain(fields["capabilities"]) if "capabilities" in fields else {}
    text = {key: str(fields[key].value) if key in fields else "" for key in _BACKEND_TEXTS}
    return Backend(
        **text,
        kernels=kernels if group is None else (*group.kernels, *kernels),
        scalar_types=types,
        capabilities=own if group is None else {**group.capabilities, **own},
        layouts=layouts,
        group="" if group is None else group.name,
        is_group="group" in fields and fields["group"].value is True,
    )


_BACKEND_TEXTS = ("name", "device", "library", "namespace", "extra")


def _group(located: Located | None, known: Mapping[str, Backend], report: Report) -> Backend | None:
    """The group of a member, which stands before it; an unknown one is reported."""
    if located is None or located.value is True:
        return None
    groups = [b.name for b in known.values() if b.is_group]
    if not known_word(str(located.value), located.place, groups, "group of backends", report):
        return None
    return known[str(located.value)]


def library_backends(
    library: Library,
    known: Mapping[str, Backend],
    scalar_types: Mapping[str, ScalarType],
    native: FunctionIndex,
    report: Report,
) -> dict[str, Backend]:
    """The backends of tengen, with a library's kernels, and those that the library declares."""
    result = dict(known)
    directory = library.declarations
    rows = []
    if (directory / "backends.yaml").is_file():
        rows = _backend_rows(directory, report, library.display)
    for fields in rows:
        made = _backend(fields, (), scalar_types, result, report)
        for other in result.values():
            for key, value in (("name", other.name), ("device", other.device)):
                if value and key in fields and fields[key].value == value:
                    report.error(
                        fields[key].place,
                        f'the {key} "{value}" is that of the backend {other.name}',
                        length=len(value),
                        expected=f"a {key} that no other backend has",
                    )
        result.setdefault(made.name, replace(made, library_of=library.name))
    inside = f"{ABSOLUTE}{library.package}.native"
    own = [m for m in native.modules if m == inside or m.startswith(f"{inside}.")]
    special = {f"{inside}.{name.lower()}": name for name in result}  # kernels of one backend alone
    for name, backend in result.items():
        # What is for no backend alone is NumPy's: a group's kernels are given a namespace.
        meant = (name, backend.group) if backend.runs_generically else (None, name)
        modules = [m for m in own if _special(m, special) in meant]
        result[name] = replace(backend, kernels=(*backend.kernels, *modules))
    return result


def _special(module: str, packages: Mapping[str, str]) -> str | None:
    """The backend whose kernels a module is for, where it is for one alone."""
    return next((b for p, b in packages.items() if module == p or module.startswith(f"{p}.")), None)


def _module(located: Located, key: str, report: Report) -> None:
    """A device is a word, a namespace is a module, a library is one or an object in one."""
    value = located.value.replace(":", ".", 1) if key == "library" else located.value
    parts = value.split(".") if key != "device" else [value]
    if not all(part.isidentifier() for part in parts):
        expected = "a word, as cpu" if key == "device" else "a module, as tengen.native.cpu"
        report.error(
            located.place,
            f'"{located.value}" is no {key}',
            length=length_of_scalar(located),
            expected=expected,
        )


def _modules(located: Located, native: FunctionIndex, report: Report) -> tuple[str, ...]:
    """The modules below runtime/native that ``[native, -native.meta]`` means."""
    chosen: set[str] = set()
    for word, place in words(located, report):
        package = word.removeprefix("-").removeprefix("native").removeprefix(".")
        inner = [m for m in native.modules if not m.startswith(ABSOLUTE)]
        under = {m for m in inner if not package or m == package or m.startswith(package + ".")}
        if not under and not word.startswith("-"):
            known = ["native", *(f"native.{m}" for m in native.modules if m)]
            known_word(word, place, known, "package of kernels", report)
        chosen = chosen - under if word.startswith("-") else chosen | under
    return tuple(sorted(chosen - {""}))


def _plain(located: Located) -> dict[str, object]:
    """A mapping without its places."""

    def strip(value: object) -> object:
        if isinstance(value, Located):
            return strip(value.value)
        if isinstance(value, tuple):
            return tuple(strip(item) for item in value)
        if isinstance(value, dict):
            return {key: strip(item) for key, item in value.items()}
        return value

    return {key: strip(item) for key, item in located.value.items()}
