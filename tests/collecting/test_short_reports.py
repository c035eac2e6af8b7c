"""short_reports.py: what is sent of a passed test is what the terminal and xdist read of it."""

from __future__ import annotations

import pytest
from short_reports import pytest_report_from_serializable, pytest_report_to_serializable

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
