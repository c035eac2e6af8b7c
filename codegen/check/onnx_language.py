"""Check: expressions of ONNX's operators, in ``symbolic`` and in the ``onnx`` of primitives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from ...ir.expressions import Attribute, Call, Name, walk
from ..model.diagnostics import Report, suggestion
from ..model.operators import Formula, Rule
from ..parse.formula import length_of, place_of
from ..read.fields import length_of_scalar
from ..read.functions import Arity, FunctionIndex
from .names import BUILTINS, Problem, Vocabulary, check_names

#: ONNX's operators, as ``onnx.Mul``.
ONNX = "onnx"
_OPERATOR = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
#: What a symbolic may ask of a value and of its dtype.
_ATTRIBUTES = frozenset({
    "category", "dtype", "is_complex", "is_floating_point", "is_signed", "itemsize", "ndim", "shape",
})  # fmt: skip


class SymbolicVocabulary(Vocabulary):
    """Expressions of ONNX's operators: arguments, ``onnx``, and the functions of symbolics."""

    def __init__(self, what: str, values: Iterable[str], index: FunctionIndex) -> None:
        super().__init__({*values, ONNX})
        self.what = what
        self.index = index

    def function(self, name: str) -> Sequence[Arity | None] | None:
        found = self.index.find(name)
        return [function.arity() for function in found] if found else None

    def functions(self) -> Iterable[str]:
        return self.index.names()

    def unknown(self, name: str) -> Problem:
        close = suggestion(name, self.values) or suggestion(name, {*self.functions(), *BUILTINS})
        if _OPERATOR.match(name):
            close = f'did you mean "{ONNX}.{name}"?'
        expected = f"an argument, {ONNX}.Operator, or a function of runtime/onnx/symbolics"
        return Problem(f'unknown name "{name}" in the {self.what}', expected, close)

    def attribute(self, expr: Attribute, call: Call | None) -> Problem | None:
        name = expr.name
        if expr.value == Name(ONNX):
            if not _OPERATOR.match(name):
                help = f'did you mean "{ONNX}.{name.title().replace("_", "")}"?'
                return Problem(f'"{name}" names no operator of ONNX', "a name as Softmax or ReduceSum", help)
            if call is None:
                return Problem(f"{ONNX}.{name} is not called", f"{ONNX}.{name}(inputs, attribute=value)")
            return None
        if name in _ATTRIBUTES:
            return None
        expected = f"one of {', '.join(sorted(_ATTRIBUTES))}"
        return Problem(f'a value of ONNX has no "{name}"', expected, suggestion(name, _ATTRIBUTES))


def rule_of(
    formula: Formula, names: Sequence[str], index: FunctionIndex, report: Report, what: str, *more: str
) -> Rule | None:
    """A function of symbolics by its bare name, of all names, or an expression of them.

    ``more`` are what an expression may name beside these, and a function may take behind them.
    """
    if isinstance(formula.tree, Name) and formula.tree.id not in names:
        return _function(formula, names, index, report, what, more)
    check_names(formula, SymbolicVocabulary(what, {*names, *more}, index), report)
    return Rule(formula, None, index.qualified(formula.names() - {*names, *more, ONNX}))


def _function(
    formula: Formula,
    names: Sequence[str],
    index: FunctionIndex,
    report: Report,
    what: str,
    more: Sequence[str],
) -> Rule | None:
    found = index.find(formula.text)
    if not found:
        report.error(
            formula.source.place,
            f'no function "{formula.text}" for the {what}',
            length=length_of_scalar(formula.source),
            expected="a function of runtime/onnx/symbolics, or an expression",
            help=suggestion(formula.text, [*index.names(), *names]),
        )
        return None
    arity = found[0].arity()
    wanted = arity is not None and any(name in arity.names for name in more)
    problem = None if arity is None else arity.problem(len(names) + wanted, ())
    if problem is not None:
        report.error(
            formula.source.place,
            f"the {what} {formula.text} {problem}",
            length=len(formula.text),
            expected=f"{formula.text}({', '.join(names)})",
            help=f"it is defined in the module {found[0].home}",
        )
    return Rule(formula, found[0].qualified, takes_result=wanted)


def onnx_form(formula: Formula, operands: Sequence[str], index: FunctionIndex, report: Report) -> Rule | None:
    """The ``onnx`` of a primitive: each operand stands in it once, for what it is may be long."""
    rule = rule_of(formula, operands, index, report, "ONNX form")
    if rule is None or rule.function is not None:
        return rule
    nodes = [n for n in walk(formula.tree) if isinstance(n, Name) and n.id in operands]
    for operand, count in Counter({o: 0 for o in operands} | Counter(n.id for n in nodes)).items():
        if count != 1:
            at = next((n for n in nodes if n.id == operand), formula.tree)
            report.error(
                place_of(formula, at),
                f'"{operand}" stands in the ONNX form {count} times'
                if count
                else f'the ONNX form lacks "{operand}"',
                length=length_of(formula, at),
                expected="each operand once, or a function of runtime/onnx/symbolics",
            )
    return rule
