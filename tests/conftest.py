"""What tests of several concerns share: a scratch copy of the project."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
FOLDERS = ("codegen", "declarations", "generated", "runtime", "templates", "tests")


@dataclass(frozen=True, slots=True)
class Scratch:
    """A copy of the project that a test may change; in its processes ``tengen`` is the copy."""

    root: Path
    environment: Mapping[str, str]

    def run(self, *command: str, shell: bool = False) -> subprocess.CompletedProcess[str]:
        """Run a command in the copy's folder; what it writes to stderr is with its stdout."""
        return subprocess.run(
            " ".join(command) if shell else command,
            shell=shell,
            cwd=self.root,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def python(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the interpreter of the tests."""
        return self.run(sys.executable, *arguments)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What is skipped for want of torch must be marked, or CI would never run it."""
    report = yield
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    if "torch" in reason and item.get_closest_marker("oracle") is None:
        report.outcome = "failed"
        report.longrepr = f"{reason}: a test that needs torch is marked oracle"
    return report


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    """A scratch copy of the project."""
    root = tmp_path / "project"
    for name in FOLDERS:
        # Compiled files come along: the copies have the times of their sources.
        shutil.copytree(PROJECT / name, root / name, ignore=shutil.ignore_patterns(".*"))
    shutil.copy2(PROJECT / "pyproject.toml", root)
    spec = importlib.util.spec_from_file_location("dev", PROJECT / "dev.py")
    assert spec is not None and spec.loader is not None
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), kept.get("PATH", "")))
    return Scratch(root, {**kept, "PYTHONPATH": str(dev.tree(root)), "PATH": path})
