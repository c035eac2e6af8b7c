"""What a profile is made of: events, their averages, and lists of both. The names are PyTorch's."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["DeviceType", "EventList", "FunctionEvent", "FunctionEventAvg", "Interval"]


def __dir__() -> list[str]:
    return sorted(__all__)


class DeviceType(enum.Enum):
    """Where an event ran: on the CPU, that is."""

    CPU = 0


class Interval:
    """A stretch of time, in microseconds since the profile began."""

    def __init__(self, start: float, end: float) -> None:
        self.start = start
        self.end = end

    def elapsed_us(self) -> float:
        """Its length in microseconds."""
        return self.end - self.start

    def __repr__(self) -> str:
        return f"Interval({self.start}, {self.end})"


# -- how numbers are written -----------------------------------------------------------

_TIMES = {"s": 1e6, "ms": 1e3, "us": 1.0}
_SIZES = {"GB": 1 << 30, "MB": 1 << 20, "KB": 1 << 10}


def format_time(us: float, unit: str | None = None) -> str:
    """Microseconds in ``unit`` ("s", "ms", "us"), or in the one that suits them."""
    if unit not in _TIMES:
        unit = next((u for u, factor in _TIMES.items() if us >= factor), "us")
    return f"{us / _TIMES[unit]:.3f}{unit}"


def format_time_share(us: float, total_us: float) -> str:
    """A time as a part of the whole."""
    return f"{us * 100 / total_us:.2f}%" if total_us else "NaN"


def format_memory(count: int) -> str:
    """A number of bytes in the unit that suits it."""
    for unit, factor in _SIZES.items():
        if abs(count) >= factor:
            return f"{count / factor:.2f} {unit}"
    return f"{count} B"


class FormattedTimesMixin:
    """Averages and texts of what a FunctionEvent and a FunctionEventAvg both have."""

    count: int
    cpu_time_total: Any
    self_cpu_time_total: Any

    #: There are no devices but the CPU.
    use_device: str | None = None
    device_time: float = 0.0
    device_time_total: float = 0
    self_device_time_total: float = 0
    device_memory_usage: int = 0
    self_device_memory_usage: int = 0

    @property
    def cpu_time(self) -> float:
        """Microseconds of one call, on average."""
        average: float = self.cpu_time_total / self.count if self.count else 0.0
        return average

    @property
    def cpu_time_str(self) -> str:
        """``cpu_time`` with its unit: "12.000us"."""
        return format_time(self.cpu_time)

    @property
    def cpu_time_total_str(self) -> str:
        """``cpu_time_total`` with its unit: "12.000us"."""
        return format_time(self.cpu_time_total)

    @property
    def self_cpu_time_total_str(self) -> str:
        """``self_cpu_time_total`` with its unit: "12.000us"."""
        return format_time(self.self_cpu_time_total)


class FunctionEvent(FormattedTimesMixin):
    """One thing that ran: an operator, a Node of the backward pass, a range that the user named.

    ``time_range`` is in microseconds since the profile began. ``cpu_time_total`` and
    ``cpu_memory_usage`` include what ran within it, the ``cpu_children``; ``self_cpu_time_total``
    and ``self_cpu_memory_usage`` do not. ``sequence_nr`` ties an operator to its Node: both have the
    same; -1 where nothing was recorded. ``input_shapes`` has a list for each argument, empty for
    what is no Tensor, and for a list of Tensors, whose shapes are in ``structured_input_shapes``.
    ``stack`` is where it was called, the innermost place first; of a Node and what runs in it, where
    its operator was called.
    """

    def __init__(
        self,
        id: int,
        name: str,
        thread: int,
        start_us: float,
        end_us: float,
        overload_name: str = "",
        fwd_thread: int = 0,
        input_shapes: list[Any] | None = None,
        stack: list[str] | None = None,
        scope: int = 0,
        cpu_memory_usage: int = 0,
        is_async: bool = False,
        sequence_nr: int = -1,
        trace_name: str | None = None,
        concrete_inputs: list[Any] | None = None,
        is_user_annotation: bool = False,
        structured_input_shapes: list[Any] | None = None,
        structured_input_strides: list[Any] | None = None,
        input_dtypes: list[str] | None = None,
        device_resource_id: int = 0,
        thread_name: str = "",
    ) -> None:
        self.id = id
        self.node_id = -1
        self.name = name
        self.overload_name = overload_name
        self.trace_name = name if trace_name is None else trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.thread_name = thread_name
        self.fwd_thread = fwd_thread
        self.count = 1
        self.cpu_children: list[FunctionEvent] = []
        self.cpu_parent: FunctionEvent | None = None
        self.input_shapes: Any = input_shapes or []
        self.concrete_inputs = concrete_inputs or []
        self.kwinputs: dict[str, Any] = {}
        self.stack = stack or []
        self.scope = scope
        self.cpu_memory_usage = cpu_memory_usage
        self.is_async = is_async
        self.is_remote = False
        self.is_legacy = False
        self.sequence_nr = sequence_nr
        self.device_type = DeviceType.CPU
        self.device_index = 0
        #: The operating system's number of the thread.
        self.device_resource_id = device_resource_id
        self.is_user_annotation = is_user_annotation
        self.structured_input_shapes = structured_input_shapes or []
        self.structured_input_strides = structured_input_strides or []
        self.input_dtypes = input_dtypes or []

    @property
    def key(self) -> str:
        """What events are grouped by."""
        return self.name

    @property
    def cpu_time_total(self) -> float:
        """Microseconds from its beginning to its end."""
        return self.time_range.elapsed_us()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds that were not spent in the events within this one; 0 for one of several threads."""
        if self.is_async:  # its time is not that of one thread
            return 0
        return self.cpu_time_total - sum([child.cpu_time_total for child in self.cpu_children])

    @property
    def self_cpu_memory_usage(self) -> int:
        """Bytes that were not taken by the events within this one; 0 for one of several threads."""
        if self.is_async:
            return 0
        return self.cpu_memory_usage - sum([child.cpu_memory_usage for child in self.cpu_children])

    def append_cpu_child(self, child: FunctionEvent) -> None:
        """Add an event that ran within this one, and in none that did so too."""
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent: FunctionEvent) -> None:
        """Say within which event this one ran."""
        self.cpu_parent = parent

    def __repr__(self) -> str:
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"cpu_time={self.cpu_time_str} start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={[child.id for child in self.cpu_children]} thread={self.thread} "
            f"input_shapes={self.input_shapes} cpu_memory_usage={self.cpu_memory_usage} "
            f"is_async={self.is_async} seq_nr={self.sequence_nr}>"
        )


