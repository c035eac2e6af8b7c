"""From what a Recorder noted to FunctionEvents: who ran within whom, what memory it took."""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from ..profiler_util import EventList, FunctionEvent
from .memory import MemoryRecord
from .recorder import BACKWARD_FUNCTION, MEMORY, USER_SCOPE, Place, Record, Recorder, TensorInput

_STEP = "ProfilerStep#"


def events_of(recorder: Recorder, overloads: bool = False) -> EventList:
    """The events of a profile that is over, in the order in which they began.

    ``overloads`` says whether they have their operators' overload names.
    """
    records = sorted(recorder.records, key=lambda record: record.opened)
    maker = _Maker(recorder, overloads)
    made = [maker.event(record) for record in records]
    _nest(records, made)
    _set_stacks(made, [record.node for record in records])
    dropped = _merge_repeated(made)
    events = [event for event in made if id(event) not in dropped]
    events += maker.memory_outside(records)
    events.sort(key=lambda event: event.id)
    return EventList(events, profile_memory=recorder.memory is not None)


class _Maker:
    """Makes the events of one profile."""

    def __init__(self, recorder: Recorder, overloads: bool) -> None:
        self.begun = recorder.begun
        self.overloads = overloads
        self.memory = _Memory([] if recorder.memory is None else recorder.memory.records)
        self.threads: dict[int, int] = {}
        for record in recorder.records:
            if not record.node and record.sequence_nr >= 0:
                self.threads.setdefault(record.sequence_nr, record.thread)
        self._places: dict[Place, str] = {}

    def event(self, record: Record) -> FunctionEvent:
        """One event, without its relatives."""
        step = record.scope == USER_SCOPE and record.name.startswith(_STEP)
        shown = record.inputs
        return FunctionEvent(
            record.opened,
            f"{_STEP[:-1]}*" if step else _qualified(record),
            record.thread,
            self.microseconds(record.start),
            self.microseconds(record.end),
            overload_name=_overload(record) if self.overloads else "",
            fwd_thread=self.threads.get(record.sequence_nr, 0) if record.node else 0,
            input_shapes=[list(v.shape) if isinstance(v, TensorInput) else [] for v in shown],
            stack=[self.place(place) for place in record.places],
            scope=record.scope,
            cpu_memory_usage=self.memory.within(record),
            is_async=record.is_async,
            sequence_nr=record.sequence_nr,
            trace_name=record.name if step else None,
            concrete_inputs=[_concrete(v) for v in shown],
            is_user_annotation=record.scope == USER_SCOPE,
            structured_input_shapes=[_of_tensors(v, "shape") for v in shown],
            structured_input_strides=[_of_tensors(v, "strides") for v in shown],
            input_dtypes=[_type_name(v) for v in shown],
            device_resource_id=record.native_thread,
            thread_name=record.thread_name,
        )

    def microseconds(self, clock: int) -> float:
        """A reading of the clock as microseconds since the profile began."""
        return (clock - self.begun) / 1000

    def place(self, place: Place) -> str:
        """``file.py(12): function``, the file as it is found from Python's path."""
        found = self._places.get(place)
        if found is None:
            code, line = place
            found = self._places[place] = f"{_short(code.co_filename)}({line}): {code.co_name}"
        return found

    def memory_outside(self, records: Sequence[Record]) -> list[FunctionEvent]:
        """An event for each piece of memory taken or given back while nothing ran."""
        made = []
        for found in self.memory.outside(records):
            at = self.microseconds(found.time)
            event = FunctionEvent(found.order, MEMORY, found.thread, at, at, cpu_memory_usage=found.bytes)
            made.append(event)
        return made


def _qualified(record: Record) -> str:
    if record.operator is None or "::" in record.name:  # a library's operators have its name already
        return record.name
    return f"tengen::{record.name}"


def _overload(record: Record) -> str:
    return "" if record.operator is None else record.operator.name.partition(".")[2]


def _short(path: str) -> str:
    """A file's path from the longest entry of Python's path that it is below."""
    entries = [os.path.join(os.path.abspath(entry), "") for entry in sys.path]
    prefix = max([entry for entry in entries if path.startswith(entry)], key=len, default="")
    return path[len(prefix) :]


# -- memory ----------------------------------------------------------------------------


