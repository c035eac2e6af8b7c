"""What became of a function: its programs, what of them is called as it is, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tengen.ir.fuse.nodes import Eager, Product

from .entries import Entry, Stage
from .executable import Executable
from .function import Compiled


@dataclass(frozen=True)
class Report:
    """The programs of a function; ``str`` of it is a text to read."""

    name: str
    text: str
    #: How many kinds of calls have a program, and how many are made as they are written.
    programs: int
    eager: int

    def __str__(self) -> str:
        return self.text

    __repr__ = __str__


def explain(function: Callable[..., Any], *args: Any, **keywords: Any) -> Report:
    """Call a function, compiled or not, until its program is made, and say what it is."""
    compiled = function if isinstance(function, Compiled) else Compiled(function, {})
    compiled(*args, **keywords)
    compiled(*args, **keywords)
    lines = [f"{compiled._name}:"]
    for number, entry in enumerate(compiled.entries):
        lines += [f"  call {number}: {_kind(entry)}", *[f"    {line}" for line in _lines(entry)]]
    ready = [entry for entry in compiled.entries if entry.stage is not Stage.EAGER]
    return Report(compiled._name, "\n".join(lines), len(ready), len(compiled.entries) - len(ready))


def _kind(entry: Entry) -> str:
    tensors = [f"{t[1].dtype.name}{list(t[2])}" for t in entry.signature.tensors]
    plain = [repr(value) for _, value in entry.signature.plain]
    return ", ".join([*tensors, *plain])


def _lines(entry: Entry) -> list[str]:
    if entry.stage is Stage.EAGER:
        return [f"it is called as it is written: {entry.reason}"]
    lines: list[str] = []
    history, trace = entry.history, entry.trace
    if history is not None:
        lines += _executable("forward", history.forward) + _executable("backward", history.backward)
        found = history.captured
    else:
        assert trace is not None
        lines += _executable("program", trace.executable)
        found = trace.captured
    for node, reason in found.eager:
        lines.append(f"called as it is: {node.operator.name} ({node.source}): {reason}")
    effects, state = entry.effects, entry.state
    if effects is not None:
        count = sum([len(step.counters) for step in effects.steps.found])
        lines.append(f"gradients of {len(effects.gradients)} tensors, steps of {count} parameters")
    guards = 0 if state is None else len(state.named) + len(state.cells) + len(state.functions)
    lines.append(f"guards: {len(entry.signature.tensors)} tensors, {len(entry.held)} held, {guards} objects")
    return lines


def _executable(what: str, executable: Executable) -> list[str]:
    module = executable.module
    lines = [
        f"{what}: {len(module.groups)} groups in {len(module.steps)} steps, arena of {module.arena} bytes"
    ]
    for number, group in enumerate(module.groups):
        if group.is_loops:
            kind = f"loops over {list(group.space)}, {group.passes} passes"
        else:
            node = group.nodes[0]
            kind = {Eager: "eager call", Product: "product by BLAS"}.get(
                type(node), type(node).__name__.lower()
            )
        names = dict.fromkeys([_operator(node) for node in group.nodes])
        lines.append(f"  group {number}: {kind}: {', '.join(filter(None, names))}")
    return lines


def _operator(node: Any) -> str:
    source = node.source
    if source is None:
        return ""
    place = "" if source.source is None else f" ({source.source.short})"
    return f"{source.operator.name}{place}"
