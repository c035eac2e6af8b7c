"""A scratch copy of the project, which may be changed; in its processes ``tengen`` is the copy."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tengen.codegen.read.entries import mechanism_of

PROJECT = Path(__file__).resolve().parents[2]
FOLDERS = ("codegen", "declarations", "generated", "ir", "runtime", "templates", "tests")
#: What the generator knows of the same files.
KEPT = ("generated.json", "declared.pickle", "base.pickle", "rendered.json", "lowered.txt", "forms.txt")


@dataclass(frozen=True, slots=True)
class Scratch:
    """A copy of the project, and the environment in which its processes import it."""

    root: Path
    environment: Mapping[str, str]

    def run(
        self, *command: str, shell: bool = False, limit: float | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run a command in the copy's folder; what it writes to stderr is with its stdout.

        Raises subprocess.TimeoutExpired when it takes longer than ``limit`` seconds.
        """
        return subprocess.run(
            " ".join(command) if shell else command,
            shell=shell,
            cwd=self.root,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=limit,
        )

    def python(self, *arguments: str, limit: float | None = None) -> subprocess.CompletedProcess[str]:
        """Run the interpreter of the tests."""
        return self.run(sys.executable, *arguments, limit=limit)


def tree(root: Path) -> Path:
    """The folder in which the copy is importable as ``tengen``, made as ``dev.py`` makes it."""
    spec = importlib.util.spec_from_file_location("dev", PROJECT / "dev.py")
    assert spec is not None and spec.loader is not None
    dev = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(dev)
    return Path(dev.tree(root))


def copy_project(root: Path, names: Iterable[str] = FOLDERS, project: Path = PROJECT) -> Scratch:
    """Copy folders and files of the project, or of a copy of it, to ``root``, with pyproject.toml."""
    root.mkdir(parents=True, exist_ok=True)
    for name in names:
        source = project / name
        if source.is_dir():
            # Compiled files come along, for the copies have the times of their sources: not those of tests,
            # which few copies run.
            shutil.copytree(source, root / name, ignore=shutil.ignore_patterns(".*", "*-pytest-*.pyc"))
        else:
            shutil.copy2(source, root)
    for kept in KEPT:
        if (project / ".cache" / kept).is_file():
            (root / ".cache").mkdir(exist_ok=True)
            shutil.copy2(project / ".cache" / kept, root / ".cache")
    shutil.copy2(project / "pyproject.toml", root)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = os.pathsep.join((str(Path(sys.executable).parent), kept.get("PATH", "")))
    return Scratch(root, {**kept, "PYTHONPATH": str(tree(root)), "PATH": path})


def leave_declarations(folder: Path, *kept: str) -> None:
    """Remove the files that declare operators, but for those of these names."""
    for path in folder.iterdir():
        if path.is_file() and mechanism_of(path) is not None and path.name not in kept:
            path.unlink()


def keep_declarations(copy: Scratch, *kept: str) -> None:
    """Of the files that declare operators only those of these names are left, and what they generate.

    What the commands do with a declaration does not depend on how many there are; how long they take does.
    """
    leave_declarations(copy.root / "declarations", *kept)
    done = copy.python("-m", "tengen.codegen.gen")
    assert done.returncode == 0, done.stdout


def commit_all(folder: Path) -> None:
    """Make a repository of a folder, with one commit of all that is in it."""
    for command in (
        ["init", "-q"],
        ["-c", "core.looseCompression=0", "add", "."],  # the objects live for a test
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=folder, check=True)
