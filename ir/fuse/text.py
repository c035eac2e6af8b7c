"""Text: programs, schedules and memory as tests and people read them."""

from __future__ import annotations

from collections.abc import Sequence

from ..writer import write
from .memory import Plan
from .nodes import (
    Arg,
    Eager,
    Fill,
    Input,
    Node,
    Pick,
    Pieces,
    Places,
    Pointwise,
    Product,
    Reduce,
    Scatter,
    Table,
)
from .schedule import Schedule
from .views import contiguous


def program_text(nodes: Sequence[Node]) -> str:
    """A line for each node, as ``%2 : float32[4, 8] = a0 + a1 (%0, %1[8, 0])``: with strides not in step."""
    names: dict[Node, str] = {}
    return "\n".join([_line(node, names) for node in nodes])


def _line(node: Node, names: dict[Node, str]) -> str:
    given = ", ".join([_operand(arg, node, names) for arg in node.args])
    return f"{_name(node, names)} : {node.dtype}{list(node.shape)} = {_what(node)} ({given})"


def _name(node: Node, names: dict[Node, str]) -> str:
    if isinstance(node, Input):
        return f"input{node.number}"
    if isinstance(node, Fill):
        return repr(node.value)
    if isinstance(node, Places):
        return "places"
    return names.setdefault(node, f"%{len(names)}")


def _operand(arg: Arg, user: Node, names: dict[Node, str]) -> str:
    found = _name(arg.node, names)
    in_step = arg.strides == contiguous(user.space) and arg.node.shape == user.space
    strides = "" if in_step or isinstance(arg.node, Eager) else str(list(arg.strides))
    return f"{found}{strides}{f' + {arg.offset}' if arg.offset else ''}"


def _what(node: Node) -> str:
    match node:
        case Pointwise():
            return "cast" if node.is_cast else write(node.expr)
        case Reduce():
            return f"{node.fold} over {list(node.axes)} of {list(node.loops)}"
        case Pick():
            return f"pick by {node.step}"
        case Scatter():
            start = "a copy" if node.elsewhere else "0"
            return f"{node.how} in {start} by {list(node.steps)} and {node.step} of {list(node.loops)}"
        case Product():
            return f"product {node.sizes}"
        case Pieces():
            places = [f"{list(p.shape)} at {p.offset}" for p in node.places]
            return f"pieces {'; '.join(places)}{'' if node.covered else ', else 0'}"
        case Table():
            return "table"
    return type(node).__name__.lower()


def schedule_text(schedule: Schedule) -> str:
    """A line for each group: its loops, those of rows before a bar, and in which pass what is computed."""
    names: dict[Node, str] = {}
    for group in schedule.groups:
        for node in group.nodes:
            for each in (*[arg.node for arg in node.args], node):
                _name(each, names)
    lines = []
    for number, group in enumerate(schedule.groups):
        if not group.is_loops:
            lines.append(f"{number}: call {' '.join([names[n] for n in group.nodes])}")
            continue
        passes: list[list[str]] = [[] for _ in range(group.passes)]
        for node in group.nodes:
            mark = "late " if node in group.late else "row " if node in group.of_rows else ""
            passes[group.level[node]].append(f"{mark}{names[node]}")
        loops = f"{list(group.rows)}|{list(group.row)}" if group.outer is not None else str(list(group.space))
        lines.append(f"{number}: {loops}: {'; '.join([', '.join(each) for each in passes])}")
    return "\n".join(lines)


def memory_text(plan: Plan) -> str:
    """Where buffers are, in the order in which they were given places."""
    names: dict[Node, str] = {}
    slots = [(_name(node, names), slot) for node, slot in plan.slots.items()]
    lines = [f"{name}: {slot.home.value} {slot.number}" for name, slot in slots]
    return "\n".join([*lines, f"arena: {plan.arena.size}"])
