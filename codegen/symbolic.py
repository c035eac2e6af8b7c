"""Check and specialise: how operators are written as ONNX, and how writes go through views.

``symbolic`` is an expression of ONNX's operators, or a function of runtime/onnx/symbolics*.py by its bare
name; ``write_back`` is an expression over Tensors. Each becomes a row of a generated table.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping, Sequence

from .annotations import parameter_name
from .diagnostics import Report, suggestion
from .dispatch import Sources
from .fields import length_of_scalar
from .formula import parse_formula
from .kernels import ABSOLUTE, Arity, FunctionIndex, module_path
from .model import Located, Rule, Schema, Variant
from .names import BUILTINS, Problem, TensorVocabulary, Vocabulary, check_names

#: ONNX's operators, as ``onnx.Mul``.
ONNX = "onnx"
_OPERATOR = re.compile(r"[A-Z][A-Za-z0-9]*\Z")
#: What a symbolic may ask of a value and of its dtype.
_ATTRIBUTES = frozenset({
    "category", "dtype", "is_complex", "is_floating_point", "is_signed", "itemsize", "ndim", "shape",
})  # fmt: skip
#: The new contents of a view.
WRITTEN = "written"


class SymbolicVocabulary(Vocabulary):
    """Expressions of ONNX's operators: arguments, ``result``, ``onnx``, and the functions of symbolics."""

    what = "symbolic"

    def __init__(self, values: Iterable[str], index: FunctionIndex) -> None:
        super().__init__({*values, ONNX, "result"})
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
        return Problem(f'unknown name "{name}" in the symbolic', expected, close)

    def attribute(self, node: ast.Attribute, call: ast.Call | None) -> Problem | None:
        name = node.attr
        if isinstance(node.value, ast.Name) and node.value.id == ONNX:
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


class SymbolicChecker:
    """Makes the rules of entries; mistakes are reported."""

    def __init__(self, sources: Sources, report: Report) -> None:
        self.sources, self.report = sources, report

    def symbolic(self, schema: Schema, value: Located | None) -> Rule | None:
        """What ``symbolic`` says."""
        formula = None if value is None else parse_formula(value, self.report, "symbolic")
        if formula is None:
            return None
        index = self.sources.symbolics
        names = tuple(a.name for a in schema.arguments)
        if isinstance(formula.tree, ast.Name) and formula.tree.id not in names:
            found = index.find(formula.text)
            if not found:
                self.report.error(
                    formula.source.place,
                    f'no function "{formula.text}" for the symbolic',
                    length=length_of_scalar(formula.source),
                    expected="a function of runtime/onnx/symbolics, or an expression",
                    help=suggestion(formula.text, [*index.names(), *names]),
                )
                return None
            arity = found[0].arity()
            wanted = arity is not None and "result" in arity.names
            problem = None if arity is None else arity.problem(len(names) + wanted, ())
            if problem is not None:
                self.report.error(
                    formula.source.place,
                    f"the symbolic {formula.text} {problem}",
                    length=len(formula.text),
                    expected=f"{formula.text}({', '.join(names)})",
                    help=f"it is defined in the module {found[0].home}",
                )
            return Rule(formula, found[0].qualified, takes_result=wanted)
        check_names(formula, SymbolicVocabulary(names, index), self.report)
        called = sorted(formula.names() - {*names, ONNX, "result"})
        return Rule(formula, None, {n: index.find(n)[0].qualified for n in called if index.find(n)})

    def write_back(self, schema: Schema, value: Located | None) -> Rule | None:
        """What ``write_back`` says."""
        formula = None if value is None else parse_formula(value, self.report, "write_back")
        if value is None or formula is None:
            return None
        if not any(r.alias is not None and not r.alias.write for r in schema.returns):
            self.report.error(
                value.key or value.place,
                f"write_back is for views, and {schema.name} gives none",
                length=len("write_back"),
                expected="Tensor(a) self in the schema, and Tensor(a) as its result",
            )
            return None
        values = {*(a.name for a in schema.arguments), WRITTEN}
        operators, helpers = self.sources.operators, self.sources.formulas
        check_names(formula, TensorVocabulary("write_back", values, operators, helpers), self.report)
        called = sorted(formula.names() - values)
        calls = {n: _formula(helpers.find(n)[0].qualified) for n in called if helpers.find(n)}
        calls |= {n: n for n in called if n not in calls and operators.arities(n) is not None}
        return Rule(formula, None, calls)


def rows(variants: Iterable[Variant], written: bool = False) -> list[tuple[str, str]]:
    """Each operator that has a rule, and the rule as a Python expression of a function."""
    found = []
    for variant in variants:
        operator = variant.operator
        rule = operator.write_back if written else operator.symbolic
        if rule is None or variant.kind in ("inplace", "out"):
            continue
        names = [parameter_name(a.name) for a in operator.schema.arguments]
        extra = WRITTEN if written else "result"
        text = rule.formula.text
        if rule.function is not None:
            given = [*names, *(["result"] if rule.takes_result else [])]
            text = f"{rule.function.rpartition('.')[2]}({', '.join(given)})"
        found.append((str(variant.name), f"lambda {', '.join([*names, extra])}: {text}"))
    return sorted(found)


def _formula(qualified: str) -> str:
    """A helper of formulas, below tengen."""
    return qualified if qualified.startswith(ABSOLUTE) else f"formulas.{qualified}"


def imports(
    variants: Iterable[Variant], package: str, functions: Mapping[str, str], written: bool = False
) -> list[str]:
    """The lines that import the functions that rules call; ``functions`` are those of operators."""
    by_module: dict[str, set[str]] = {}
    for variant in variants:
        rule = variant.operator.write_back if written else variant.operator.symbolic
        if rule is None:
            continue
        called = [*rule.calls.values(), *([rule.function] if rule.function else [])]
        for name in called:
            module, _, function = name.rpartition(".")
            place = module_path(package, module) if module else functions[function]
            by_module.setdefault(place, set()).add(function)
    return [f"from {m} import {', '.join(sorted(names))}" for m, names in sorted(by_module.items())]
