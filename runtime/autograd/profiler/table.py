"""A list of events as a table, laid out as PyTorch's is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..profiler_util import format_memory, format_time, format_time_share

_WIDTH = 12
_GAP = "  "


class Layout(NamedTuple):
    """What the user asks of a table."""

    name_width: int | None
    shapes_width: int | None
    source_width: int | None
    header: str | None
    top_level_only: bool
    time_unit: str | None
    row_limit: int


class Column(NamedTuple):
    """A column: its title, how wide it is, its cell of an event."""

    title: str
    width: int
    cell: Callable[[Any], str]
    left: bool = False

    def write(self, text: str) -> str:
        return (text.ljust(self.width) if self.left else text.rjust(self.width)) + _GAP


def build_table(events: Sequence[Any], layout: Layout, memory: bool) -> str:
    """The table of the events in their order; "" when there are none."""
    if not events:
        return ""
    total = sum([event.self_cpu_time_total for event in events])
    columns = _columns(events, layout, memory, total)
    rule = "".join(["-" * column.width + _GAP for column in columns])
    double = "=" * (sum([column.width + len(_GAP) for column in columns]) - len(_GAP))
    lines = []
    if layout.header is not None:
        lines += [double, layout.header]
    if layout.top_level_only:
        lines += [double, "This report only display top-level ops statistics"]
    lines += [rule, "".join([column.write(column.title) for column in columns]), rule]
    for event in _shown(events, layout):
        lines.append("".join([column.write(column.cell(event)) for column in columns]))
        if columns[-1].left:
            lines += _rest_of_stack(event, columns)
    lines += [rule, f"Self CPU time total: {format_time(total, layout.time_unit)}"]
    return "\n".join(lines) + "\n"


def _shown(events: Sequence[Any], layout: Layout) -> list[Any]:
    """The events that have a row."""
    found = [e for e in events if not (layout.top_level_only and e.cpu_parent is not None)]
    return found if layout.row_limit < 0 else found[: layout.row_limit]


def _columns(events: Sequence[Any], layout: Layout, memory: bool, total: float) -> list[Column]:
    unit = layout.time_unit
    width = _fitted([event.key for event in events], layout.name_width)
    columns = [Column("Name", width, lambda e: _cut(e.key, layout.name_width))]
    if any(event.overload_name for event in events):
        columns.append(Column("Overload Name", width, lambda e: _cut(e.overload_name, layout.name_width)))
    columns += [
        Column("Self CPU %", _WIDTH, lambda e: format_time_share(e.self_cpu_time_total, total)),
        Column("Self CPU", _WIDTH, lambda e: format_time(e.self_cpu_time_total, unit)),
        Column(
            "CPU total %",
            _WIDTH,
            lambda e: "0" if e.is_async else format_time_share(e.cpu_time_total, total),
        ),
        Column("CPU total", _WIDTH, lambda e: format_time(e.cpu_time_total, unit)),
        Column("CPU time avg", _WIDTH, lambda e: format_time(e.cpu_time, unit)),
    ]
    if memory:
        columns += [
            Column("CPU Mem", _WIDTH, lambda e: format_memory(e.cpu_memory_usage)),
            Column("Self CPU Mem", _WIDTH, lambda e: format_memory(e.self_cpu_memory_usage)),
        ]
    columns.append(Column("# of Calls", _WIDTH, lambda e: str(e.count)))
    if any(event.input_shapes for event in events):
        shapes = _fitted([str(event.input_shapes) for event in events], layout.shapes_width)
        columns.append(Column("Input Shapes", shapes, lambda e: str(e.input_shapes)[:shapes]))
    places = [place for event in events for place in event.stack]
    if places:
        source = _fitted(places, layout.source_width)
        columns.append(
            Column("Source Location", source, lambda e: _tail(e.stack[0], source) if e.stack else "", True)
        )
    return columns


def _rest_of_stack(event: Any, columns: Sequence[Column]) -> list[str]:
    """The lines below an event's: the outer places of its stack, and an empty one."""
    blank = "".join([column.write("") for column in columns[:-1]])
    source = columns[-1]
    return [blank + source.write(_tail(place, source.width)) for place in [*event.stack[1:], ""]]


def _fitted(texts: Sequence[str], limit: int | None) -> int:
    """The width of a column of these texts."""
    width = max([len(text) for text in texts]) + 4
    return width if limit is None else min(width, limit)


def _cut(name: str, limit: int | None) -> str:
    """A name that is too long, without its end."""
    return name if limit is None or len(name) < limit - 3 else name[: limit - 3] + "..."


def _tail(place: str, width: int) -> str:
    """A place that is too long, without its beginning."""
    return place if len(place) <= width else "..." + place[len(place) - width + 3 :]
