"""``profile``: a profile that goes on and off as a schedule says."""

from __future__ import annotations

import enum
import json
import os
import socket
import time
from collections.abc import Callable, Iterable
from typing import Any

from ..autograd import profiler as autograd_profiler
from ..autograd.profiler import EventList, record_function
from ..autograd.profiler.exports import Exports
from ..autograd.profiler.trace import Trace
from .schedule import ProfilerAction, always

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "supported_activities",
    "tensorboard_trace_handler",
]


def __dir__() -> list[str]:
    return sorted(__all__)


_RECORDS = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class ProfilerActivity(enum.Enum):
    """What can be profiled."""

    CPU = 0


def kineto_available() -> bool:
    """False: Kineto, PyTorch's profiler in C++, is not here. ``profile`` runs without it."""
    return False


def supported_activities() -> set[ProfilerActivity]:
    """What can be profiled here."""
    return {ProfilerActivity.CPU}


class profile(Exports):  # the user's spelling
    """``with profile() as prof:`` as ``autograd.profiler.profile``, for loops: ``prof.step()`` ends a step.

    ``schedule`` (see ``tengen.profiler.schedule``) says in which steps operators are recorded; without
    one they are from beginning to end. ``on_trace_ready(prof)`` is called each time that a stretch of
    recording is over; ``prof`` then has its events, and with ``acc_events`` those of earlier ones too.

    ``record_shapes``, ``profile_memory``, ``with_stack`` and ``experimental_config`` are those of
    ``autograd.profiler.profile``. AssertionError for activities other than the CPU, TypeError for a
    schedule or handler that cannot be called.
    """

    def __init__(
        self,
        *,
        activities: Iterable[ProfilerActivity] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_flops: bool = False,
        with_modules: bool = False,
        experimental_config: Any = None,
        acc_events: bool = False,
    ) -> None:
        self.activities = supported_activities() if activities is None else set(activities)
        if not self.activities or not self.activities <= supported_activities():
            raise AssertionError(
                f"profile(): No valid profiler activities found: expected ProfilerActivity.CPU, but got "
                f"{sorted(map(str, self.activities))}"
            )
        for word, function in (("schedule", schedule), ("on_trace_ready", on_trace_ready)):
            if function is not None and not callable(function):
                raise TypeError(
                    f"profile(): argument {word!r} must be callable, but got {type(function).__name__}"
                )
        self._options: dict[str, Any] = {
            "record_shapes": record_shapes,
            "profile_memory": profile_memory,
            "with_stack": with_stack,
            "with_flops": with_flops,
            "with_modules": with_modules,
            "experimental_config": experimental_config,
        }
        autograd_profiler.profile(**self._options)  # what it refuses is refused now
        self.with_stack = with_stack
        self.acc_events = acc_events
        self.schedule = always if schedule is None else schedule
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(0)
        #: The profile that is recorded, or was last; and the one that runs, be it only to warm up.
        self.profiler: autograd_profiler.profile | None = None
        self._running: autograd_profiler.profile | None = None
        self._step: record_function | None = None
        self._kept: list[EventList] = []
        self._metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with the step that has come; for use without ``with``."""
        self._change(None, self.current_action)
        self._begin_step()

    def stop(self) -> None:
        """End; what is being recorded is handed over. AssertionError when it was never begun."""
        if self.profiler is None and self.current_action in _RECORDS:
            raise AssertionError("Profiler must be initialized before stopping trace")
        self._end_step()
        self._change(self.current_action, None)

    def step(self) -> None:
        """End a step, and begin the next."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._change(before, self.current_action)
        self._begin_step()

    # -- steps ---------------------------------------------------------------------------

    def _begin_step(self) -> None:
        if self.record_steps and self._running is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        step, self._step = self._step, None
        if step is not None:
            step.__exit__(None, None, None)

    def _change(self, before: ProfilerAction | None, after: ProfilerAction | None) -> None:
        """Go from one step's action to the next one's; None before the first and after the last."""
        goes_on = before is after is ProfilerAction.WARMUP or (
            before is ProfilerAction.RECORD and after in _RECORDS
        )
        if goes_on:
            return
        self._end()
        if before in _RECORDS and self.on_trace_ready is not None:
            self.on_trace_ready(self)
        if after in (*_RECORDS, ProfilerAction.WARMUP):
            self._begin(after in _RECORDS)

    def _begin(self, recording: bool) -> None:
        self._running = autograd_profiler.profile(**self._options)
        if recording:
            self.profiler = self._running
        self._running.__enter__()

    def _end(self) -> None:
        ended, self._running = self._running, None
        if ended is not None:
            ended.__exit__(None, None, None)
            if self.acc_events and ended is self.profiler:
                self._kept.append(ended.function_events)

    # -- what came of it -----------------------------------------------------------------

    def _need(self, what: str) -> autograd_profiler.profile:
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {what}")
        return self.profiler

    def events(self) -> EventList:
        """The events of the last stretch of recording, or of all with ``acc_events``.

        AssertionError when nothing was recorded yet.
        """
        return self._listed("accessing events")

    def _listed(self, what: str) -> EventList:
        events = self._last(what)
        if not self.acc_events:
            return events
        return EventList([e for kept in self._kept for e in kept], profile_memory=events._profile_memory)

    def _last(self, what: str) -> EventList:
        return self._need(what).function_events

    def _trace(self, what: str) -> Trace:
        return self._need(what)._trace(what)._replace(metadata=self._metadata)

    def add_metadata(self, key: str, value: str) -> None:
        """Write a text into the trace file, under ``key``."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Write a value, given as JSON, into the trace file, under ``key``. ValueError for other text."""
        self._metadata[key] = json.loads(value)

    def toggle_collection_dynamic(self, enable: bool, activities: Iterable[ProfilerActivity]) -> None:
        """Stop to note anything, or begin to again, in the midst of a profile."""
        if self._running is not None and ProfilerActivity.CPU in set(activities):
            self._running.toggle_collection_dynamic(enable, activities)


def tensorboard_trace_handler(
    dir_name: Any, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes each trace to a file of its own in ``dir_name``, made if need be.

    Its name is ``<worker>.<time>.pt.trace.json``, as TensorBoard's plugin looks for; the worker is host
    and process unless it is given.
    """

    def handler(prof: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(os.fspath(dir_name), name))

    return handler
