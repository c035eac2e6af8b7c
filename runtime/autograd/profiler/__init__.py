"""``tengen.autograd.profiler``: what ran, how often, and for how long."""

from __future__ import annotations

import time
import warnings
from typing import Any, NamedTuple

from ...core.user_stack import program_stacklevel
from ..profiler_util import DeviceType, EventList, FunctionEvent, FunctionEventAvg
from .events import events_of
from .exports import Exports
from .memory import MemoryRecord
from .record_function import record_function
from .recorder import AllThreadsRecorder, Recorder
from .trace import Trace

__all__ = [
    "DeviceType",
    "EventList",
    "FunctionEvent",
    "profile",
    "record_function",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class _ExperimentalConfig(NamedTuple):
    """Options that may change. ``profile_all_threads``: note what all threads do, not only this one.
    ``capture_overload_names``: events know the overloads of their operators."""

    profile_all_threads: bool = False
    capture_overload_names: bool = False
    verbose: bool = False


class profile(Exports):  # the user's spelling
    """``with profile() as prof:`` notes every operator that this thread runs within.

    Nodes of backward passes are noted too, and ranges named by ``record_function``. Operators that
    others are made of are noted within these.

    ``record_shapes`` notes the shapes of arguments, ``profile_memory`` the memory that results take
    up, ``with_stack`` where operators are called. With ``enabled=False`` nothing is done. A profile
    is for one use: RuntimeError when it is entered again. Profiles may be nested, and both note what
    runs. What comes of it is there when the block is left, by an exception too.

    NotImplementedError for ``with_flops``, AssertionError for ``use_cpu=False``. There are no
    devices: ``use_cuda`` and ``use_device`` are a warning. ``use_kineto`` and ``with_modules`` have no
    effect.
    """

    def __init__(
        self,
        enabled: bool = True,
        *,
        use_cuda: bool = False,
        use_device: str | None = None,
        record_shapes: bool = False,
        with_flops: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        with_modules: bool = False,
        use_kineto: bool = False,
        use_cpu: bool = True,
        experimental_config: Any = None,
        acc_events: bool = False,
    ) -> None:
        if not use_cpu:
            raise AssertionError("profile(): use_cpu=False leaves nothing to profile: there is only the CPU")
        if with_flops:
            raise NotImplementedError(
                "profile(): with_flops=True is not supported; utils.flop_counter.FlopCounterMode counts them"
            )
        if use_cuda or use_device is not None:
            device = use_device or "CUDA"
            warnings.warn(
                f"{device} is not available, disabling {device} profiling", stacklevel=program_stacklevel()
            )
        self.enabled = enabled
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.acc_events = acc_events
        self.experimental_config = experimental_config or _ExperimentalConfig()
        self.entered = False
        self._recorder: Recorder | None = None
        self._begun_at = 0
        self._finished = False
        self._events: EventList | None = None

    # -- recording -------------------------------------------------------------------------

    def __enter__(self) -> profile:
        if self.enabled:
            self._prepare()
            self._start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.enabled:
            try:
                self._stop()
            except BaseException:  # an interrupt before it has
                self._stop()
                raise

    def _prepare(self) -> None:
        """Be ready to start. RuntimeError when this was used before."""
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        kind = AllThreadsRecorder if self.experimental_config.profile_all_threads else Recorder
        self._recorder = kind(shapes=self.record_shapes, stacks=self.with_stack, memory=self.profile_memory)

    def _start(self) -> None:
        assert self._recorder is not None
        self._begun_at = time.time_ns()
        self._recorder.enter()

    def _stop(self) -> None:
        if self._recorder is not None and not self._finished:
            self._recorder.leave()
            self._finished = True

    def toggle_collection_dynamic(self, enabled: bool, activities: Any) -> None:
        """Stop to note anything, or begin to again, in the midst of the profile."""
        if self._recorder is not None:
            self._recorder.on = enabled

    # -- what came of it -------------------------------------------------------------------

    @property
    def function_events(self) -> EventList:
        """The events in the order in which they began; none before the block is left."""
        if self._events is None:
            if self._recorder is None or not self._finished:
                return EventList(profile_memory=self.profile_memory)
            self._events = events_of(self._recorder, self.experimental_config.capture_overload_names)
        return self._events

    def __repr__(self) -> str:
        return repr(self.function_events)

    def __str__(self) -> str:
        return str(self.function_events)

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
        """The events as a table; see ``EventList.table``."""
        return self.function_events.table(
            sort_by,
            row_limit,
            max_src_column_width,
            max_name_column_width,
            max_shapes_column_width,
            header,
            top_level_events_only,
            time_unit,
        )

    def total_average(self) -> FunctionEventAvg:
        """All events summed up."""
        return self.function_events.total_average()

    @property
    def self_cpu_time_total(self) -> float:
        """Microseconds of all events, without counting any twice."""
        return self.function_events.self_cpu_time_total

    def _listed(self, what: str) -> EventList:
        return self.function_events

    def _trace(self, what: str) -> Trace:
        recorder = self._recorder
        if recorder is None or not self._finished:
            raise RuntimeError("export_chrome_trace(): the profiler has not finished running")
        memory: list[MemoryRecord] = [] if recorder.memory is None else recorder.memory.records
        length = (recorder.ended - recorder.begun) / 1000
        return Trace(self.function_events, memory, recorder.begun, self._begun_at, length)
