"""Shared libraries of a table's kernels, built in advance: by llvmlite and a linker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from . import lowering
from .compiler import machine_of, object_code
from .library import Contents, checksum, contents_path, path_of
from .processor import Target, architecture
from .tables import Table


class CannotBuild(Exception):
    """Why there is no library for a target."""


def build(table: Table, target: Target, folder: Path) -> Path:
    """Make the library for a target, on this operating system. Raises CannotBuild where the linker fails."""
    linker = link_command(target)
    machine = machine_of(triple(target), target.cpu)
    path = path_of(table, target, folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".building-") as scratch:
        objects = []
        for name, kernel in table.kernels.items():
            objects.append(Path(scratch) / f"{name}.o")
            objects[-1].write_bytes(
                object_code(lowering.texts(table, kernel), machine, quiet=kernel.is_over_rows)
            )
        made = Path(scratch) / path.name
        done = subprocess.run([*linker, "-o", made, *objects], capture_output=True, text=True)
        if done.returncode:
            raise CannotBuild(f"{linker[0]} fails: {done.stderr.strip()}")
        contents = Contents(table.key(), checksum(made.read_bytes()), tuple(table.kernels))
        described = Path(scratch) / "contents"
        described.write_text(contents.text(), encoding="utf-8")
        os.replace(made, path)
        os.replace(described, contents_path(path))
    return path


def triple(target: Target) -> str:
    """LLVM's name of a target, on this operating system."""
    if sys.platform == "darwin":
        return f"{'arm64' if target.architecture == 'aarch64' else target.architecture}-apple-darwin"
    if sys.platform == "win32":
        return f"{target.architecture}-w64-windows-gnu"
    return f"{target.architecture}-unknown-linux-gnu"


def link_command(target: Target) -> Sequence[str]:
    """A command that links a shared library for a target, less its output and its objects.

    Libraries need nothing but what C's library has, and the interpreter has loaded that. Raises CannotBuild
    without a compiler or a linker for the target.
    """
    options = ["-shared", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]
    if sys.platform.startswith("linux"):
        options.append("-nostdlib")
    own = [os.environ.get("CC", ""), "cc", "gcc", "clang"] if target.architecture == architecture() else []
    for name in own:
        if name and shutil.which(name):
            return [name, *options]
    if sys.platform.startswith("linux"):
        if shutil.which(other := f"{target.architecture}-linux-gnu-gcc"):
            return [other, *options]
        if shutil.which("ld.lld"):
            return ["ld.lld", "-shared"]
    raise CannotBuild(f"there is no linker for {target.architecture}: neither a C compiler nor ld.lld")
