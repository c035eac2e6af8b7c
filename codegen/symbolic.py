"""Check and specialise: how operators are written as ONNX, and how writes go through views.

``symbolic`` is an expression of ONNX's operators, or a function of runtime/onnx/symbolics*.py by its bare
name; ``write_back`` is an expression over Tensors. Each becomes a row of a generated table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .annotations import parameter_name
from .diagnostics import Report
from .dispatch import Sources
from .formula import parse_formula
from .kernels import ABSOLUTE, module_path
from .model import Kernel, Located, Rule, Schema, Variant
from .names import TensorVocabulary, check_names
from .onnx_forms import derived_symbolic
from .onnx_language import rule_of

#: The new contents of a view.
WRITTEN = "written"


class SymbolicChecker:
    """Makes the rules of entries; mistakes are reported."""

    def __init__(self, sources: Sources, report: Report) -> None:
        self.sources, self.report = sources, report

    def symbolic(self, schema: Schema, value: Located | None) -> Rule | None:
        """What ``symbolic`` says."""
        formula = None if value is None else parse_formula(value, self.report, "symbolic")
        if formula is None:
            return None
        names = tuple(a.name for a in schema.arguments)
        return rule_of(formula, names, self.sources.symbolics, self.report, "symbolic", "result")

    def derived(self, schema: Schema, kernels: Mapping[str, Kernel], opmath: bool) -> Rule:
        """What the kernel of a pointwise operator says. Raises NoForm where it says nothing."""
        primitives = self.sources.tables.primitives.pointwise
        return derived_symbolic(schema, kernels, opmath, primitives, self.sources.symbolics)

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
    namespace = False  # whether numbers are computed by that of arrays
    for variant in variants:
        rule = variant.operator.write_back if written else variant.operator.symbolic
        if rule is None:
            continue
        namespace |= rule.derived and "xp" in rule.formula.names()
        called = [*rule.calls.values(), *([rule.function] if rule.function else [])]
        for name in called:
            module, _, function = name.rpartition(".")
            place = module_path(package, module) if module else functions[function]
            by_module.setdefault(place, set()).add(function)
    lines = [f"from {m} import {', '.join(sorted(names))}" for m, names in sorted(by_module.items())]
    return ["import numpy as xp", *lines] if namespace else lines
