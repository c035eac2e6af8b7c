"""The suite: every workload of the table, each library that is installed, ratios to torch eager.

    python benchmarks/suite.py                       # all, with one thread
    python benchmarks/suite.py --threads default     # the libraries' own choice of threads
    python benchmarks/suite.py chain "kernel: s"     # the workloads whose names begin so
    python benchmarks/suite.py --only tengen,torch --json figures.json

With one thread the clock is the processor time of the process, which other programs on the
machine disturb less; otherwise it is the wall's.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_XLA = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
_PROCESSES = ("memory", "import", "generation")
_UNITS = ((1.0, "s "), (1e3, "ms"), (1e6, "us"))


def arguments() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("workloads", nargs="*", help="beginnings of names; default: all")
    parser.add_argument("--threads", default="1", help='a number, or "default" (default: 1)')
    parser.add_argument(
        "--only", type=lambda text: text.split(","), help="libraries: tengen,torch,autograd,jax,jit"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="for each workload (default: 2)")
    parser.add_argument("--json", metavar="FILE", help="write the figures to a file, - for stdout")
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
    from workloads import WORKLOADS

    chosen = [w for w in WORKLOADS if not asked.workloads or w.name.startswith(tuple(asked.workloads))]
    if asked.list:
        print("\n".join([w.name for w in WORKLOADS] + list(_PROCESSES)))
        return
    names = [n for n in asked.only or NAMES if installed(n)]
    missing = [n for n in asked.only or NAMES if n not in names]
    if missing:
        print(f"not installed: {', '.join(missing)}", file=sys.stderr)
    figures = timed(chosen, names, count, asked.seconds)
    rows = processes(asked.workloads, names)
    if asked.json != "-":
        print_table(chosen, figures, rows)
    if asked.json:
        write_json(asked.json, asked.threads, chosen, figures, rows)


def timed(chosen: Sequence[Any], names: Sequence[str], count: int | None, seconds: float) -> dict[str, Any]:
    """The seconds of each workload by library."""
    from harness import calibrated
    from libraries import load, set_threads

    libraries = {name: load(name) for name in names} if chosen else {}
    for library in libraries.values():
        set_threads(library, count)
    clock: Callable[[], float] = time.process_time if count == 1 else time.perf_counter
    figures: dict[str, Any] = {}
    for w in chosen:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of rivals, about our program
            rivals = {n: r for n, library in libraries.items() if (r := w.rival(library)) is not None}
            check_equal(w, rivals)
            found = calibrated(rivals, seconds, clock)
        figures[w.name] = {n: t / w.units for n, t in found.items()}
        if sys.stderr.isatty():
            print(f"\r{len(figures)}/{len(chosen)} {w.name:40}", end="", file=sys.stderr)
    return figures


def check_equal(workload: Any, rivals: Any) -> None:
    """Raise AssertionError where a library's results are not those of the first."""
    import numpy as np
    from libraries import to_arrays

    expected: list[Any] | None = None
    for name, rival in rivals.items():
        found = to_arrays(rival())
        if expected is None:
            first, expected = name, found
            continue
        pairs = list(zip(expected, found, strict=False))
        assert len(expected) == len(found), f"{workload.name}: {name} has {len(found)} results"
        for a, b in pairs:
            bound = workload.tolerance * max(1.0, float(np.abs(a).max()) if a.size else 1.0)
            assert np.allclose(a.ravel(), b.ravel(), workload.tolerance, bound), (
                f"{workload.name}: {name} and {first} differ by {np.abs(a.ravel() - b.ravel()).max()}"
            )


def processes(asked: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The rows that are whole processes."""
    import processes as whole

    rows: dict[str, dict[str, float]] = {}
    for name, run in zip(_PROCESSES, (whole.peak_memory, whole.import_time, whole.generator), strict=True):
        if not asked or name in asked:
            rows.update(run(names))
    return rows


# -- output ----------------------------------------------------------------------------------------


def print_table(chosen: Sequence[Any], figures: dict[str, Any], rows: dict[str, dict[str, float]]) -> None:
    """A line for each workload: our ratio to torch, torch's time, the rivals' ratios to torch."""
    if figures:
        print(
            f"{'workload':44}{'ratio':>7}{'target':>8}{'limit':>7}   {'torch':>10}   autograd    jax    jit"
        )
    last: Any = None
    ratios: list[float] = []
    for w in [*chosen, None]:
        if last is not None and (w is None or w.row != last.row):
            if len(ratios) > 1:
                mean = statistics.fmean(ratios)
                print(f"{'= ' + last.row + ', mean':44}{mean:7.2f}{_verdict(last, mean)}")
            ratios = []
        if w is not None:
            ratio = _ratio(figures[w.name], "tengen")
            if ratio is not None and w.counted:
                ratios.append(ratio)
            print(line(w, figures[w.name]))
        last = w
    for name, found in rows.items():
        cells = "  ".join(f"{n} {_amount(name, v)}" for n, v in found.items())
        print(f"{name:44}{_cell(_ratio(found, 'tengen'), 7)}{'':18}{cells}")


def line(w: Any, found: dict[str, float]) -> str:
    """A workload's line."""
    ratio = _ratio(found, "tengen")
    base = found.get("torch")
    shown = _time(base) if base is not None else _time(found[next(iter(found))])
    others = "".join(_cell(_ratio(found, n), 9 if n == "autograd" else 7) for n in ("autograd", "jax", "jit"))
    mark = _verdict(w, ratio) if ratio is not None else f"{w.target or '':>8}{w.limit or '':>7}   "
    return f"{w.name:44}{_cell(ratio, 7)}{mark}{shown:>10}{others}".rstrip()


def _ratio(found: dict[str, float], name: str) -> float | None:
    return found[name] / found["torch"] if name in found and "torch" in found else None


def _verdict(w: Any, ratio: float) -> str:
    mark = "" if w.limit is None else " !" if ratio > w.limit else " *" if ratio <= w.target else "  "
    return f"{w.target or '':>8}{w.limit or '':>7}{mark} "


def _cell(ratio: float | None, width: int) -> str:
    if ratio is None:
        return "-".rjust(width)
    return (f"{ratio:.2f}" if ratio >= 0.01 else f"{ratio:.4f}").rjust(width)


def _time(seconds: float) -> str:
    factor, unit = next((f, u) for f, u in _UNITS if seconds * f >= 1 or u == "us")
    return f"{seconds * factor:.2f} {unit}"


def _amount(row: str, value: float) -> str:
    return f"{value / 1e6:.0f} MB" if "memory" in row else _time(value)


def write_json(path: str, threads: str, chosen: Sequence[Any], figures: Any, rows: Any) -> None:
    """The figures, with the versions and the number of threads they belong to."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    versions = {"python": platform.python_version()}
    for package in ("tengen", "torch", "numpy", "autograd", "jax"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    workloads = [
        {"name": w.name, "row": w.row, "target": w.target, "limit": w.limit, "seconds": figures[w.name]}
        for w in chosen
    ]
    text = json.dumps(
        {"threads": threads, "versions": versions, "workloads": workloads, "processes": rows}, indent=1
    )
    if path == "-":
        print(text)
        return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text + "\n")


if __name__ == "__main__":
    main()