class FunctionEventAvg(FormattedTimesMixin):
    """Events of one key, summed up. What is no sum is the first event's."""

    def __init__(self) -> None:
        self.key: str | None = None
        self.count = 0
        self.node_id = -1
        self.is_async = False
        self.is_remote = False
        self.is_legacy = False
        self.is_user_annotation = False
        self.cpu_time_total: float = 0
        self.self_cpu_time_total: float = 0
        self.cpu_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list[str] = []
        self.scope: int | None = None
        self.cpu_children: list[FunctionEvent] | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU

    def add(self, other: Any) -> FunctionEventAvg:
        """Add an event, or another sum, of the same key.

        ValueError for one of another key, TypeError for what is neither.
        """
        if not isinstance(other, FunctionEvent | FunctionEventAvg):
            raise TypeError(f"FunctionEventAvg.add(): expected an event, but got {type(other).__name__}")
        if self.key is None:
            self._take(other)
        elif other.key != self.key:
            raise ValueError(f"FunctionEventAvg.add(): expected an event {self.key!r}, but got {other.key!r}")
        self._sum(other)
        return self

    __iadd__ = add

    def _take(self, other: FunctionEvent | FunctionEventAvg) -> None:
        self.key = other.key
        self.is_async = other.is_async
        self.is_user_annotation = other.is_user_annotation
        self.cpu_parent = other.cpu_parent
        self.cpu_children = other.cpu_children
        self.input_shapes = other.input_shapes
        self.overload_name = other.overload_name
        self.stack = other.stack
        self.scope = other.scope

    def _sum(self, other: FunctionEvent | FunctionEventAvg) -> None:
        self.count += other.count
        self.cpu_time_total += other.cpu_time_total
        self.self_cpu_time_total += other.self_cpu_time_total
        self.cpu_memory_usage += other.cpu_memory_usage
        self.self_cpu_memory_usage += other.self_cpu_memory_usage

    def __repr__(self) -> str:
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage}>"
        )


