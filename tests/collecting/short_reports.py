"""Reports of tests that passed, as short as they can be sent from a worker of pytest-xdist, and together.

A passed test says little, and there are seventy thousand of them: what pytest writes of each, its keywords
and its sections, costs more to send and to read than most of the tests take. That its setup and teardown
passed, and that it begins and ends, is not sent at all where nobody has asked to see it. And of what
is sent messages tell only ten times a second: each wakes threads of two processes, for a millisecond of each.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pytest import Config, TestReport, hookimpl

#: What tells a short report from others, and what a report has that says nothing but that a test passed.
KIND = "Passed"
ATTRIBUTES = frozenset(vars(TestReport("", ("", 0, ""), {}, "passed", None, "call")))

#: What xdist tells of when each test begins and ends; only verbose output shows it.
MARGINS = frozenset({"logstart", "logfinish"})


def send_less(config: Config) -> None:
    """A worker sends no more than the terminal of the controller shows."""
    option = config.option
    shown = option.verbose > 0 or option.durations is not None or getattr(option, "xmlpath", None)
    worker = next((p for p in config.pluginmanager.get_plugins() if hasattr(p, "sendevent")), None)
    if worker is not None and not shown:
        worker.sendevent = Together(worker).sendevent


class Together:
    """What a worker tells: events in a file, and messages that the controller should read it.

    What a worker told before it crashed stands there, so that the test in which it crashed is named.
    """

    #: The name of a message, and that of the file among what a worker is given.
    NAME, FILE = "together", "events"
    #: For how many seconds an event may wait, which ones may, and how many tests are then left to run.
    MOMENT, FEW = 0.1, 10
    PATIENT = frozenset({"testreport", "runtest_protocol_complete"})

    def __init__(self, worker: Any) -> None:
        self.worker = worker
        self.file = open(worker.config.workerinput[self.FILE], "ab", buffering=0)  # noqa: SIM115
        self.sent = time.monotonic()
        self.lock = threading.Lock()  # what a worker gives back another thread tells

    def sendevent(self, name: str, **what: Any) -> None:
        """Write an event, and tell that it is there unless that may wait."""
        if says_nothing(name, what):
            return
        with self.lock:
            self.file.write(pickle.dumps((name, what)))
            if not self.may_wait(name, what):
                self.worker.channel.send((self.NAME, {}))
                self.sent = time.monotonic()

    def may_wait(self, name: str, what: dict[str, Any]) -> bool:
        """Whether nobody wants to know an event now: nothing failed, and there are tests enough to run."""
        passed = name != "testreport" or what["data"]["$report_type"] == KIND
        busy = len(self.worker.torun._items) > self.FEW
        return name in self.PATIENT and passed and busy and time.monotonic() - self.sent < self.MOMENT


@hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """The controller of a worker reads the events at each message, and at its end."""
    handle, path = tempfile.mkstemp()
    node.workerinput[Together.FILE] = path
    file, process = os.fdopen(handle, "rb"), node.process_from_remote

    def processed(message: Any) -> None:
        for event in _read(file):
            process(event)
        if type(message) is not tuple:  # the end
            file.close()
            Path(path).unlink(missing_ok=True)
        if type(message) is not tuple or message[0] != Together.NAME:
            process(message)

    node.process_from_remote = processed


def _read(file: IO[bytes]) -> Iterator[Any]:
    """The events that stand in a file behind those that were read, as far as they are whole.

    The last may be half of one, which is being written, or was when a worker was killed.
    """
    while True:
        place = file.tell()
        try:
            event = pickle.load(file)
        except (EOFError, pickle.UnpicklingError):
            file.seek(place)
            return
        yield event


def says_nothing(name: str, what: dict[str, Any]) -> bool:
    """Whether an event of xdist is shown nowhere."""
    if name != "testreport":
        return name in MARGINS
    data = what["data"]
    return data["$report_type"] == KIND and data["of"][4] != "call"


def pytest_report_to_serializable(report: Any) -> dict[str, Any] | None:
    """The short form of a report, where nothing is lost by it."""
    if type(report) is not TestReport or report.outcome != "passed" or report.longrepr is not None:
        return None
    if report.sections or report.user_properties or not vars(report).keys() <= ATTRIBUTES:
        return None
    file, line, name = report.location
    times = report.duration, report.start, report.stop
    return {"$report_type": KIND, "of": (report.nodeid, file, line, name, report.when, *times)}


def pytest_report_from_serializable(data: dict[str, Any]) -> TestReport | None:
    """The report that a short form is of; it has no keywords."""
    if data["$report_type"] != KIND:
        return None
    nodeid, file, line, name, when, duration, start, stop = data["of"]
    return TestReport(
        nodeid, (file, line, name), {}, "passed", None, when, duration=duration, start=start, stop=stop
    )
