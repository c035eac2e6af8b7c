"""Two revisions beside each other: the suite's workloads, run in turn from two checkouts.

    python benchmarks/compare.py REV1 REV2 [workloads ...]
    python benchmarks/compare.py HEAD . chain gpt        # what the changes in the working tree do

Each round runs the suite with REV1 and with REV2, each in a process of its own and with tengen alone; the
figure is the median over the rounds. A ratio below 1 means that REV2 takes less time. What is timed
is this checkout's suite; it works with revisions in which tengen has the operators that it uses.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SUITE = ROOT / "benchmarks" / "suite.py"
#: Folders that are packages inside ``tengen``; the modules of runtime/ are its own.
PARTS = ("codegen", "generated", "ir", "declarations", "templates")
Figures = dict[str, dict[str, list[float]]]


def main() -> None:
    """Print the ratio of each workload."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "before", metavar="REV1", help='a revision as git names it, or "." for the working tree'
    )
    parser.add_argument("after", metavar="REV2")
    parser.add_argument("workloads", nargs="*", help="beginnings of names; default: all but whole processes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each workload and round")
    parser.add_argument("--threads", default="1", help="as the suite's")
    asked = parser.parse_intermixed_args()
    options = ["--threads", asked.threads, "--seconds", str(asked.seconds), *asked.workloads]
    with tempfile.TemporaryDirectory() as scratch:
        revisions = (asked.before, asked.after)
        try:
            paths = [package(revision, Path(scratch) / str(i)) for i, revision in enumerate(revisions)]
        except ValueError as error:
            parser.error(str(error))
        found: Figures = {}
        for turn in range(asked.rounds):
            for side in (0, 1) if turn % 2 == 0 else (1, 0):
                for name, seconds in run(paths[side], options).items():
                    found.setdefault(name, {}).setdefault(str(side), []).append(seconds)
    print("\n".join(lines(found)))


def package(revision: str, place: Path) -> Path:
    """A folder for PYTHONPATH where ``tengen`` is as in a revision; ValueError where git has none such."""
    source = ROOT
    if revision != ".":
        listed = subprocess.run(["git", "ls-tree", "--name-only", revision], cwd=ROOT, capture_output=True)
        there = [name for name in ("runtime", *PARTS) if name in listed.stdout.decode().split()]
        archive = subprocess.run(["git", "archive", revision, *there], cwd=ROOT, capture_output=True)
        if archive.returncode:
            raise ValueError(archive.stderr.decode().strip())
        source = place / "files"
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
            files.extractall(source, filter="data")
    tengen = place / "path" / "tengen"
    tengen.mkdir(parents=True)
    for entry in sorted((source / "runtime").iterdir()):
        if entry.name != "__pycache__":
            (tengen / entry.name).symlink_to(entry)
    for name in PARTS:
        if (source / name).is_dir():  # older revisions have no ir/
            (tengen / name).symlink_to(source / name)
    return place / "path"


def run(path: Path, options: Sequence[str]) -> dict[str, float]:
    """The seconds of each workload with the package in ``path``."""
    command = [sys.executable, str(SUITE), "--only", "tengen", "--no-processes", "--json", "-", *options]
    elsewhere = [p for p in sys.path[1:] if p]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(path), *elsewhere])}
    found = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return {row["name"]: row["seconds"]["tengen"] for row in json.loads(found.stdout)["workloads"]}


def lines(found: Mapping[str, Mapping[str, Iterable[float]]]) -> list[str]:
    """The table: for each workload the ratio of the medians, and both."""
    rows = [f"{'workload':50}{'ratio':>7}   {'REV1':>12}    {'REV2':>12}"]
    for name, sides in found.items():
        before, after = (statistics.median(sides[side]) for side in ("0", "1"))
        rows.append(f"{name:50}{after / before:7.2f}   {before * 1e6:12.2f} us {after * 1e6:12.2f} us")
    return rows


if __name__ == "__main__":
    main()
