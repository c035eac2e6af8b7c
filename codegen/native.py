"""``python -m tengen.codegen.native``: native kernels as shared libraries, built in advance.

For each target it lowers the kernels of a table, compiles them with llvmlite and links them. Where there is
a library that fits, tengen runs without llvmlite.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser, targets: Sequence[str]) -> None:
    """The options of the command."""
    parser.add_argument(
        "--out", type=Path, metavar="FOLDER", help="where to write (default: beside the table)"
    )
    parser.add_argument(
        "--target",
        nargs="+",
        choices=[*targets, "here"],
        default=targets,
        metavar="NAME",
        help=f"of {', '.join(targets)}; here is the best of them that runs here (default: all)",
    )
    parser.add_argument(
        "--tables",
        default="tengen.generated.kernels",
        metavar="MODULE",
        help="the table of a library of operators (default: tengen's own)",
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; 1 where a library for this machine was not made."""
    native = "tengen.machine_code"  # it needs NumPy, which the generator does not
    processor = import_module(f"{native}.processor")
    parser = argparse.ArgumentParser(prog="python -m tengen.codegen.native", description=__doc__)
    add_arguments(parser, list(processor.TARGETS))
    options = parser.parse_args(arguments)
    try:
        building = import_module(f"{native}.build")
    except ModuleNotFoundError as error:
        print(f"this needs {error.name}: pip install 'tengen[compile]'", file=sys.stderr)
        return 1
    table = import_module(f"{native}.tables").table_of(options.tables)
    folder = options.out or import_module(f"{native}.library").folder_of(table)
    status = 0
    here = [t.name for t in processor.targets()[:1]]
    names = [n for asked in options.target for n in (here if asked == "here" else [asked])]
    if not names:
        print(f"NOT MADE: there are no libraries for {processor.architecture()}", file=sys.stderr)
        return 1
    for name in dict.fromkeys(names):
        target = processor.TARGETS[name]
        began = time.perf_counter()
        try:
            path = building.build(table, target, folder)
        except building.CannotBuild as error:
            print(f"NOT MADE for {name}: {error}", file=sys.stderr)
            if target.architecture == processor.architecture():
                status = 1
            continue
        took = time.perf_counter() - began
        print(f"{path}: {len(table.kernels)} kernels, {path.stat().st_size // 1024} KB, {took:.1f} s")
    return status


if __name__ == "__main__":
    sys.exit(main())
