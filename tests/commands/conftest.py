"""A scratch copy of the project, and the command in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from scratch import commit_all, copy_project, keep_declarations

if TYPE_CHECKING:
    from conftest import Scratch

if (HERE := str(Path(__file__).parent)) not in sys.path:
    sys.path.insert(0, HERE)

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def project_of_few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project that declares the operators of one file, which tests copy."""
    made = copy_project(tmp_path_factory.mktemp("few") / "project")
    keep_declarations(made, "native_functions.unary.yaml")
    return made.root


@pytest.fixture
def few(project_of_few: Path, tmp_path: Path) -> Scratch:
    """A scratch copy in which commands take a fraction of the time; tengen does not run there."""
    return copy_project(tmp_path / "project", project=project_of_few)


@pytest.fixture
def tengen(scratch: Scratch) -> Command:
    """``tengen("fmt", "--check")`` in the scratch copy."""

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return scratch.python("-m", "tengen.codegen.cli", *arguments)

    return command


@pytest.fixture
def repository(scratch: Scratch) -> Scratch:
    """The scratch copy with a commit of all that declares operators."""
    commit_all(scratch.root)
    return scratch
