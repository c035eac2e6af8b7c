"""What native kernels and the C machine give: the suite without them, with kernels, and with both.

torch eager is 1.

    python benchmarks/native.py                        # a table in Markdown, of all workloads
    python benchmarks/native.py --seconds 0.5 rows     # of some, quickly
    python benchmarks/native.py --write                # the table in README.md, between its markers

Each third is a process of its own, with one thread and the processor's time; every figure is a ratio to
torch, which all measure in turn with tengen.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from table import counted, grouped, mean, ratio

HERE = Path(__file__).resolve().parent
BEGIN, END = "<!-- native: begin -->", "<!-- native: end -->"
#: The thirds, each with whether it has native kernels, and whether the C machine.
SIDES = {
    "NumPy's forms": (False, False),
    "native kernels": (True, False),
    "and the C machine": (True, True),
}
HEAD = ("workload", *[head for name in SIDES for head in (name, "worst")])


def measured(native: bool, machine: bool, seconds: float, workloads: Sequence[str]) -> dict[str, Any]:
    """The suite's record with native kernels, or without; with the C machine, or without."""
    settings = {"TENGEN_NATIVE": native, "TENGEN_FAST_PATHS": machine}
    environment = {**os.environ, **{name: str(int(on)) for name, on in settings.items()}}
    command = [sys.executable, str(HERE / "suite.py"), "--only", "tengen,torch", "--no-processes"]
    command += ["--seconds", str(seconds), "--json", "-", *workloads]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def lines(sides: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """The table: a row for each of the suite's, with the mean of its workloads and the worst of them."""
    last = sides[-1]
    machine, versions = last["machine"], last["versions"]
    named = ", ".join([f"{name} {version}" for name, version in versions.items()])
    yield f"{last['date']}, {machine}, {named}; one thread, processor time."
    yield ""
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{' --- |' * len(HEAD)}"
    found = [dict(grouped(side["workloads"])) for side in sides]
    for name, members in found[0].items():
        cells = [name if len(members) == 1 else f"{name}, mean of {len(counted(members))}"]
        for side in found:
            cells += _mean_and_worst(side[name])
        yield f"| {' | '.join(cells)} |"


def _mean_and_worst(members: Sequence[Mapping[str, Any]]) -> list[str]:
    ratios = {w["name"]: r for w in members if (r := ratio(w, "tengen")) is not None}
    shown = mean([ratio(w, "tengen") for w in counted(members)])
    if len(ratios) < 2 or shown is None:
        return [f"{shown:.2f}" if shown is not None else "", ""]
    worst = max(ratios, key=lambda name: ratios[name])
    return [f"{shown:.2f}", f"{ratios[worst]:.2f} {worst.partition(': ')[2] or worst}"]


def write(text: str, page: Path) -> None:
    """Put the table between the markers of a page. ValueError where it has none."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    _, there, after = rest.partition(END)
    if not there:
        raise ValueError(f"{page.name} has no {BEGIN} ... {END}")
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def main() -> None:
    """Measure all, print the table, and write it if that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each workload (default: 1)")
    parser.add_argument("--write", action="store_true", help="write the table into README.md")
    asked = parser.parse_args()
    text = "\n".join(lines([measured(*side, asked.seconds, asked.workloads) for side in SIDES.values()]))
    print(text)
    if asked.write:
        write(text, HERE / "README.md")


if __name__ == "__main__":
    main()
