"""Recorder: the observer that notes what ran when; and what it notes.

Recording is as little as it can be: a clock, and references. Names, shapes as lists and places in
the source are made of that when the profile is over (``profiler.events_of``).
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from time import perf_counter_ns
from types import CodeType
from typing import Any

from ...core.interception import Layer
from ...core.protocols import Node
from ...core.tensor_base import TensorBase
from ...core.thread_state import current_thread, propagated
from ...core.user_stack import program_frames
from ..node import LEAF_SEQUENCE_NR, GraphRoot, next_sequence_nr
from .memory import MemoryLog, Owners

#: What an event is of, as PyTorch numbers it (RecordScope).
FUNCTION, BACKWARD_FUNCTION, USER_SCOPE = 0, 1, 7

#: The name of a Node's turn begins so; and that of memory taken or given back while nothing ran.
EVALUATE = "autograd::engine::evaluate_function: "
MEMORY = "[memory]"

#: Counts beginnings, ends and allocations, in all threads: who is within whom is told by it and
#: not by the clock, on which two things may happen at once.
tick = itertools.count(1).__next__

Place = tuple[CodeType, int]


class _Thread(threading.local):
    """This thread's number, small, and the operating system's."""

    _next = itertools.count(1).__next__

    def __init__(self) -> None:
        self.number = self._next()
        self.native = threading.get_native_id()
        self.name = threading.current_thread().name


_thread = propagated(_Thread())


class Record:
    """One thing that ran: an operator, a Node, a range that the user named."""

    __slots__ = (
        "closed",
        "end",
        "inputs",
        "is_async",
        "name",
        "native_thread",
        "node",
        "opened",
        "operator",
        "places",
        "scope",
        "sequence_nr",
        "start",
        "thread",
        "thread_name",
    )

    def __init__(self, name: str, operator: Any = None, scope: int = FUNCTION) -> None:
        self.name = name
        #: The Operator; None for what is none.
        self.operator = operator
        self.scope = scope
        self.thread, self.native_thread, self.thread_name = _thread.number, _thread.native, _thread.name
        self.inputs: tuple[Any, ...] = ()
        self.places: tuple[Place, ...] = ()
        self.sequence_nr = -1
        #: Whether this is a Node's, or its turn's: then its number says which operator it belongs to.
        self.node = False
        self.is_async = False
        self.start = self.end = 0
        self.opened = self.closed = 0


class Recorder(Layer):
    """Notes the operators of its thread, the Nodes that the engine runs there, and named ranges."""

    observer = True

    def __init__(self, *, shapes: bool, stacks: bool, memory: bool) -> None:
        self.records: list[Record] = []
        self.shapes = shapes
        self.stacks = stacks
        self.memory = MemoryLog(tick, lambda: _thread.number) if memory else None
        #: Whether it notes anything just now.
        self.on = True
        self.begun = self.ended = 0

    def enter(self) -> None:
        self.begun = perf_counter_ns()
        super().enter()

    def leave(self) -> None:
        super().leave()
        self.ended = perf_counter_ns()
        if self.memory is not None:
            self.memory.close()
        for record in self.records:  # a range whose end has not come, or another thread's operator
            if not record.closed:
                record.end, record.closed, record.is_async = self.ended, tick(), True

    # -- what is noted -------------------------------------------------------------------

    def begin(
        self, name: str, inputs: tuple[Any, ...] = (), operator: Any = None, scope: int = FUNCTION
    ) -> Record:
        """Open a record. What of ``inputs`` is a Tensor or array is described, not kept."""
        record = Record(name, operator, scope)
        if self.shapes:
            record.inputs = tuple([described(value) for value in inputs])
        if self.stacks and scope != BACKWARD_FUNCTION:  # a Node is given its operator's
            record.places = places()
        self.records.append(record)
        record.opened = tick()
        record.start = perf_counter_ns()
        return record

    def end(self, record: Record) -> None:
        """Close a record, unless the profile was over before."""
        if not record.closed:
            record.end = record.end or perf_counter_ns()
            record.is_async = record.thread != _thread.number
            record.closed = tick()

    def __call__(self, operator: Any, arguments: tuple[Any, ...], proceed: Callable[..., Any]) -> Any:
        if not self.on:
            return proceed(*arguments)
        memory = self.memory
        before = None if memory is None else Owners(arguments)
        since = next_sequence_nr()
        record = self.begin(operator.function, arguments, operator)
        try:
            result = proceed(*arguments)
            record.end = perf_counter_ns()
            record.sequence_nr = _recorded(result, since)
            if before is not None and memory is not None:
                memory.made(result, before, record.end)
            return result
        finally:
            self.end(record)

    def begin_function(self, name: str, arguments: tuple[Any, ...], number: int) -> Record | None:
        if not self.on:
            return None
        record = self.begin(name, arguments)
        record.sequence_nr = number
        return record

    def end_function(self, begun: Record | None) -> None:
        if begun is not None:
            self.end(begun)

    # -- the backward pass ---------------------------------------------------------------

    def evaluate(self, node: Node, run: Callable[[], Any]) -> Any:
        if not self.on or node.__class__ is GraphRoot:
            return run()
        record = self.begin(EVALUATE + node.name())
        _belongs(record, node)
        try:
            return run()
        finally:
            self.end(record)

    def apply(self, node: Node, given: list[Any], run: Callable[[], Any]) -> Any:
        if not self.on or node.__class__ is GraphRoot:
            return run()
        memory = self.memory
        grads = given[0] if given[0].__class__ is tuple else (given[0],)
        before = None if memory is None else Owners((*grads, _accumulated(node)))
        record = self.begin(node.name(), grads, scope=BACKWARD_FUNCTION)
        del grads
        _belongs(record, node)
        try:
            result = run()
            record.end = perf_counter_ns()
            if before is not None and memory is not None:
                memory.made((*result, _accumulated(node)), before, record.end)
            return result
        finally:
            self.end(record)


class AllThreadsRecorder(Recorder):
    """Notes what all threads do, those too that ran before it."""

    @property
    def thread(self) -> int:
        return current_thread.ident

    @thread.setter
    def thread(self, value: int) -> None:
        pass


def _belongs(record: Record, node: Node) -> None:
    """Note which Node a record is of. The accumulators of leaves belong to no operator."""
    record.node = True
    if node.sequence_nr != LEAF_SEQUENCE_NR:
        record.sequence_nr = node.sequence_nr


def _accumulated(node: Node) -> Any:
    """The gradient of the leaf whose accumulator a Node is; None of other Nodes, or when there is none."""
    variable = getattr(node, "variable", None)
    meta = getattr(variable, "_meta", None)
    return None if meta is None else meta.grad


def _recorded(result: Any, since: int) -> int:
    """The sequence number of the Node of an operator's result, when it is newer than ``since``; or -1."""
    for value in result if result.__class__ in (tuple, list) else (result,):
        edge = value._edge if isinstance(value, TensorBase) else None
        if edge is not None and since < edge[0].sequence_nr < LEAF_SEQUENCE_NR:
            number: int = edge[0].sequence_nr
            return number
    return -1


