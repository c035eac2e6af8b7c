"""The suite: every workload of the table, each library that is installed, ratios to torch eager.

    python benchmarks/suite.py                       # all, with one thread
    python benchmarks/suite.py --threads default     # the libraries' own choice of threads
    python benchmarks/suite.py chain "kernel: s"     # the workloads whose names begin so
    python benchmarks/suite.py --only tengen,torch --json figures.json

With one thread the clock is the processor time of the process, which other programs on the
machine disturb less; otherwise it is the wall's. ``floor`` among the libraries is bare NumPy, and what
the machine allows (see workloads/workload.py).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--threads", default="1", help='a number, or "default" (default: 1)')
    parser.add_argument(
        "--only", type=lambda text: text.split(","), help="libraries: tengen,torch,autograd,jax,jit,floor"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each workload (default: 2)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, - for stdout")
    parser.add_argument("--no-processes", action="store_true", help="leave out the rows that are processes")
    parser.add_argument("--list", action="store_true", help="print the names of the workloads")
    return parser


def main() -> None:
    """Run what was asked for, print the table, write the figures."""
    asked = arguments().parse_args()
    count = None if asked.threads == "default" else int(asked.threads)
    if count is not None:  # before NumPy is imported
        os.environ.update(dict.fromkeys(_THREADS, str(count)))
        if count == 1:
            os.environ.setdefault("XLA_FLAGS", _XLA)
    from libraries import NAMES, installed
    from processes import PROCESSES
    from workloads import WORKLOADS

    chosen = [w for w in WORKLOADS if not asked.workloads or w.name.startswith(tuple(asked.workloads))]
    whole = [n for n in PROCESSES if n in asked.workloads or not (asked.workloads or asked.no_processes)]
    if asked.list:
        print("\n".join([w.name for w in WORKLOADS] + list(PROCESSES)))
        return
    names = [n for n in asked.only or NAMES if installed(n)]
    missing = [n for n in asked.only or NAMES if n not in names]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
    record = {
        **circumstances(asked.threads),
        "workloads": timed(chosen, names, count, asked.seconds),
        "processes": [row for name in whole for row in PROCESSES[name](names, asked.seconds)],
    }
    if asked.json != "-":
        from table import print_record

        print_record(record)
    if asked.json:
        write_json(asked.json, record)


def circumstances(threads: str) -> dict[str, Any]:
    """What the figures belong to."""
    from libraries import available
    from machine import blas, machine, today, versions

    return {
        "date": today(),
        "threads": threads,
        "processors": available(),
        "clock": "processor" if threads == "1" else "wall",
        "machine": machine(),
        "blas": blas(),
        "versions": versions(),
    }


def timed(
    chosen: Sequence[Any], names: Sequence[str], count: int | None, seconds: float
) -> list[dict[str, Any]]:
    """A row for each workload: the seconds of each library, and its floors."""
    from libraries import load, threads

    libraries = {name: load(name) for name in names} if chosen else {}
    rows = []
    with threads(libraries.values(), count), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of rivals, about our program
        for w in chosen:
            if sys.stderr.isatty():
                print(f"\r{len(rows) + 1}/{len(chosen)} {w.name:50}", end="", file=sys.stderr)
            rows.append(row(w, libraries, count == 1, seconds))
    return rows


def row(w: Any, libraries: dict[str, Any], processor: bool, seconds: float) -> dict[str, Any]:
    """The figures of one workload; results are compared before anything is timed."""
    from harness import calibrated
    from yardsticks import yardsticks

    rivals = {n: r for n, library in libraries.items() if (r := w.rival(library)) is not None}
    results = check_equal(w, rivals)
    sticks = yardsticks(w, results, libraries["floor"]) if "floor" in libraries else {}
    found = calibrated({**rivals, **{n: s for n, (s, _) in sticks.items()}}, seconds, processor)
    floors = {n: found.pop(n) * factor for n, (_, factor) in sticks.items()}
    if "floor" in found:
        floors = {"numpy": found.pop("floor"), **floors}
    return {
        "name": w.name,
        "row": w.row,
        "target": w.target,
        "limit": w.limit,
        "counted": w.counted,
        "seconds": {n: t / w.units for n, t in found.items()},
        "floors": {n: t / w.units for n, t in floors.items()},
    }


def check_equal(workload: Any, rivals: Any) -> list[Any]:
    """The results of the first library; AssertionError where another's are not the same."""
    import numpy as np
    from libraries import to_arrays

    expected: list[Any] = []
    for number, (name, rival) in enumerate(rivals.items()):
        found = [a.copy() for a in to_arrays(rival())]
        if number == 0:
            first, expected = name, found
            continue
        assert len(expected) == len(found), f"{workload.name}: {name} has {len(found)} results"
        for a, b in zip(expected, found, strict=True):
            assert a.size == b.size, f"{workload.name}: {name} has {b.shape}, {first} has {a.shape}"
            bound = workload.tolerance * max(1.0, float(np.abs(a).max()) if a.size else 1.0)
            assert np.allclose(a.ravel(), b.ravel(), workload.tolerance, bound), (
                f"{workload.name}: {name} and {first} differ by {np.abs(a.ravel() - b.ravel()).max()}"
            )
    return expected


def write_json(path: str, record: Any) -> None:
    """The figures, to a file or to the standard output."""
    text = json.dumps(record, indent=1)
    if path == "-":
        print(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


if __name__ == "__main__":
    main()
