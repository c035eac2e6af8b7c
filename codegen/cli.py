"""The ``tengen`` command."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from tengen.codegen.gen import version
from tengen.codegen.outcome import outcome

#: Each command: the module that has its ``add_arguments`` and ``run``, and what it is for.
COMMANDS = {
    "init": ("tengen.codegen.commands.init", "begin a library: a package with operators of its own"),
    "gen": ("tengen.codegen.gen", "generate the code of the declared operators"),
    "new": ("tengen.codegen.commands.new", "write the entry of a new operator in its place"),
    "fmt": ("tengen.codegen.commands.format", "format the declarations"),
    "fix": ("tengen.codegen.commands.fix", "do what the errors suggest"),
    "explain": ("tengen.codegen.commands.explain", "show everything that an entry becomes"),
    "diff": ("tengen.codegen.commands.diff", "show what changed in the declarations, operator by operator"),
    "verify": ("tengen.codegen.commands.verify", "run operators, and show where one is declared wrongly"),
    "doctor": ("tengen.codegen.commands.doctor", "say whether tengen could be faster on this machine"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """``tengen COMMAND ...``. Returns the exit status. Without a command it shows which there are."""
    return outcome(lambda: _run(list(sys.argv[1:] if arguments is None else arguments)))


def _run(given: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="tengen", description="Tools for the declarations of operators.")
    parser.add_argument("--version", action="version", version=f"tengen {version()}")
    commands = parser.add_subparsers(dest="command", title="commands", metavar="COMMAND")
    for name, (module, help) in COMMANDS.items():
        chosen = name in given[:1]  # the others' modules are not needed
        found = import_module(module) if chosen else None
        command = commands.add_parser(name, help=help, description=found.__doc__ if found else None)
        if found is not None:
            found.add_arguments(command)
            command.set_defaults(run=found.run)
    options = parser.parse_args(given)
    if options.command is None:
        parser.print_help()
        return 0
    status: int = options.run(options)
    return status


if __name__ == "__main__":
    sys.exit(main())
