"""What tests of several concerns share: tengen and torch, a scratch copy, the numbers of threads."""

from __future__ import annotations

import gc
import importlib.util
import os
import re
import sys
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

if (HELPERS := str(Path(__file__).resolve().parent / "helpers")) not in sys.path:
    sys.path[:0] = [str(Path(HELPERS).parent), HELPERS, str(Path(HELPERS).with_name("collecting"))]

from in_threads import set_thread_counts, thread_counts
from narrowed import pytest_generate_tests as pytest_generate_tests, unasked
from scratch import Scratch, copy_project
from short_reports import (
    pytest_configure_node as pytest_configure_node,
    pytest_report_from_serializable as pytest_report_from_serializable,
    pytest_report_to_serializable as pytest_report_to_serializable,
    send_less,
)


def pytest_configure(config: pytest.Config) -> None:
    """Workers send little, and the BLAS of each, and torch, has its share of the processors.

    Else its threads, which it asks for matrices of any size, wait for a processor that another worker has:
    milliseconds for what takes microseconds, spinning.
    """
    send_less(config)
    if workers := config.getoption("numprocesses", None):
        share = (os.cpu_count() or 1) // int(workers)
        for library in ("OPENBLAS", "MKL"):  # torch has as many threads as MKL, or as this variable says
            os.environ.setdefault(f"{library}_NUM_THREADS", str(max(1, share)))


def pytest_collection(session: pytest.Session) -> None:
    """Nothing that is collected becomes garbage."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """The tests that were collected are no work for the collector: ``gc.collect()`` is in many tests."""
    gc.freeze()
    gc.enable()
    gc.unfreeze = unfreeze


#: What thaws all objects, as ``resize_`` of shared memory does; and whether a test did.
_unfreeze = gc.unfreeze
_thawed: list[bool] = []


def unfreeze() -> None:
    """``gc.unfreeze``, noted: ``gc.get_freeze_count`` counts a million objects each time."""
    _unfreeze()
    _thawed.append(True)


#: The numbers of threads and the environment when a test begins.
BEFORE = pytest.StashKey[tuple[dict[str, int], dict[bytes, bytes]]]()
#: What of the environment the processes heed that tests start; torch and others keep notes there, too.
HEEDED = re.compile(r"\w+_NUM_THREADS|(TENGEN|OPENBLAS|NPY|MALLOC|PYTHON(?!HASHSEED)|LD)_?\w*|PATH|HOME")
#: Folders whose tests run commands, in processes of their own, for seconds each.
LONG = frozenset({"codegen", "commands", "docs", "gpu", "library"})


def long_first(items: list[pytest.Item], workers: int) -> list[pytest.Item]:
    """The tests in an order in which the share of each worker begins with what takes long.

    ``--dist worksteal`` cuts the list into shares of one size, and takes from the end of one for another: of
    what takes long each would wait for the other.
    """
    files: dict[Path, list[pytest.Item]] = {}
    for item in items:
        files.setdefault(item.path, []).append(item)
    long = [path for path in files if path.parent.name in LONG]
    rest = [item for path, tests in files.items() if path.parent.name not in LONG for item in tests]
    found: list[pytest.Item] = []
    for worker in range(workers):
        begin, size = len(found), (len(items) - len(found)) // (workers - worker)
        for path in long[worker::workers]:
            found += files[path]
        taken = max(0, size - (len(found) - begin))
        found, rest = found + rest[:taken], rest[taken:]
    return found + rest


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the comparisons with torch where it is not: a third of the suite, slow to skip singly."""
    if mark := unasked(config):
        compared = [item for item in items if item.get_closest_marker(mark) is not None]
        config.hook.pytest_deselected(items=compared)
        items[:] = [item for item in items if item.get_closest_marker(mark) is None]
    if hasattr(config, "workerinput"):
        items[:] = long_first(items, config.workerinput["workercount"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say that nothing was compared with torch."""
    if unasked(config):
        terminalreporter.write_line("torch is not installed: NOTHING WAS COMPARED WITH IT", yellow=True)


def environment() -> dict[bytes, bytes]:
    """The environment as it is stored: of each test it is asked twice, and to decode it takes as long."""
    return dict(os.environ._data)  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)  # before what skips a test, which ends its setup
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test that is marked ``oracle`` runs only where torch is installed."""
    item.stash[BEFORE] = thread_counts(), environment()
    if item.get_closest_marker("oracle") is not None and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """A test leaves the numbers of threads as they were, and the environment of what others start.

    The bits of large products depend on both. What it thawed is frozen again, but for the garbage that it
    made; to look for that among the tests that were collected, too, takes two seconds.
    """
    yield
    if _thawed:
        _thawed.clear()
        gc.collect(1)
        gc.freeze()
    (before, kept), after = item.stash[BEFORE], thread_counts()
    if not before.items() <= after.items():  # a library may have been loaded
        set_thread_counts(before)
        pytest.fail(f"threads: {before} before it, {after} after it; it needs the fixture threads_kept")
    stored = {name for name, _ in kept.items() ^ environment().items()}
    changed = {name: kept.get(s) for s in stored if HEEDED.fullmatch(name := os.fsdecode(s))}
    for name, value in changed.items():
        os.environ.pop(name, None)
        os.environ.update({} if value is None else {name: os.fsdecode(value)})
    if changed:
        pytest.fail(f"it changed {sorted(changed)} in the environment; monkeypatch undoes that")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What is skipped for want of torch must be marked, or CI would never run it."""
    report = yield
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    if re.search(r"(?<![\w-])torch(?![\w-])", reason) and item.get_closest_marker("oracle") is None:
        report.outcome = "failed"
        report.longrepr = f"{reason}: a test that needs torch is marked oracle"
    return report


@pytest.fixture(params=["tengen", pytest.param("torch", marks=pytest.mark.oracle)])
def m(request: pytest.FixtureRequest) -> Any:
    """tengen, and where it is installed torch: a test of both."""
    return pytest.importorskip(request.param)


@pytest.fixture
def torch() -> Any:
    """torch, where it is installed: a test that is marked ``oracle``."""
    return pytest.importorskip("torch")


@pytest.fixture
def threads_kept() -> Iterator[None]:
    """What the test makes of the numbers of threads is undone."""
    before = thread_counts()
    yield
    set_thread_counts(before)


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A scratch copy of the project."""
    return copy_project(tmp_path / "project")