class _Memory:
    """What was taken and given back, in order, in each thread."""

    def __init__(self, records: Sequence[MemoryRecord]) -> None:
        self.records: dict[int, list[MemoryRecord]] = {}
        for record in sorted(records):
            self.records.setdefault(record.thread, []).append(record)
        self.orders: dict[int, list[int]] = {}
        #: How much there is before each record, and at the end.
        self.sums: dict[int, list[int]] = {}
        for thread, found in self.records.items():
            self.orders[thread] = [record.order for record in found]
            total, sums = 0, [0]
            for record in found:
                total += record.bytes
                sums.append(total)
            self.sums[thread] = sums

    def within(self, record: Record) -> int:
        """The bytes taken less those given back while ``record`` ran, in its thread."""
        orders = self.orders.get(record.thread)
        if orders is None:
            return 0
        sums = self.sums[record.thread]
        return sums[bisect_left(orders, record.closed)] - sums[bisect_left(orders, record.opened)]

    def outside(self, records: Sequence[Record]) -> list[MemoryRecord]:
        """What happened while none of ``records``, which are in order, ran in its thread."""
        left = []
        for thread, found in self.records.items():
            spans = [(r.opened, r.closed) for r in records if r.thread == thread]
            index, reach = 0, 0
            for record in found:
                while index < len(spans) and spans[index][0] < record.order:
                    reach = max(reach, spans[index][1])
                    index += 1
                if record.order > reach:
                    left.append(record)
        return left


# -- relatives -------------------------------------------------------------------------


def _nest(records: Sequence[Record], events: Sequence[FunctionEvent]) -> None:
    """Tell each event in which it ran: the innermost that was open from its beginning to its end."""
    open_: dict[int, list[tuple[int, FunctionEvent]]] = {}
    for record, event in zip(records, events, strict=True):
        if event.is_async:
            continue
        stack = open_.setdefault(record.thread, [])
        while stack and stack[-1][0] < record.closed:
            stack.pop()
        if stack:
            parent = stack[-1][1]
            parent.append_cpu_child(event)
            event.set_cpu_parent(parent)
        stack.append((record.closed, event))


def _set_stacks(events: Sequence[FunctionEvent], nodes: Sequence[bool]) -> None:
    """Give each Node, and what ran in it, the stack of the operator that it belongs to."""
    stacks: dict[int, list[str]] = {}
    belongs: dict[int, int] = {}
    for event, node in zip(events, nodes, strict=True):
        parent = event.cpu_parent
        if node and event.scope == BACKWARD_FUNCTION:
            belongs[id(event)] = event.sequence_nr
        elif parent is not None and id(parent) in belongs:
            belongs[id(event)] = belongs[id(parent)]
        elif event.sequence_nr >= 0 and not node:
            stacks.setdefault(event.sequence_nr, event.stack)
    for event in events:
        if id(event) in belongs:
            event.stack = stacks.get(belongs[id(event)], [])


def _merge_repeated(events: Sequence[FunctionEvent]) -> set[int]:
    """Put what is all that ran in an event of its own name in the place of that; the ids of what went."""
    dropped: set[int] = set()
    for event in events:
        while len(event.cpu_children) == 1 and event.cpu_children[0].name == event.name:
            child = event.cpu_children[0]
            dropped.add(id(child))
            event.cpu_children = child.cpu_children
            for grandchild in event.cpu_children:
                grandchild.set_cpu_parent(event)
    return dropped


# -- arguments ---------------------------------------------------------------------------


def _of_tensors(value: Any, attribute: str) -> list[Any]:
    """A Tensor's shape or strides; of a list of Tensors those of each; [] of anything else."""
    if isinstance(value, TensorInput):
        return list(getattr(value, attribute))
    if isinstance(value, list) and any([isinstance(v, TensorInput) for v in value]):
        return [_of_tensors(v, attribute) for v in value]
    return []


def _concrete(value: Any) -> Any:
    """An argument that is no Tensor and no list of them."""
    if isinstance(value, TensorInput):
        return None
    if isinstance(value, list) and any([isinstance(v, TensorInput) for v in value]):
        return None
    return value


def _type_name(value: Any) -> str:
    if isinstance(value, TensorInput):
        return value.dtype
    if isinstance(value, list):
        return "TensorList" if any([isinstance(v, TensorInput) for v in value]) else "ScalarList"
    return "" if value is None else "Scalar"
