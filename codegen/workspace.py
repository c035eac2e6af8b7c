"""Where the declarations, the runtime and the output of a command are."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from .gen import declarations_dir, output_dir, runtime_dir, templates_dir
from .load import load
from .model import Declarations


@dataclass(frozen=True, slots=True)
class Workspace:
    """The folders that a command works on."""

    declarations: Path
    runtime: Path
    templates: Path
    output: Path

    @staticmethod
    def of(options: argparse.Namespace) -> Workspace:
        """The project's folders, or those that the options name."""
        chosen: Path | None = getattr(options, "declarations", None)
        return Workspace(chosen or declarations_dir(), runtime_dir(), templates_dir(), output_dir())

    def load(self) -> Declarations:
        """What is declared. Raises DeclarationErrors with every mistake."""
        return load(self.declarations, self.runtime)


def add_workspace(parser: argparse.ArgumentParser) -> None:
    """The options that ``Workspace.of`` reads."""
    parser.add_argument(
        "--declarations", type=Path, metavar="DIR", help="the declarations (default: the project's)"
    )
