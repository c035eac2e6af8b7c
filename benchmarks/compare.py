"""Two revisions beside each other: the suite's workloads, run in turn from two checkouts.

    python benchmarks/compare.py REV1 REV2 [workloads ...]

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
from io import BytesIO
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Print the ratio of each workload."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", metavar="REV1")
    parser.add_argument("after", metavar="REV2")
    parser.add_argument("workloads", nargs="*", help="beginnings of names; default: all but whole processes")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="for each workload and round")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        trees = {
            rev: checkout(rev, Path(scratch) / str(i)) for i, rev in enumerate((asked.before, asked.after))
        }
        figures: dict[str, dict[str, list[float]]] = {}
        for _ in range(asked.rounds):
            for rev, tree in trees.items():
                for name, seconds in run(tree, asked.workloads, asked.seconds).items():
                    figures.setdefault(name, {}).setdefault(rev, []).append(seconds)
    for name, found in figures.items():
        before, after = (statistics.median(found[rev]) for rev in (asked.before, asked.after))
        print(f"{name:44}{after / before:7.2f}   {before * 1e6:12.2f} us {after * 1e6:12.2f} us")


def checkout(revision: str, place: Path) -> Path:
    """The package as it is in a revision, where PYTHONPATH finds it."""
    archive = subprocess.run(["git", "archive", revision], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(place / "files", filter="data")
    package = place / "path" / "tengen"
    package.mkdir(parents=True)
    for source in sorted((place / "files" / "runtime").iterdir()):
        (package / source.name).symlink_to(source)
    for name in ("codegen", "generated", "declarations", "templates"):
        (package / name).symlink_to(place / "files" / name)
    return place / "path"


def run(tree: Path, workloads: list[str], seconds: float) -> dict[str, float]:
    """The seconds of each workload with the package in ``tree``."""
    listed = [str(ROOT / "benchmarks" / "suite.py")]
    wanted = workloads or [n for n in _names(listed) if n not in ("memory", "import", "generation")]
    command = [sys.executable, *listed, "--only", "tengen", "--seconds", str(seconds), "--json", "-", *wanted]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tree), *sys.path[1:]])}
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    rows = json.loads(found.stdout)["workloads"]
    return {row["name"]: row["seconds"]["tengen"] for row in rows}


def _names(command: list[str]) -> list[str]:
    text = subprocess.run([sys.executable, *command, "--list"], check=True, capture_output=True, text=True)
    return text.stdout.splitlines()


if __name__ == "__main__":
    main()
