"""Specialise: the rows of generated/batching.py, and the functions that expressions of rules become there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...ir.writer import write
from ..model.derived import Variant
from ..model.operators import Batching, Formula
from ..model.schema import Argument
from ..read.functions import alias, module_path
from .nodes import Rewriter


@dataclass(frozen=True, slots=True)
class BatchingFunction:
    """A function that a rule's expression becomes."""

    name: str
    parameters: str
    text: str
    operator: str


class BatchingWriter:
    """Makes the rows of generated/batching.py, and the functions that they refer to."""

    def __init__(self, functions: Mapping[str, str]) -> None:
        self.functions = functions
        self.modules: dict[str, str] = {}
        self.made: list[BatchingFunction] = []

    def rows(self, variants: Iterable[Variant]) -> list[tuple[str, str]]:
        """The operators that have a rule, each with the text of the expression that makes it."""
        found = []
        for v in variants:
            if v.operator.batching is None or v.kind in ("inplace", "out"):
                continue
            found.append((str(v.name), self.row(v, v.operator.batching)))
        return sorted(found)

    def row(self, variant: Variant, rule: Batching) -> str:
        arguments = variant.operator.schema.arguments
        index = {a.name: i for i, a in enumerate(arguments)}
        tensors = tuple(index[n] for n in rule.tensors if n in index)
        match rule.kind:
            case "pointwise":
                return "rules.Pointwise()"
            case "broadcast":
                return "rules.Broadcast()"
            case "random":
                inner = self.row(variant, rule.cases[0][1]) if rule.cases else self._random(arguments)
                return f"rules.Random({inner})"
            case "loss":
                grad = index.get("grad_output")
                return f"rules.Loss({tensors}, {index['reduction']}, {grad})"
            case "reduction":
                is_list = "[" in str(arguments[index["dim"]].type)
                return f"rules.Reduction({tensors[0]}, {index['dim']}, {is_list}, {index.get('keepdim')})"
            case "leading":
                dims = tuple(index[n] for n in rule.dims)
                sizes = tuple(index[n] for n in rule.sizes)
                more = ", atleast_1d=True" if rule.atleast_1d else ""
                return f"rules.Leading({tensors}, {dims}, {rule.added}, {sizes}{more})"
            case "fold":
                return f"rules.Fold({tensors}, {rule.rank})"
            case "refuse":
                return f"rules.Refuse({rule.text!r})"
            case "cases":
                return f"rules.Cases([{', '.join(self._case(variant, c, r, index) for c, r in rule.cases)}])"
        assert rule.formula is not None
        name = self._function(variant, rule.formula, rule.helpers)
        if rule.kind == "values":
            return f"rules.PhysicalFunction({tensors}, {name})"
        return f"rules.{'Become' if rule.kind == 'become' else 'Decompose'}({name})"

    def _case(
        self, variant: Variant, covered: tuple[str, ...] | None, rule: Batching, index: Mapping[str, int]
    ) -> str:
        numbers = None if covered is None else f"frozenset({tuple(index[n] for n in covered)})"
        return f"({numbers}, {self.row(variant, rule)})"

    def _random(self, arguments: Sequence[Argument]) -> str:
        """How an operator draws for the whole batch: by a larger ``size``, or elementwise."""
        size = next((i for i, a in enumerate(arguments) if a.name == "size"), None)
        if size is not None:
            return f"rules.BatchedSize({size})"
        return "rules.Pointwise()" if any(a.is_tensor for a in arguments) else "None"

    def _function(self, variant: Variant, formula: Formula, helpers: Mapping[str, str]) -> str:
        given = {a.name for a in variant.operator.schema.arguments}
        functions = {name: text for name, text in self.functions.items() if name not in given}
        rewriter = Rewriter(helpers, functions, {})
        text = write(rewriter.rewritten(formula.tree))
        for module in rewriter.used_helpers:
            self.modules[alias(module)] = module_path("tengen.formulas", module)
        count = sum(f.operator == str(variant.name) for f in self.made)
        name = f"{variant.name.method}_batched{count or ''}".lstrip("_")
        parameters = ", ".join(a.name for a in variant.operator.schema.arguments)
        self.made.append(BatchingFunction(name, parameters, text, str(variant.name)))
        return name
