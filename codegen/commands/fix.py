"""``tengen fix``: does what the errors suggest.

Where an error knows what was meant (``help: did you mean "variants"?``), the misspelt word is
replaced in the file; the declarations are then checked again, until nothing more can be mended.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.model.diagnostics import DeclarationErrors, Diagnostic

_ROUNDS = 20  # mending one word may show the next mistake


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("--dry-run", action="store_true", help="tell what would be replaced; write nothing")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Mend what can be mended; exit status 1 when mistakes are left."""
    workspace = Workspace.of(options)
    for _ in range(_ROUNDS):
        try:
            workspace.load()
        except DeclarationErrors as errors:
            done = mend(errors.diagnostics, workspace.declarations, options.dry_run)
            for line in done:
                print(line)
            if not done or options.dry_run:
                print(errors, file=sys.stderr)
                return 1
        else:
            print("no mistakes are left")
            return 0
    return 1


def mend(diagnostics: Sequence[Diagnostic], folder: Path, dry_run: bool = False) -> list[str]:
    """Replace what has a replacement; what was done, a line each."""
    done: list[str] = []
    texts: dict[Path, list[str]] = {}
    # From the end of each line to its beginning, so that places stay right.
    ordered = sorted(diagnostics, key=lambda d: (d.place.file, d.place.line, d.place.column), reverse=True)
    last: tuple[Path, int, int] | None = None
    for found in ordered:
        path = folder / Path(found.place.file).name
        meant = found.replacement
        if meant is None or not path.is_file():
            continue
        lines = texts.setdefault(path, path.read_text(encoding="utf-8").split("\n"))
        line, start = lines[found.place.line - 1], found.place.column - 1
        end = start + found.length
        if last is not None and last[:2] == (path, found.place.line) and end > last[2]:
            continue
        wrong = line[start:end].strip("\"'")
        if not wrong or wrong == meant or (line[end - 1 :][:2].isidentifier() and line[end:][:1].strip()):
            continue  # nothing, or a part of a word only
        lines[found.place.line - 1] = line[:start] + line[start:end].replace(wrong, meant) + line[end:]
        last = (path, found.place.line, start)
        done.append(f'{found.place}: "{wrong}" -> "{meant}"')
    if not dry_run:
        for path, lines in texts.items():
            path.write_text("\n".join(lines), encoding="utf-8", newline="\n")
    return done[::-1]
