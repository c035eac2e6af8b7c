"""short_reports.py: what is sent of a passed test is what the terminal and xdist read of it."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from short_reports import (
    Together,
    pytest_configure_node,
    pytest_report_from_serializable,
    pytest_report_to_serializable,
)

PLACE = "tests/a.py::test_a[1]", ("tests/a.py", 3, "test_a[1]"), {"test_a[1]": 1}


def report(outcome: str = "passed", **more: object) -> pytest.TestReport:
    """The report of a call."""
    return pytest.TestReport(*PLACE, outcome, None, "call", duration=0.5, start=1.0, stop=1.5, **more)


def test_a_report_comes_back() -> None:
    data = pytest_report_to_serializable(report())
    assert data is not None
    found, wanted = vars(pytest_report_from_serializable(data)), vars(report())
    assert found | {"keywords": None} == wanted | {"keywords": None}


@pytest.mark.parametrize(
    "kept",
    [
        report("failed"),
        report("skipped"),
        report(sections=[("Captured stdout call", "text")]),
        report(user_properties=[("name", "value")]),
        report(wasxfail="reason"),
        pytest.CollectReport("tests/a.py", "passed", None, []),
    ],
    ids=["failed", "skipped", "printed", "properties", "xpassed", "collected"],
)
def test_what_says_more_is_sent_whole(kept: object) -> None:
    assert pytest_report_to_serializable(kept) is None


def test_reports_of_others_are_theirs() -> None:
    assert pytest_report_from_serializable({"$report_type": "TestReport"}) is None


class Worker:
    """What is read of a worker of xdist, and of its controller."""

    def __init__(self, tests: int) -> None:
        self.channel = self
        self.torun = SimpleNamespace(_items=range(tests))
        self.workerinput: dict[str, Any] = {}
        self.config = self
        self.heard: list[Any] = []
        self.process_from_remote: Callable[[Any], None] = self.heard.append
        pytest_configure_node(self)

    def send(self, message: object) -> None:
        self.process_from_remote(message)


@pytest.fixture(autouse=True)
def files_of_the_test(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Temporary files lie in the test's own folder."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def test_events_are_told_together_and_in_order() -> None:
    worker = Worker(tests=100)
    send = Together(worker).sendevent
    events = [
        ("testreport", {"data": pytest_report_to_serializable(report())}),
        ("runtest_protocol_complete", {"item_index": 1, "duration": 0.5}),
        ("unscheduled", {"indices": []}),
    ]
    for name, what in events:
        assert worker.heard == []
        send(name, **what)
    assert worker.heard == events


def test_what_somebody_waits_for_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    worker = Worker(tests=100)
    send = Together(worker).sendevent
    send("testreport", data={"$report_type": "TestReport"})  # failed, or says more
    worker.torun._items = range(Together.FEW)  # the worker wants more soon
    send("runtest_protocol_complete", item_index=1)
    worker.torun._items = range(100)
    monkeypatch.setattr(Together, "MOMENT", 0.0)
    send("runtest_protocol_complete", item_index=2)
    assert [name for name, _ in worker.heard] == ["testreport", *["runtest_protocol_complete"] * 2]


def test_an_event_that_is_being_written_is_heard_when_it_is_whole() -> None:
    worker = Worker(tests=100)
    together = Together(worker)
    told = pickle.dumps(("runtest_protocol_complete", {"item_index": 1, "duration": [0.5] * 3000}))
    for half in (told[:7], told[7:5000], told[5000:-1]):
        together.file.write(half)
        together.worker.send((Together.NAME, {}))
        assert worker.heard == []
    together.file.write(told[-1:])
    together.sendevent("unscheduled", indices=[])
    assert worker.heard == [pickle.loads(told), ("unscheduled", {"indices": []})]


def test_what_a_worker_told_before_it_crashed_is_heard() -> None:
    worker = Worker(tests=100)
    together = Together(worker)
    together.sendevent("runtest_protocol_complete", item_index=1)
    together.file.write(pickle.dumps("cut off")[:-1])
    assert worker.heard == []
    end = object()  # what execnet says where a channel ends
    worker.process_from_remote(end)
    assert worker.heard == [("runtest_protocol_complete", {"item_index": 1}), end]
    assert not Path(worker.workerinput[Together.FILE]).exists()
