"""Chrome traces: the JSON that Perfetto and chrome://tracing open.

Its parts are those of the "Trace Event Format": complete events (ph X) for what ran, instants (i)
for memory, pairs of flow events (s, f) from an operator to its Node, metadata (M) for names. Complete
events of a thread must nest; a range that does not is a pair of asynchronous events (b, e).
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..profiler_util import FunctionEvent
from .memory import MemoryRecord
from .recorder import BACKWARD_FUNCTION, EVALUATE, MEMORY

_FLOW = "fwdbwd"


class Trace(NamedTuple):
    """What is written of a profile."""

    events: Sequence[FunctionEvent]
    #: All memory that was taken and given back, with times in ns, and when the profile began.
    memory: Sequence[MemoryRecord] = ()
    begun: int = 0
    #: Nanoseconds since 1970 when the profile began, and microseconds until it ended.
    base: int = 0
    length: float | None = None
    #: What the user adds to the file.
    metadata: Mapping[str, Any] = {}


def write_trace(path: Any, trace: Trace) -> None:
    """Write a trace as JSON; gzipped when the path ends in ``.gz``."""
    content = json.dumps(as_json(trace), ensure_ascii=False, allow_nan=False)
    path = os.fspath(path)
    if path.endswith(".gz"):
        with gzip.open(path, "wt", encoding="utf-8") as file:
            file.write(content)
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)


def as_json(trace: Trace) -> dict[str, Any]:
    """The trace as the object that is written."""
    events = [event for event in trace.events if isinstance(event, FunctionEvent)]
    ran = [event for event in events if event.device_resource_id]  # no memory outside all others
    return {
        "schemaVersion": 1,
        "deviceProperties": [],
        **trace.metadata,
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": trace.base,
        "traceEvents": [
            *_names(ran),
            *_ran(ran),
            *_flows(ran),
            *_memory(trace, events),
            *_span(trace),
        ],
    }


def _names(events: Sequence[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """What process and threads are called, and how they are sorted."""
    pid = os.getpid()

    def meta(name: str, tid: int, /, **args: Any) -> dict[str, Any]:
        return {"ph": "M", "name": name, "ts": 0, "pid": pid, "tid": tid, "args": args}

    yield meta("process_name", 0, name="python")
    yield meta("process_sort_index", 0, sort_index=pid)
    threads = {event.device_resource_id: event for event in events}
    for tid, event in threads.items():
        yield meta("thread_name", tid, name=f"thread {tid} ({event.thread_name})")
        yield meta("thread_sort_index", tid, sort_index=event.thread)


def _ran(events: Sequence[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """What ran, from when to when."""
    ends: dict[int, list[float]] = {}
    for event in events:
        start, end = event.time_range.start, event.time_range.end
        open_ = ends.setdefault(event.device_resource_id, [])
        while open_ and open_[-1] <= start:
            open_.pop()
        slice_ = _slice(event)
        if event.is_async or (open_ and open_[-1] < end):
            pair = {**slice_, "id": event.id}
            yield {**pair, "ph": "b"}
            yield {**pair, "ph": "e", "ts": end, "args": {}}
        else:
            open_.append(end)
            yield {**slice_, "ph": "X", "dur": round(end - start, 3)}  # whole nanoseconds


def _slice(event: FunctionEvent) -> dict[str, Any]:
    """An event's name, beginning and arguments."""
    args: dict[str, Any] = {"External id": event.id}
    if event.sequence_nr >= 0:
        args["Sequence number"] = event.sequence_nr
        args["Fwd thread id"] = event.fwd_thread or 0
    if event.overload_name:
        args["Overload name"] = event.overload_name
    if event.input_dtypes:
        args["Input Dims"] = event.structured_input_shapes
        args["Input Strides"] = event.structured_input_strides
        args["Input type"] = event.input_dtypes
        args["Concrete Inputs"] = ["" if v is None else str(v) for v in event.concrete_inputs]
    if event.stack:
        args["Call stack"] = ";".join(event.stack)
    return {
        "cat": "user_annotation" if event.is_user_annotation else "cpu_op",
        "name": event.trace_name,
        "pid": os.getpid(),
        "tid": event.device_resource_id,
        "ts": event.time_range.start,
        "args": args,
    }


def _flows(events: Sequence[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """An arrow from the innermost operator that made a Node to each run of that Node."""
    origins: dict[int, FunctionEvent] = {}
    number = 0
    for event in events:
        if event.sequence_nr < 0:
            continue
        if event.scope == BACKWARD_FUNCTION:
            origin = origins.get(event.sequence_nr)
            if origin is not None:
                number += 1
                yield {"ph": "s", "id": number, **_flow_end(origin)}
                yield {"ph": "f", "id": number, "bp": "e", **_flow_end(event)}
        elif not event.name.startswith(EVALUATE):  # a Node's turn has the number too
            origins[event.sequence_nr] = event


def _flow_end(event: FunctionEvent) -> dict[str, Any]:
    return {
        "cat": _FLOW,
        "name": _FLOW,
        "pid": os.getpid(),
        "tid": event.device_resource_id,
        "ts": event.time_range.start,
    }


def _memory(trace: Trace, events: Sequence[FunctionEvent]) -> Iterator[dict[str, Any]]:
    """An instant for each piece of memory, with how much there is then of what the profile saw."""
    tids = {event.thread: event.device_resource_id for event in events if event.device_resource_id}
    total = 0
    for record in sorted(trace.memory):
        total += record.bytes
        yield {
            "ph": "i",
            "s": "t",
            "cat": "cpu_instant_event",
            "name": MEMORY,
            "pid": os.getpid(),
            "tid": tids.get(record.thread, 0),
            "ts": (record.time - trace.begun) / 1000,
            "args": {"Total Allocated": total, "Bytes": record.bytes, "Device Type": 0, "Device Id": -1},
        }


def _span(trace: Trace) -> Iterator[dict[str, Any]]:
    """The profile itself, from its beginning to its end."""
    if trace.length is None:
        return
    yield {
        "ph": "X",
        "cat": "Trace",
        "name": "tengen profiler",
        "pid": os.getpid(),
        "tid": 0,
        "ts": 0,
        "dur": trace.length,
        "args": {"Op count": len(trace.events)},
    }
