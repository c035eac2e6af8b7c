"""Reports of tests that passed, as short as they can be sent from a worker of pytest-xdist.

A passed test says little, and there are seventy thousand of them: what pytest writes of each, its keywords
and its sections, costs more to send and to read than most of the tests take. That its setup and teardown
passed, and that it begins and ends, is not sent at all where nobody has asked to see it.
"""

from __future__ import annotations

from typing import Any

from pytest import Config, TestReport

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
        send = worker.sendevent
        worker.sendevent = lambda name, **what: None if says_nothing(name, what) else send(name, **what)


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
