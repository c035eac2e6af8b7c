"""The process in which ``tengen verify`` runs operators.

``python -m tengen.testing.worker FILE REFERENCES [PACKAGE]`` loads what is declared from a file that the
command has written, and the functions of references from a folder; it imports the package of a library. Then
it says that it is ready, and answers each line of its input, the full name of an operator, by a line of JSON;
the name of a table, ``primitives.yaml``, by what is wrong in that.
"""

from __future__ import annotations

import json
import sys
import traceback
import warnings
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from . import declared
from .aspects import aspects
from .failure import Failure, Part
from .operators import unchecked
from .primitives import mistakes
from .reference import uncompared
from .verdict import verdict

#: The name of the table, as it is asked about.
PRIMITIVES = "primitives.yaml"


def main(file: str, references: str, package: str = "") -> int:
    """Answer until the input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what operators print is no answer
    declared.use(Path(file), Path(references))
    warnings.simplefilter("ignore")
    if package:
        import_module(package)
    print(json.dumps("ready"), file=answers, flush=True)
    for line in sys.stdin:
        name = line.strip()
        try:
            answer = answered(name)
        except Exception as error:
            trace = traceback.format_exc()
            answer = {"operator": name, "internal": f"{type(error).__name__}: {error}", "trace": trace}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


def answered(name: str) -> dict[str, Any]:
    """What was found about an operator, or in the table of primitives."""
    if name == PRIMITIVES:
        wrong = mistakes(declared.declarations().primitives)
        return {"operator": name, "mistakes": [asdict(m) for m in wrong]}
    found = verdict(name)
    return {
        "operator": name,
        "checks": found.checks,
        "failures": [as_json(f) for f in found.failures],
        "unchecked": unchecked(name),
        "uncompared": uncompared(name),
    }


def as_json(failure: Failure) -> dict[str, Any]:
    """A failure in JSON's types."""
    return {
        "operator": failure.operator,
        "variant": failure.variant,
        "aspect": failure.aspect,
        "part": part_as_json(failure.part),
        "doubtful": [part_as_json(p) for p in failure.doubtful],
        "message": failure.message,
        "call": failure.call if failure.sample else "",
        "inputs": list(failure.inputs),
        "values": [
            [name, value]
            for name, value in zip(failure.called, (failure.got, failure.expected), strict=True)
            if value
        ],
        "error": failure.error,
        "where": failure.where,
        "help": failure.help,
        "origin": failure.origin,
        "title": aspects()[failure.aspect].title,
        "also": failure.also,
        "reproduction": failure.reproduction,
    }


def part_as_json(part: Part) -> list[str]:
    """A part as a list of its kind, its name, and its operator if that is another one."""
    return [part.kind, part.name, part.operator]


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
