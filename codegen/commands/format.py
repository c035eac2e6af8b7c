"""``tengen fmt``: declarations in one layout: keys in their order, entries by name.

Comments and the writing of values stay as they are. A comment with a blank line below it heads a
section; entries are sorted within their section.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from pathlib import Path

from tengen.codegen.commands.workspace import Workspace, add_workspace
from tengen.codegen.emit.write import replace
from tengen.codegen.model.diagnostics import Report
from tengen.codegen.read.entries import KERNELS, MODULES, mechanism_of, read_entries
from tengen.codegen.read.file_text import EntryText, Item, read_layout
from tengen.codegen.read.keys import KEYS, MODULE_KEYS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="what to format (default: all)")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file would change")
    add_workspace(parser)


def run(options: argparse.Namespace) -> int:
    """Format the files; with ``--check`` show what would change. Returns the exit status."""
    workspace = Workspace.of(options)
    changed = 0
    for path in options.files or sorted(workspace.declarations.glob("*")):
        mechanism = mechanism_of(path)
        if mechanism is None:
            if path in options.files:
                print(f"{path} is no file of declarations", file=sys.stderr)
                return 2
            continue
        report = Report()
        list(read_entries(path, f"{path.parent.name}/{path.name}", mechanism, report))
        report.finish()
        before = path.read_text(encoding="utf-8")
        after = formatted(before, mechanism)
        if after == before:
            continue
        changed += 1
        if options.check:
            names = f"{path.name} (as it is)", f"{path.name} (formatted)"
            sys.stdout.writelines(
                difflib.unified_diff(before.splitlines(True), after.splitlines(True), *names, n=1)
            )
        else:
            replace(path, after)
            print(f"formatted {path.name}")
    if options.check and changed:
        print(f"\n{changed} file{'s' if changed > 1 else ''} would change. To mend it: tengen fmt")
    return 1 if options.check and changed else 0


def formatted(text: str, mechanism: str) -> str:
    """The text of a declaration file in the one layout."""
    layout = read_layout(text, cwrap=mechanism == "cwrap")
    for section in layout.sections:
        section.entries.sort(key=lambda entry: entry.function)
        for entry in section.entries:
            entry.items = in_order(entry, mechanism)
    return layout.text()


def in_order(entry: EntryText, mechanism: str) -> list[Item]:
    """The keys of an entry as the tables of keys have them; formulas stay in their order."""
    if mechanism in ("derivatives", KERNELS):
        return sorted(entry.items, key=lambda item: item.key != "name")
    keys = MODULE_KEYS if mechanism == MODULES else KEYS[mechanism]
    order = {key: position for position, key in enumerate(keys)}
    return sorted(entry.items, key=lambda item: order.get(item.key, len(order)))
