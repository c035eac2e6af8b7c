"""Libraries in scratch folders, and processes that import them.

These tests import their neighbour by name.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import tengen

HERE = str(Path(__file__).resolve().parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)


@dataclass(frozen=True, slots=True)
class Workshop:
    """A folder with libraries, which the processes that it starts can import."""

    root: Path

    def run(self, *command: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run Python; what it writes to stderr is with its stdout."""
        found = [str(p.parent) for p in self.root.glob("*/pyproject.toml")]
        home = str(Path(tengen.__file__).parent.parent)  # of the tengen that is tested
        given = os.environ.get("PYTHONPATH", "")
        path = os.pathsep.join([*found, *([given] if given else [home])])
        return subprocess.run(
            [sys.executable, *command],
            cwd=cwd or self.root,
            env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def tengen(self, *arguments: str, folder: str = "") -> str:
        """Run a command of tengen in the folder of a library; it must succeed."""
        done = self.run("-m", "tengen.codegen.cli", *arguments, cwd=self.root / folder)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def fails(self, *arguments: str, folder: str = "") -> str:
        """Run a command of tengen that must not succeed; what it says."""
        done = self.run("-m", "tengen.codegen.cli", *arguments, cwd=self.root / folder)
        assert done.returncode == 1, done.stdout
        return done.stdout

    def python(self, program: str) -> str:
        """Run a program; it must succeed."""
        done = self.run("-W", "error::SyntaxWarning", "-c", program)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def raises(self, program: str) -> str:
        """Run a program that must end with an exception: the exception's line and its notes."""
        done = self.run("-c", program)
        assert done.returncode == 1, done.stdout
        return done.stdout

    def library(self, name: str, package: str | None = None, **files: str) -> Path:
        """A library with these files, which are given as ``folder__file_py``, and generated code."""
        root = self.root / (package or name)
        folder = root / (package or name)
        (folder / "declarations").mkdir(parents=True)
        lines = [f'library = "{name}"', *([f'package = "{package}"'] if package else [])]
        (root / "pyproject.toml").write_text("[tool.tengen]\n" + "\n".join(lines) + "\n")
        (folder / "__init__.py").write_text("from tengen.library import load\n\nload(__name__)\n")
        for key, text in files.items():
            *below, stem, suffix = key.split("__")
            path = folder.joinpath(*below) / f"{stem}.{suffix}"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return root


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """An empty folder for libraries."""
    return Workshop(tmp_path)


@pytest.fixture(scope="session")
def workshops(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Workshop]:
    """Makes folders for libraries that several tests share."""
    return lambda name: Workshop(tmp_path_factory.mktemp(name))


@pytest.fixture(scope="session")
def initial(workshops: Callable[[str], Workshop]) -> Workshop:
    """A folder with the library that ``tengen init mylib`` makes."""
    made = workshops("initial")
    made.tengen("init", "mylib")
    return made
