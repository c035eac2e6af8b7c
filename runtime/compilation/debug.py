"""What ``TENGEN_COMPILE_DEBUG=folder`` keeps: the nodes of each program, and the text of its module."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

from tengen.ir.fuse.functions import Module
from tengen.ir.fuse.nodes import Node
from tengen.ir.fuse.text import program_text

VARIABLE = "TENGEN_COMPILE_DEBUG"
_numbers = itertools.count()


def note(nodes: Sequence[Node], module: Module) -> None:
    """Write a program into the folder that the environment names, if it does."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    Path(folder).mkdir(parents=True, exist_ok=True)
    stem = Path(folder) / f"{os.getpid()}-{next(_numbers)}"
    stem.with_suffix(".nodes").write_text(program_text(nodes) + "\n", encoding="utf-8")
    stem.with_suffix(".ll").write_text(module.text, encoding="utf-8")
