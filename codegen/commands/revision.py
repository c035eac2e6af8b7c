"""What git knows of the declarations: one way to ask it."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ..model.diagnostics import CommandError


class NotFound(CommandError):
    """There is nothing to compare with; the text says why."""


class Failed(NotFound):
    """A git command has failed; the text is what it said."""


def git_bytes(folder: Path, *arguments: str) -> bytes:
    """What a git command prints in a folder. Raises NotFound where there is no git, Failed where it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True)
    except FileNotFoundError:
        raise NotFound("git is not installed") from None
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise Failed(f"git {arguments[0]}: {said.partition(chr(10))[0]}")
    return done.stdout


def git(folder: Path, *arguments: str) -> str:
    """As ``git_bytes``, as text."""
    return git_bytes(folder, *arguments).decode(errors="replace")


def commit_of(folder: Path, revision: str) -> tuple[Path, str]:
    """The repository that a folder is in, and the commit that a revision is there. Raises NotFound."""
    try:
        root = Path(git(folder, "rev-parse", "--show-toplevel").strip())
    except Failed:
        raise NotFound(f"{folder} is in no repository of git: there is nothing to compare with") from None
    try:
        commit = git(root, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    except Failed:
        raise NotFound(f'"{revision}" is no revision of the repository in {root}') from None
    return root, commit.strip()
