"""What ``tengen doctor`` says of native kernels: which are used, why, and what they bring.

What they bring is measured in processes of their own: operators of one tensor that have a kernel of their
name, with native kernels and with NumPy's forms.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..machine_code import kernels_of
from ..machine_code.finder import VARIABLE, finder_of
from ..machine_code.status import Status, status

TABLES = "tengen.generated.kernels"
#: How many operators are measured, on how many elements.
_MEASURED, _SIZE = 3, 100_000
_ROUNDS, _CALLS = 5, 20
#: Of how many kernels that are not native the reason is shown.
_TOLD = 5


@dataclass(frozen=True, slots=True)
class NativeDiagnosis:
    """The state of tengen's native kernels, all of which were asked for."""

    state: Status
    ratios: Mapping[str, float]  # an operator's time with native kernels, NumPy's forms being 1


def diagnose() -> NativeDiagnosis:
    """Ask for all kernels, and measure some; seconds where none is compiled yet."""
    for name in finder_of(TABLES).table.kernels:
        getattr(kernels_of(TABLES), name)
    found = status(TABLES)
    return NativeDiagnosis(found, {} if found.used == "numpy" else measured(_of_one_operand()))


def _of_one_operand() -> list[str]:
    """The elementwise kernels from one operand to one result."""
    kernels = finder_of(TABLES).table.kernels.values()
    return [k.name for k in kernels if not k.signature and len((*k.inputs, *k.outputs)) == 2]


def measured(names: Sequence[str]) -> dict[str, float]:
    """The times of some operators of these names with native kernels, those with NumPy's forms being 1."""
    native, numpy = _times(names, {}), _times(names, {VARIABLE: "0"})
    return {name: native[name] / numpy[name] for name in names if name in native and name in numpy}


def _times(names: Sequence[str], environment: Mapping[str, str]) -> dict[str, float]:
    """Seconds by operator, in a process of its own."""
    command = [sys.executable, "-m", "tengen.utils.native_report", *names]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    return {} if done.returncode else dict(json.loads(done.stdout))


def times_here(names: Iterable[str]) -> dict[str, float]:
    """Seconds for a call of each operator on one thread, in this process: the best of some.

    Of names that are no functions of tengen nothing is told; of the others, the first few are measured.
    """
    from tengen.generated import functions

    from ..kernels.parallel import set_num_threads

    set_num_threads(1)
    x = functions.linspace(-0.9, 0.9, _SIZE)
    found: dict[str, float] = {}
    for name in names:
        function = getattr(functions, name, None)
        if function is None or len(found) == _MEASURED:
            continue
        function(x)
        best = float("inf")
        for _ in range(_ROUNDS):
            began = time.perf_counter()
            for _ in range(_CALLS):
                function(x)
            best = min(best, (time.perf_counter() - began) / _CALLS)
        found[name] = best
    return found


def report(found: NativeDiagnosis) -> str:
    """What was found, for a person to read."""
    state = found.state
    words = {"library": "a library built in advance", "llvmlite": "llvmlite", "numpy": "none: NumPy's forms"}
    lines = [
        f"Native kernels: {words[state.used]}; {state.reason}",
        f"  {state.description}",
        f"  processor: {state.level}; cache: {state.cache}",
    ]
    if state.used != "numpy":
        working = len(state.kernels) - len(state.failures)
        lines.append(f"  {working} of {len(state.kernels)} kernels are native")
    failed = [f"  {name} is not: {why}" for name, why in state.failures.items()]
    lines += failed[:_TOLD]
    if len(failed) > _TOLD:
        lines.append(f"  and {len(failed) - _TOLD} more are not")
    if found.ratios:
        bring = ", ".join(f"{name} {ratio:.2f}" for name, ratio in found.ratios.items())
        lines.append(f"  time on {_SIZE:,} float32, NumPy's form = 1: {bring}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(times_here(sys.argv[1:])))
