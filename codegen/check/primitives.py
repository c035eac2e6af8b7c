"""The table of primitives: the functions of an array namespace that expressions may use, and others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...ir.expressions import Call, Name, walk
from ...ir.routines import Routines
from ..model.diagnostics import Report, suggestion
from ..model.names import OPERANDS, POLYNOMIAL
from ..model.operators import Formula, Primitive, Rule, ScalarType
from ..model.source import Located
from ..parse.formula import parse_formula, place_of
from ..read.fields import check_keys, known_word, length_of_scalar, require_keys, words
from ..read.functions import FunctionIndex, is_library_function
from ..read.keys import Key
from ..read.tables import open_table
from .onnx_language import onnx_form
from .routines import load_routines

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
        Key("function", ("str",), "the function that it is, where the namespace has none of its name"),
        Key("operator", ("str",), "the operator over Tensors that is the same function"),
        Key("symbol", ("str",), "the operator of Python that is the same"),
        Key("method", ("str",), "the same of Python numbers, a method of theirs"),
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
    """What expressions may use of an array namespace, ``xp``, and beside it."""

    pointwise: Mapping[str, Primitive]
    constants: frozenset[str]
    array: frozenset[str]
    routines: Routines = field(default_factory=dict)  # by function and dtype

    def apart(self, name: str) -> Primitive | None:
        """The primitive that is a function of its own, which expressions call by this name."""
        found = self.pointwise.get(name)
        return None if found is None or found.function is None else found


def load_primitives(
    directory: Path,
    scalar_types: Mapping[str, ScalarType],
    functions: FunctionIndex,
    symbolics: FunctionIndex,
    report: Report,
) -> Primitives:
    """Reads the table; mistakes are reported."""
    root = open_table(directory, "primitives.yaml", report)
    if root is None or not isinstance(root.value, dict):
        return Primitives({}, frozenset(), frozenset())
    fields = check_keys(root.value, _PRIMITIVE_KEYS, "primitives.yaml", report)
    pointwise: dict[str, Primitive] = {}
    rows = fields["pointwise"].value if "pointwise" in fields else {}
    for name, row in rows.items():
        made = _primitive(name, row, functions, symbolics, report)
        if made is not None:
            pointwise[name] = made
    others = fields["native"].value if "native" in fields else {}
    routines = load_routines(rows, others, [s.dtype for s in scalar_types.values()], report)
    _check_calls(pointwise, report)
    pointwise = {name: replace(p, native=routines.get(name, {})) for name, p in pointwise.items()}
    constants, array = (
        frozenset(word for word, _ in words(fields[key], report)) if key in fields else frozenset[str]()
        for key in ("constants", "array")
    )
    return Primitives(pointwise, constants, array, routines)


def _primitive(
    name: str, row: Located, functions: FunctionIndex, symbolics: FunctionIndex, report: Report
) -> Primitive | None:
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
    function = _function(fields.get("function"), count, functions, report)
    return Primitive(
        name=name,
        arguments=count,
        function=function,
        place=fields["function"].place if "function" in fields else None,
        operator=fields["operator"].value if "operator" in fields else None,
        symbol=fields["symbol"].value if known_symbol(fields.get("symbol"), report) else None,
        method=fields["method"].value if "method" in fields else None,
        derivative=None if partials is None else tuple(partials),
        real="real" in fields and fields["real"].value,
        out=fields["out"].value if "out" in fields else ":" in (function or ":"),
        costly=fields["costly"].value if "costly" in fields else function is not None,
        onnx=_onnx(fields.get("onnx"), count, symbolics, report),
    )


def _function(located: Located | None, count: int, functions: FunctionIndex, report: Report) -> str | None:
    """The function of a primitive: of another library, which need not be here, or one of kernels."""
    if located is None:
        return None
    name = str(located.value)
    if is_library_function(name):
        return name
    namesakes = {f.qualified: f for f in functions.find(name.rpartition(".")[2])}
    found, length = namesakes.get(name), length_of_scalar(located)
    if found is None:
        known = [f.qualified for each in functions.names() for f in functions.find(each)]
        report.error(
            located.place,
            f'there is no function "{name}"',
            length=length,
            expected="a function of runtime/kernels, as special.lgamma, or module:function",
            help=suggestion(name, known),
        )
        return None
    arity = found.arity()
    problem = None if arity is None else arity.problem(count, ())
    if problem is not None:
        report.error(located.place, f"the function {name} {problem}", length=length)
    return name


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


def _check_calls(primitives: Mapping[str, Primitive], report: Report) -> None:
    """Derivatives call primitives, and polynomials."""
    derivatives = [formula for p in primitives.values() for formula in p.derivative or ()]
    for formula in [f for f in derivatives if f is not None and f.implemented]:
        for node in walk(formula.tree):
            match node:
                case Call(Name(name) as function, given) if name != POLYNOMIAL:
                    taken = primitives[name].arguments if name in primitives else None
                    if taken == len(given):
                        continue
                    message, close = f'unknown function "{name}"', suggestion(name, [*primitives, POLYNOMIAL])
                    if taken is not None:
                        plural = "s" if taken > 1 else ""
                        message, close = f"{name} takes {taken} operand{plural}, not {len(given)}", ""
                    place = place_of(formula, function)
                    report.error(place, message, length=len(name), expected="a primitive", help=close)


def _check_operands(formula: Formula | None, count: int, report: Report) -> None:
    """A derivative may name the operands that there are, and the result."""
    if formula is None or not formula.implemented:
        return
    known = (*OPERANDS[:count], "result")
    called = {id(n.function) for n in walk(formula.tree) if isinstance(n, Call)}
    for node in walk(formula.tree):
        if isinstance(node, Name) and id(node) not in called:
            known_word(node.id, place_of(formula, node), known, "operand", report)
