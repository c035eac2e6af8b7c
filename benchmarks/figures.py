"""All of README.md's figures, in one command:

    python benchmarks/figures.py

runs the suite with one thread and with the libraries' own choice, each in a process of its own, writes
benchmarks/figures.json, draws benchmarks/figures.svg and writes the tables into benchmarks/README.md.
What the suite understands is handed on: ``--seconds 5``, ``--only tengen,torch``, names of workloads.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import picture
import table

HERE = Path(__file__).resolve().parent


def run(threads: str, arguments: Sequence[str]) -> dict[str, Any]:
    """The suite's record with so many threads."""
    command = [sys.executable, str(HERE / "suite.py"), "--threads", threads, "--json", "-", *arguments]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    record: dict[str, Any] = json.loads(found)
    return record


def main(arguments: Sequence[str], folder: Path = HERE) -> None:
    """Run, and after each of the two runs write and draw what there is."""
    source = folder / "figures.json"
    runs = []
    for threads, more in (("1", []), ("default", ["--no-processes"])):  # these do not depend on it
        runs.append(run(threads, [*more, *arguments]))
        source.write_text(json.dumps({"runs": runs}, indent=1) + "\n", encoding="utf-8")
        picture.main(str(source), str(folder / "figures.svg"))
        table.main(str(source), str(folder / "README.md"))


if __name__ == "__main__":
    if "-h" in sys.argv or "--help" in sys.argv:
        print(__doc__)
    else:
        main(sys.argv[1:])
