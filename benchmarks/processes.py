"""Rows of the suite that are whole processes: peak memory, import, generation."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import generation
import import_time
from libraries import Floor, Tensors, installed, load

#: The programs whose peak memory is measured: the names that ``--peak`` takes.
PEAKS = {"GPT block": "gpt", "expression 1e7": "expression 1e7"}
_REPEATS = 3
#: What NumPy's import may be exceeded by.
IMPORT_MARGIN = 0.04


def peak_memory(names: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    """The peak resident bytes of a process that runs each program a few times."""
    rows = []
    for label, program in PEAKS.items():
        found = {n: _peak(n, program) for n in names if n in ("tengen", "torch", "floor") and installed(n)}
        rows.append(_row(f"peak memory: {label}", "bytes", 0.6, 1.0, found))
    return rows


def _peak(name: str, program: str) -> float:
    command = [sys.executable, str(Path(__file__)), "--peak", name, program]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _run_peak(name: str, program: str) -> float:
    """Run the program in this process a few times; the high-water mark of its resident memory."""
    from workloads import WORKLOADS

    library = load(name)
    assert isinstance(library, Tensors | Floor)
    run = next(w for w in WORKLOADS if w.name == program).rival(library)
    assert run is not None
    for _ in range(_REPEATS):
        run()
    return _high_water()


def _high_water() -> float:
    """The most bytes that this process had in memory."""
    status = Path("/proc/self/status")
    if status.exists():  # where getrusage would count what the parent had when it forked
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text())
        assert found is not None
        return float(found[1]) * 1024
    import resource

    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def imports(names: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    """The seconds of a process that imports each library, less those of an empty one."""
    libraries = [n for n in ("tengen", "torch") if n in names and installed(n)]
    rounds = 9 if seconds > 0 else 1
    found = import_time.seconds([*libraries, "numpy"], rounds=rounds)
    first = import_time.seconds([*libraries, "numpy"], first_tensor=True, rounds=rounds)
    floors = [{"numpy": times.pop("numpy")} for times in (found, first)]
    limit = (floors[0]["numpy"] + IMPORT_MARGIN) / found["torch"] if "torch" in found else None
    return [
        {**_row("import", "seconds", 0.1, limit, found), "floors": floors[0]},
        {**_row("import and a first tensor", "seconds", None, None, first), "floors": floors[1]},
    ]


def generators(names: Sequence[str], seconds: float) -> list[dict[str, Any]]:
    """The seconds of the generators, per operator; torch's is torchgen."""
    found = generation.seconds_per_operator(3 if seconds > 0 else 1)
    found = {n.replace("torchgen", "torch"): t for n, t in found.items()}
    return [_row("generation, per operator", "seconds", 0.1, 0.2, found)]


def _row(
    name: str, unit: str, target: float | None, limit: float | None, values: dict[str, float]
) -> dict[str, Any]:
    floors = {"numpy": values.pop("floor")} if "floor" in values else {}
    return {
        "name": name,
        "row": name,
        "unit": unit,
        "target": target,
        "limit": limit,
        "values": values,
        "floors": floors,
    }


#: What the command line calls them.
PROCESSES: dict[str, Callable[[Sequence[str], float], list[dict[str, Any]]]] = {
    "memory": peak_memory,
    "import": imports,
    "generation": generators,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print(_run_peak(*sys.argv[2:4]))