_METRICS = ("self_cpu_time_total",)


class EventList(list[Any]):
    """The events of a profile, in the order in which they began; or their averages."""

    def __init__(
        self, events: Iterable[Any] = (), *, profile_memory: bool = False, use_device: str | None = None
    ) -> None:
        super().__init__(events)
        self._profile_memory = profile_memory
        self._use_device = use_device

    def __str__(self) -> str:
        return self.table()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, without counting any twice."""
        total: float = sum([event.self_cpu_time_total for event in self])
        return total

    def table(
        self,
        sort_by: str | None = None,
        row_limit: int = 100,
        max_src_column_width: int | None = 75,
        max_name_column_width: int | None = 55,
        max_shapes_column_width: int | None = 80,
        header: str | None = None,
        top_level_events_only: bool = False,
        time_unit: str | None = None,
    ) -> str:
        """The list as a table; "" when it is empty.

        ``sort_by`` names an attribute ("self_cpu_time_total", "count" ...), the greatest first;
        AttributeError when there is no such. At most ``row_limit`` rows are shown, all when it is
        negative; ``top_level_events_only`` leaves out what ran within something else. Columns are at
        most so wide, without limit for None. ``time_unit`` is "s", "ms" or "us" for all times.
        """
        from .profiler.table import Layout, build_table

        widths = max_name_column_width, max_shapes_column_width, max_src_column_width
        layout = Layout(*widths, header, top_level_events_only, time_unit, row_limit)
        events: list[Any] = list(self)
        if sort_by is not None:
            events.sort(key=lambda event: getattr(event, sort_by), reverse=True)
        return build_table(events, layout, self._profile_memory)

    def key_averages(
        self,
        group_by_input_shapes: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """A FunctionEventAvg for each name, in the order in which the names first came.

        Names are told apart by shapes, by the innermost ``group_by_stack_n`` places of the stack, by
        overload, where that is asked for.
        """
        sums: dict[tuple[Any, ...], FunctionEventAvg] = {}
        for event in self:
            key = (
                event.key,
                event.is_user_annotation,
                event.overload_name if group_by_overload_name else "",
                str(event.input_shapes) if group_by_input_shapes else "",
                tuple(event.stack[:group_by_stack_n]),
            )
            sums.setdefault(key, FunctionEventAvg()).add(event)
        for found in sums.values():
            found.stack = found.stack[:group_by_stack_n]
            found.input_shapes = found.input_shapes if group_by_input_shapes else ""
            found.overload_name = found.overload_name if group_by_overload_name else ""
        return EventList(sums.values(), profile_memory=self._profile_memory)

    def total_average(self) -> FunctionEventAvg:
        """All events summed up, as "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key
            total.add(event)
        total.key = "Total"
        return total

    def export_chrome_trace(self, path: Any) -> None:
        """Write the events as a Chrome trace, for Perfetto or chrome://tracing; gzipped for ``*.gz``."""
        from .profiler.trace import Trace, write_trace

        write_trace(path, Trace(self))

    def supported_export_stacks_metrics(self) -> list[str]:
        """What ``export_stacks`` can weigh stacks by."""
        return list(_METRICS)

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write a line for each event that has a stack and took time: outermost place first, and the time.

        That is what flame graphs are drawn of. ValueError for another metric.
        """
        if metric not in _METRICS:
            raise ValueError(f"metric should be one of: {list(_METRICS)}, but got {metric!r}")
        with open(path, "w", encoding="utf-8") as file:
            for line in self._stack_lines(metric):
                file.write(line)

    def _stack_lines(self, metric: str) -> Iterator[str]:
        blanks = str.maketrans(" ;\t\n", "____")
        for event in self:
            value = int(getattr(event, metric))
            if event.stack and value > 0:
                yield ";".join([place.translate(blanks) for place in reversed(event.stack)]) + f" {value}\n"
