"""A scratch copy of the project, and the command in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Scratch

if (HERE := str(Path(__file__).parent)) not in sys.path:
    sys.path.insert(0, HERE)

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def tengen(scratch: Scratch) -> Command:
    """``tengen("fmt", "--check")`` in the scratch copy."""

    def command(*arguments: str) -> subprocess.CompletedProcess[str]:
        return scratch.python("-m", "tengen.codegen.cli", *arguments)

    return command


@pytest.fixture
def repository(scratch: Scratch) -> Scratch:
    """The scratch copy with a commit of all that declares operators."""
    for command in (
        ["init", "-q"],
        ["-c", "core.looseCompression=0", "add", "."],  # the objects live for a test
        ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ):
        subprocess.run(["git", *command], cwd=scratch.root, check=True)
    return scratch
