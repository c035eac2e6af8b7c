"""Emit: the classes of ``tengen.nn`` that follow from declarations, a file for each module of nn.modules."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ..model.modules import ModuleClass, Parameter
from ..model.source import OutputFile
from .page import TemplateRenderer

#: The module of the classes of losses that are written by hand, and what generated ones call them.
_LOSSES = {
    "_Loss": "from tengen.nn.modules.loss_base import Loss as _Loss",
    "_WeightedLoss": "from tengen.nn.modules.loss_base import WeightedLoss as _WeightedLoss",
}


@dataclass(frozen=True, slots=True)
class ClassText:
    """A class as its template takes it."""

    name: str
    base: str
    doc: str
    constants: str
    annotations: list[tuple[str, str]]
    init: str | None
    checks: Sequence[str]
    base_arguments: str
    attributes: list[tuple[str, str]]
    buffers: Sequence[str]
    forward: str | None
    forward_doc: str
    input_checks: Sequence[str]
    returns: str
    call: str
    shown: str | None

    @property
    def has_init(self) -> bool:
        return self.init is not None

    @property
    def has_forward(self) -> bool:
        return self.forward is not None

    @property
    def has_shown(self) -> bool:
        return self.shown is not None


def module_files(templates: TemplateRenderer, classes: Sequence[ModuleClass]) -> list[OutputFile]:
    """The files: the classes by their modules, and the table of where each is."""
    homes: dict[str, list[ModuleClass]] = {}
    for each in classes:
        homes.setdefault(each.home, []).append(each)
    pages = [_page(templates, home, found) for home, found in sorted(homes.items())]
    table = [(each.name, each.home) for each in classes]
    return [*pages, templates.page("module_homes.py", "module_homes.py.jinja", homes=table)]


def _page(templates: TemplateRenderer, home: str, classes: Sequence[ModuleClass]) -> OutputFile:
    lines = {line for each in classes for line in each.function.imports if _is_needed(line, each)}
    own = {each.name for each in classes}
    bases = sorted({e.base for e in classes} - own - {"Module", *_LOSSES})
    lines.update(_LOSSES[e.base] for e in classes if e.base in _LOSSES)
    for each in classes:
        lines.update(f"from tengen.nn.modules.{home_} import {n}" for n, home_ in each.helpers.items())
    return templates.page(
        f"{home}_modules.py",
        "nn_modules.py.jinja",
        summary=f"The classes of tengen.nn.modules.{home} that follow from declarations.",
        imports=sorted(lines),
        home=f"tengen.nn.modules.{home}",
        bases=bases,
        classes=[_text(each) for each in _in_order(classes)],
    )


def _is_needed(line: str, each: ModuleClass) -> bool:
    """Whether the class uses the name that a line imports."""
    name = line.rpartition(" ")[2]
    written = [each.function.called, *(str(p) for p in (*each.init, *each.forward))]
    text = " ".join(written[1:] if each.calls_base else written) + f" {each.function.returns}"
    return name in re.findall(r"\w+", text)


def _in_order(classes: Sequence[ModuleClass]) -> list[ModuleClass]:
    """By name, a base before what derives from it."""
    by_name = {each.name: each for each in classes}
    found: dict[str, ModuleClass] = {}

    def add(each: ModuleClass) -> None:
        if each.base in by_name and each.base not in found:
            add(by_name[each.base])
        found.setdefault(each.name, each)

    for each in classes:
        add(each)
    return list(found.values())


def _text(each: ModuleClass) -> ClassText:
    converted = {name for name, value in each.attributes.items() if value != name}
    given = {p.name: p.annotation for p in each.init}
    annotations = [(name, "Any" if name in converted else given.get(name, "Any")) for name in each.attributes]
    annotations += [(name, "Any") for name in each.buffers]
    kept = [n for n in each.attributes] + ["reduction"] * (each.base in _LOSSES and not each.calls_base)
    call = f"{each.function.called}({', '.join(each.passed)})"
    needed = bool(each.init) or each.calls_base
    return ClassText(
        name=each.name,
        base=each.base,
        doc=each.doc or each.function.doc,
        constants=json.dumps(kept) if kept else "",
        annotations=annotations,
        init=_parameters(each.init) if needed else None,
        checks=each.checks,
        base_arguments=each.base_arguments,
        attributes=list(each.attributes.items()),
        buffers=each.buffers,
        forward=None if each.calls_base else _parameters(each.forward),
        forward_doc=f"``nn.functional.{each.function.called.removeprefix('F.')}`` of what it is given."
        if each.function.called.startswith("F.")
        else f"``{each.function.called}`` of what it is given.",
        input_checks=each.input_checks,
        returns=each.function.returns,
        call=call,
        shown=None if each.shown is None else _string(each.shown),
    )


def _string(text: str) -> str:
    """An f-string, or a plain one where nothing is put in."""
    return f'f"{text}"' if "{" in text else f'"{text}"'


def _parameters(given: Iterable[Parameter]) -> str:
    texts: list[str] = []
    starred = False
    for p in given:
        if p.keyword and not starred:
            texts.append("*")
            starred = True
        texts.append(str(p))
    return "".join(f", {text}" for text in texts)
