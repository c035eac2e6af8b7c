"""Emit: the reference of operators, for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..model.derived import Variant
from ..model.groups import Group, exported_name
from ..model.operators import Derivative, Operator


@dataclass(frozen=True, slots=True)
class OperatorEntry:
    """One overload in the reference."""

    schema: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GroupEntry:
    """One function in the reference."""

    function: str
    doc: str
    operators: tuple[OperatorEntry, ...]


def reference(groups: Mapping[str, Group], derivatives: Iterable[Derivative]) -> list[GroupEntry]:
    """The entries, by name; in-place and out variants stand with their functional operator."""
    by_name = {str(d.name): d for d in derivatives}
    entries = []
    for name, group in sorted(groups.items()):
        plain = [v for v in group.variants if v.kind != "inplace" or v.operator.kernels]
        if not plain:
            continue
        overloads = tuple(_operator(v, group, by_name.get(str(v.name)), groups) for v in plain)
        entries.append(GroupEntry(_public(name, group), group.doc, overloads))
    return entries


def _public(name: str, group: Group) -> str:
    module = group.python_module
    home = {"nn": "nn.functional"}.get(module or "", module) or group.variants[0].name.namespace
    return f"{home}.{exported_name(group)}" if home else name


def _operator(
    variant: Variant, group: Group, derivative: Derivative | None, groups: Mapping[str, Group]
) -> OperatorEntry:
    operator = variant.operator
    facts = [f"declared in `{operator.place.file}`"]
    facts += [f"as {_kinds(operator)}" + _variants(variant, group, groups)]
    for key, kernel in sorted(operator.kernels.items()):
        facts.append(f"{key}: `{kernel.formula.text}`")
    for backend, names in sorted(operator.dtypes.items()):
        facts.append(f"{backend} dtypes: {', '.join(sorted(names))}")
        break
    facts += [f"differs from PyTorch ({name}): {reason}" for name, reason in operator.differs.items()]
    if derivative is not None:
        facts += [f"gradient of {', '.join(names)}: `{f.text}`" for names, f in derivative.gradients.items()]
        facts += [f"forward mode, {name}: `{f.text}`" for name, f in derivative.jvps.items()]
    return OperatorEntry(str(operator.schema), tuple(facts))


def _kinds(operator: Operator) -> str:
    return " and ".join(sorted(operator.variants)) or "a method of Types only"


def _variants(variant: Variant, group: Group, groups: Mapping[str, Group]) -> str:
    inplace = groups.get(group.function + "_")
    parts = []
    if inplace is not None and any(v.base == variant.name for v in inplace.variants):
        parts.append(f"in place as `{group.function}_`")
    if any(v.base == variant.name for v in group.outs):
        parts.append("with `out=`")
    return f", {' and '.join(parts)}" if parts else ""
