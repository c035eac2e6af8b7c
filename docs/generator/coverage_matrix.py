"""The coverage matrix: operator by backend, dtype and kind of derivative, and vmap and ONNX."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from importlib import import_module
from inspect import isfunction

from reference_examples import second_order
from reference_model import OverloadEntry, Subject

import tengen.testing.declared as declared
from tengen.codegen.model.operators import Backend, Operator

#: What a cell says: its class, its sign, and what that means.
STATES = {
    "y": ("●", "yes"),
    "p": ("○", "by the operators it is made of"),
    "l": ("◌", "by running it example by example"),
    "h": ("◐", "for some arguments"),
    "n": ("✕", "no"),
    "": ("", "there is nothing to do"),
}
ASPECTS = ("reverse", "forward", "second", "vmap", "ONNX")


@dataclass(frozen=True)
class Row:
    """An operator: the scalar types it computes in on the CPU, None for a composite; what others can."""

    name: str
    link: str
    subject: str
    dtypes: frozenset[str] | None
    others: tuple[str, ...]  # by the other backends
    states: tuple[str, ...]  # by ASPECTS

    @property
    def differentiable(self) -> bool:
        return self.states[0] in ("y", "p", "h")


def others() -> list[Backend]:
    """The backends after the CPU's, in their order: a group stands for its members."""
    return [b for b in declared.declarations().backends[1:] if not b.group]


def heading(backend: Backend) -> str:
    """A backend's name; a group's with those of its members."""
    members = [b.name for b in declared.declarations().backends if b.group == backend.name]
    return f"{backend.name}: {', '.join(members)}" if members else backend.name


def rows(subjects: Sequence[Subject]) -> list[Row]:
    """A row for each operator that the reference has."""
    operators = {str(v.name): v.operator for v in declared.derived().variants}
    return [
        row(operators[overload.name], overload, subject, f"{subject.slug}.html#{entry.anchor}")
        for subject in subjects
        for entry in subject.functions
        for overload in entry.overloads
    ]


def row(operator: Operator, entry: OverloadEntry, subject: Subject, link: str) -> Row:
    composite = entry.kind == "composite"
    dtypes = operator.dtypes.get("CPU", frozenset()) if operator.dtypes else None
    elsewhere = tuple(on(backend, operator) for backend in others())
    vmap, onnx = batching(operator, composite), exported(operator, composite)
    return Row(
        entry.name, link, subject.title, dtypes, elsewhere, (*derivatives(operator, entry), vmap, onnx)
    )


def on(backend: Backend, operator: Operator) -> str:
    """Whether a backend has an operator: by a kernel, by others, or not."""
    if not operator.dtypes or operator.name.overload.endswith("out"):
        return "p"
    name = replace(operator.name, inplace=False)  # what writes in place computes by what does not
    return "y" if name.method in methods(backend.name.lower()) else "n"


@functools.cache
def methods(backend: str) -> frozenset[str]:
    """The methods that a backend's Types have of their own."""
    module = import_module(f"tengen.generated.{backend}_types")
    classes = [c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__]
    return frozenset(name for c in classes for name, value in vars(c).items() if isfunction(value))


def derivatives(operator: Operator, entry: OverloadEntry) -> tuple[str, str, str]:
    """Reverse mode, forward mode, and reverse mode twice."""
    derived = declared.derived()
    name = entry.name
    once, twice = second_order(name)
    if entry.kind == "composite":
        return ("p" if once else "", "p" if once else "", "" if not once else "p" if twice else "n")
    node = derived.nodes.get(name) or derived.nodes.get(name.replace("_.", ".").removesuffix("_"))
    if node is None:
        missing = "n" if name in derived.missing else ""
        return missing, missing, missing
    implemented = declared.implemented(node)
    if not implemented or not node.outputs:
        return "", "", ""
    reverse = "y" if len(implemented) == len(node.inputs) else "h"
    tangent = "y" if str(node.operator.name) in derived.jvps else "n"
    return reverse, tangent, {True: "y", False: "n", None: ""}[twice]


def batching(operator: Operator, composite: bool) -> str:
    rule = operator.batching
    if rule is None:
        batched = any(a.is_tensor_like for a in operator.schema.arguments)
        return "p" if composite else "l" if batched else ""
    return "n" if rule.kind == "refuse" else "y"


def exported(operator: Operator, composite: bool) -> str:
    return "y" if operator.symbolic is not None else "p" if composite else "n"


def table(found: Mapping[str, Iterable[Row]]) -> str:
    """The rows of all subjects under one head, as HTML."""
    types = declared.declarations().scalar_types
    heads = [
        f"<th class='dtype{' b' if i == 0 else ''}'><span>{s.dtype}</span></th>" for i, s in enumerate(types)
    ]
    after = [*(escape(heading(b)) for b in others()), *ASPECTS]
    aspects = "".join(f"<th class='dtype aspect'><span>{a}</span></th>" for a in after)
    columns = len(types) + len(after)
    lines = [
        f"<tr><th></th><th colspan='{len(types)}' class='group b'>CPU</th>"
        f"<th colspan='{len(after)}' class='group'></th></tr>",
        f"<tr><th></th>{''.join(heads)}{aspects}</tr>",
    ]
    parts = ["<table class='coverage'><thead>" + "".join(lines) + "</thead>"]
    for subject, rows_of_subject in found.items():
        head = f"<tr class='subject'><th>{escape(subject)}</th><th colspan='{columns}'></th></tr>"
        parts += ["<tbody>", head, *map(_line, rows_of_subject), "</tbody>"]
    return "\n".join([*parts, "</table>"])


def _line(row: Row) -> str:
    cells = [*_dtypes(row)]
    for state in (*row.others, *row.states):
        shown = f"'a {state}'>{STATES[state][0]}" if state else "a>"
        cells.append(f"<td class={shown}</td>")
    gaps = " data-gap" if "n" in row.states else ""
    return f"<tr{gaps}><td><a href='{row.link}'>{escape(row.name)}</a></td>{''.join(cells)}</tr>"


def _dtypes(row: Row) -> Iterable[str]:
    types, chosen = declared.declarations().scalar_types, row.dtypes
    if chosen is None:
        yield f"<td colspan='{len(types)}' class='parts b'>of other operators</td>"
        return
    for i, s in enumerate(types):
        border = " b" if i == 0 else ""
        if s.name not in chosen:
            yield f"<td class='{border.strip()}'></td>" if border else "<td></td>"
        elif row.differentiable and s.category in ("floating", "reduced", "complex"):
            yield f"<td class='d{border}'></td>"
        else:
            yield f"<td class='c{border}'></td>"


def legend() -> str:
    """What the signs mean."""
    dtypes = {"c": "computes", "d": "computes and has a gradient"}
    signs = [f"<i class='{k}'></i> {text}" for k, text in dtypes.items()]
    signs += [f"<b class='{k}'>{sign}</b> {escape(text)}" for k, (sign, text) in STATES.items() if k]
    items = "".join(f"<span>{s}</span> " for s in [*signs, "(blank) nothing to do"])
    return f"<p class='legend'>{items}</p>"
