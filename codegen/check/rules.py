"""Check: how operators are written as ONNX, how writes go through views, and what calls count as.

``symbolic`` is an expression of ONNX's operators, or a function of runtime/onnx/symbolics*.py by its bare
name; ``write_back`` and ``flops`` are expressions over Tensors. Each becomes a Rule of the model.
"""

from __future__ import annotations

from ..model.diagnostics import Report
from ..model.operators import RESULT, WRITTEN, Formula, Rule
from ..model.schema import Schema
from ..model.source import Located
from ..parse.formula import parse_formula
from ..read.functions import ABSOLUTE
from .kernels import Sources
from .names import TENSOR_BUILTINS, TensorVocabulary, check_names
from .onnx_language import rule_of


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
        return rule_of(formula, names, self.sources.symbolics, self.report, "symbolic", RESULT)

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
        return self._over_tensors(schema, formula, "write_back", WRITTEN)

    def flops(self, schema: Schema, value: Located | None) -> Rule | None:
        """What ``flops`` says."""
        formula = None if value is None else parse_formula(value, self.report, "flops")
        return None if formula is None else self._over_tensors(schema, formula, "flops", RESULT)

    def _over_tensors(self, schema: Schema, formula: Formula, key: str, extra: str) -> Rule:
        """The rule of an expression of the arguments, and of one thing more."""
        values = {*(a.name for a in schema.arguments), extra}
        operators, helpers = self.sources.operators, self.sources.formulas
        check_names(formula, TensorVocabulary(key, values, operators, helpers), self.report)
        called = sorted(formula.names() - values)
        calls = {n: _formula(qualified) for n, qualified in helpers.qualified(called).items()}
        calls |= {
            n: n for n in called if n not in calls and n not in TENSOR_BUILTINS and operators.arities(n)
        }
        return Rule(formula, None, calls)


def _formula(qualified: str) -> str:
    """A helper of formulas, below tengen."""
    return qualified if qualified.startswith(ABSOLUTE) else f"formulas.{qualified}"
