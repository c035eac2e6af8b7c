"""Specialise: rules of operators, for ONNX, for writes through views and for counts, as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..model.annotations import parameter_name
from ..model.derived import Variant
from ..model.operators import RESULT, WRITTEN, Operator, Rule
from ..read.functions import module_path

#: The keys whose values are rules, and what each gets behind the arguments.
EXTRA = {"symbolic": RESULT, "write_back": WRITTEN, "flops": RESULT}


def _rule(operator: Operator, key: str) -> Rule | None:
    found: Rule | None = getattr(operator, key)
    return found


def rows(variants: Iterable[Variant], key: str) -> list[tuple[str, str]]:
    """Each operator that has a rule by that key, and the rule as a Python expression of a function."""
    found = []
    for variant in variants:
        operator = variant.operator
        rule = _rule(operator, key)
        if rule is None or variant.kind in ("inplace", "out"):
            continue
        names = [parameter_name(a.name) for a in operator.schema.arguments]
        text = rule.formula.text
        if rule.function is not None:
            given = [*names, *([RESULT] if rule.takes_result else [])]
            text = f"{rule.function.rpartition('.')[2]}({', '.join(given)})"
        found.append((str(variant.name), f"lambda {', '.join([*names, EXTRA[key]])}: {text}"))
    return sorted(found)


def imports(variants: Iterable[Variant], package: str, functions: Mapping[str, str], key: str) -> list[str]:
    """The lines that import the functions that rules call; ``functions`` are those of operators."""
    by_module: dict[str, set[str]] = {}
    namespace = False  # whether numbers are computed by that of arrays
    for variant in variants:
        rule = _rule(variant.operator, key)
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
