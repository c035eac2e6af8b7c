"""What can be asked of a profile that is over: sums and files. Both profilers do it so."""

from __future__ import annotations

from typing import Any

from ..profiler_util import EventList
from .trace import Trace, write_trace


class Exports:
    """Sums and files of the events of a class that says which these are.

    What asks is told to ``_listed`` and ``_trace``, for their errors: "exporting stacks".
    """

    with_stack: bool

    def _listed(self, what: str) -> EventList:
        """The events to sum up."""
        raise NotImplementedError

    def _last(self, what: str) -> EventList:
        """The events to write: of the last stretch of recording."""
        return self._listed(what)

    def _trace(self, what: str) -> Trace:
        """What a trace file has."""
        raise NotImplementedError

    def key_averages(
        self,
        group_by_input_shape: bool = False,
        group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:
        """The events summed up by name; see ``EventList.key_averages``."""
        events = self._listed("getting key averages")
        return events.key_averages(group_by_input_shape, group_by_stack_n, group_by_overload_name)

    def export_chrome_trace(self, path: Any) -> None:
        """Write the last stretch of recording as a Chrome trace, for Perfetto or chrome://tracing.

        It is gzipped for ``*.gz``. RuntimeError or AssertionError before there is one.
        """
        write_trace(path, self._trace("exporting chrome trace"))

    def export_stacks(self, path: Any, metric: str = "self_cpu_time_total") -> None:
        """Write the stacks, weighed by ``metric``, as flame graphs are drawn of.

        AssertionError without ``with_stack``, ValueError for an unknown metric.
        """
        events = self._last("exporting stacks")
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        events.export_stacks(path, metric)
