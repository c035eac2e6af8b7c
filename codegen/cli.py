"""The ``tengen`` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from . import gen


def main(arguments: Sequence[str] | None = None) -> int:
    """``tengen gen`` is ``python -m tengen.codegen.gen``. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="tengen", description="Tools for the declarations of operators.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    command = commands.add_parser(
        "gen", help="generate the code of the declared operators", description=gen.__doc__
    )
    gen.add_arguments(command)
    command.set_defaults(run=gen.run)
    options = parser.parse_args(arguments)
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