# -- arguments ------------------------------------------------------------------------


class TensorInput:
    """What is noted of a Tensor or array: shape, strides and dtype."""

    __slots__ = ("dtype", "shape", "strides")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], dtype: str) -> None:
        self.shape = shape
        self.strides = strides
        self.dtype = dtype


def described(value: Any) -> Any:
    """An argument as it is noted: no reference to a Tensor or array is kept."""
    if isinstance(value, TensorBase):
        T, array = value._type, value._array
        name = T.scalar_type.name
        return TensorInput(tuple(array.shape), tuple(T.backend.lib.strides(array)), name)
    if value is None or value.__class__ in (bool, int, float, complex, str):
        return value
    if value.__class__ in (list, tuple):
        return [described(v) for v in value]
    if hasattr(value, "shape") and hasattr(value, "dtype"):  # a backend's array: a gradient
        size = value.dtype.itemsize
        strides = tuple([s // size for s in getattr(value, "strides", ())])
        return TensorInput(tuple(value.shape), strides, str(value.dtype))
    return str(value)


# -- places in the source -------------------------------------------------------------------


def places() -> tuple[Place, ...]:
    """Where the user's code is: code and line of each of the program's frames, the innermost first."""
    return tuple([(frame.f_code, frame.f_lineno) for frame in program_frames()])
