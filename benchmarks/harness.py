"""Timing rivals fairly: one process, taken in turn, medians, ratios.

A rival is a function without arguments. Rivals run in turn within each round, so that what
disturbs the machine disturbs all of them; the figure of a rival is the median over the rounds.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

Rival = Callable[[], object]


def in_turn(rivals: Mapping[str, Rival], rounds: int = 15, calls: int = 1) -> dict[str, float]:
    """The median seconds of one call of each rival."""
    for rival in rivals.values():
        rival()
    times: dict[str, list[float]] = {name: [] for name in rivals}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, rival in rivals.items():
                start = time.perf_counter()
                for _ in range(calls):
                    rival()
                times[name].append((time.perf_counter() - start) / calls)
    finally:
        if collecting:
            gc.enable()
    return {name: statistics.median(found) for name, found in times.items()}


def calibrated(
    rivals: Mapping[str, Rival], seconds: float, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """The median seconds of one call of each rival, from about ``seconds`` of running all of them.

    Calls are timed in batches of half a millisecond at least: long against the clock's own cost,
    and short enough that most batches run undisturbed on a busy machine.
    """
    calls: dict[str, int] = {}
    turn = 0.0
    for name, rival in rivals.items():
        rival()
        once = min(_timed(rival, 1, clock) for _ in range(3))
        calls[name] = max(1, round(5e-4 / max(once, 1e-7)))
        turn += once * calls[name]
    rounds = max(5, min(400, int(seconds / turn)))
    times: dict[str, list[float]] = {name: [] for name in rivals}
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            for name, rival in rivals.items():
                times[name].append(_timed(rival, calls[name], clock) / calls[name])
            gc.collect(0)
    finally:
        if collecting:
            gc.enable()
    return {name: statistics.median(found) for name, found in times.items()}


def _timed(rival: Rival, calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        rival()
    return clock() - start


def processes_in_turn(commands: Mapping[str, Sequence[str]], rounds: int = 7) -> dict[str, float]:
    """The median seconds of whole processes; each runs once before it is counted.

    Bytecode is cached, as it is for whoever installs a package.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            if turn:
                times[name].append(time.perf_counter() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def python(code: str) -> list[str]:
    """The command that runs ``code`` in this interpreter."""
    return [sys.executable, "-c", code]


def row(name: str, seconds: Mapping[str, float], base: str, ours: str = "tengen") -> str:
    """A line of a table: each rival's time, and ours as a ratio to ``base``."""
    cells = "  ".join(f"{rival} {_unit(t)}" for rival, t in seconds.items())
    ratio = f"{seconds[ours] / seconds[base]:5.2f}" if base in seconds else "    -"
    return f"{name:32} {ratio}   {cells}"


def _unit(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:7.2f} {unit}"
    raise AssertionError


def torch_or_none() -> object:
    """The torch module with one thread, or None where it is not installed (said on stderr)."""
    try:
        import torch
    except ImportError:
        print("torch is not installed: no ratios to it", file=sys.stderr)
        return None
    torch.set_num_threads(1)
    return torch
