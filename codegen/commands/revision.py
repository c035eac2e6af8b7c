"""What git knows of the declarations: one way to ask it."""

from __future__ import annotations

import subprocess
from pathlib import Path


class NotFound(Exception):
    """There is nothing to compare with; the text says why."""


def git_bytes(folder: Path, *arguments: str) -> bytes:
    """What a git command prints in a folder. Raises NotFound where there is no git, or it fails."""
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True)
    except FileNotFoundError:
        raise NotFound("git is not installed") from None
    if done.returncode:
        raise NotFound(f"git {arguments[0]}: {done.stderr.decode().strip()}")
    return done.stdout


def git(folder: Path, *arguments: str) -> str:
    """As ``git_bytes``, as text."""
    return git_bytes(folder, *arguments).decode()
