"""Rows of the suite that are whole processes: peak memory, import, generation."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import generation
from harness import processes_in_turn, python
from libraries import Tensors, installed, load

#: The programs whose peak memory is measured: the names that ``--peak`` takes.
PEAKS = {"GPT block": "gpt", "expression 1e7": "expression"}
_REPEATS = 3


def peak_memory(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The peak resident bytes of a process that runs each program: row -> library -> bytes."""
    rows: dict[str, dict[str, float]] = {}
    for row, program in PEAKS.items():
        rows[f"peak memory: {row}"] = {
            name: _peak(name, program) for name in names if name in ("tengen", "torch") and installed(name)
        }
    return rows


def _peak(name: str, program: str) -> float:
    command = [sys.executable, str(Path(__file__)), "--peak", name, program]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def _run_peak(name: str, program: str) -> float:
    """Run the program in this process a few times; the high-water mark of its resident memory."""
    from workloads.large import expression_tensors
    from workloads.training import gpt_tensors

    library = load(name)
    assert isinstance(library, Tensors)
    run = gpt_tensors(library) if program == "gpt" else expression_tensors(10**7)(library)
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


def import_time(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The seconds of a process that imports each library, less those of an empty one."""
    commands = {"python": python("pass"), "numpy": python("import numpy; numpy.ones(1)")}
    for name in names:
        if name in ("tengen", "torch") and installed(name):
            commands[name] = python(f"import {name}; {name}.ones(1)")
    found = processes_in_turn(commands, rounds=7)
    return {"import": {n: t - found["python"] for n, t in found.items() if n != "python"}}


def generator(names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The seconds of the generators, per operator; torch's is torchgen."""
    found = generation.seconds_per_operator()
    return {"generation, per operator": {n.replace("torchgen", "torch"): t for n, t in found.items()}}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--peak"]:
        print(_run_peak(*sys.argv[2:4]))
    else:
        print(json.dumps({**peak_memory(("tengen", "torch")), **import_time(("tengen", "torch"))}, indent=1))
