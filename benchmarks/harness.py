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


def calibrated(rivals: Mapping[str, Rival], seconds: float, processor: bool = True) -> dict[str, float]:
    """The median seconds of one call of each rival, from about ``seconds`` of running all of them.

    ``processor``: the time is the processor's, of all threads of this process: right for one thread, and
    hardly touched by other programs. Otherwise it is the wall's, and the median is over the calmer half
    of the rounds, by what other programs used of the machine; before a rival is timed, the threads of
    the one before it come to rest (those of BLAS and OpenMP spin for a while), and it runs once.

    Calls are timed in batches: long against the clock's own cost, and short enough that most run
    undisturbed on a busy machine.
    """
    clock = time.process_time if processor else time.perf_counter
    batch = 5e-4 if processor else 5e-3
    calls: dict[str, int] = {}
    start = time.perf_counter()
    for name, rival in rivals.items():
        _prepare(rival, processor, 0.0)
        once = min(_timed(rival, 1, clock) for _ in range(3))
        calls[name] = max(1, round(batch / max(once, 1e-7)))
    turn = (time.perf_counter() - start) / 4 + batch * len(rivals)
    rounds = max(5, min(400, int(seconds / turn))) if seconds > 0 else 1
    times: dict[str, list[float]] = {name: [] for name in rivals}
    others: list[float] = []
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds):
            before = _use()
            for name, rival in rivals.items():
                if not processor:
                    _prepare(rival, processor, times[name][-1] if times[name] else 0.0)
                times[name].append(_timed(rival, calls[name], clock) / calls[name])
            gc.collect(0)
            others.append(_share_of_others(before, _use()))
    finally:
        if collecting:
            gc.enable()
    kept = range(rounds) if processor else calm(others)
    return {name: statistics.median(found[i] for i in kept) for name, found in times.items()}


def _timed(rival: Rival, calls: int, clock: Callable[[], float]) -> float:
    start = clock()
    for _ in range(calls):
        rival()
    return clock() - start


def _prepare(rival: Rival, processor: bool, once: float) -> None:
    """Wait until no thread of this process is busy, then warm the rival up, unless it takes long itself."""
    if not processor:
        for _ in range(50):
            used = time.process_time()
            time.sleep(1e-3)
            if time.process_time() - used < 2e-4:
                break
    if once < 0.05:
        rival()


def calm(others: Sequence[float]) -> list[int]:
    """The half of the rounds in which other programs used least of the machine; at least three."""
    order = sorted(range(len(others)), key=others.__getitem__)
    return sorted(order[: max(3, (len(order) + 1) // 2)])


def _use() -> tuple[float, float, float]:
    """Now: the wall's time, what this process used of the processors, and what all processes did."""
    used = 0.0
    try:
        with open("/proc/stat", encoding="ascii") as file:
            fields = [int(n) for n in file.readline().split()[1:9]]
        used = (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")  # neither idle nor waiting
    except (OSError, ValueError, AttributeError):
        pass  # where that is not known, all rounds are alike
    return time.perf_counter(), time.process_time(), used


def _share_of_others(before: tuple[float, float, float], after: tuple[float, float, float]) -> float:
    wall, own, used = (b - a for a, b in zip(before, after, strict=True))
    return max(0.0, used - own) / (wall * (os.cpu_count() or 1))


def processes_in_turn(
    commands: Mapping[str, Sequence[str]], rounds: int = 7, before: Callable[[], object] = lambda: None
) -> dict[str, float]:
    """The median processor seconds of whole processes; each runs once before it is counted.

    ``before`` is called before each: it takes away what the former one left.
    Bytecode is cached, as it is for whoever installs a package. OpenBLAS has one thread: the others
    would wait actively, which is processor time too.
    """
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["OPENBLAS_NUM_THREADS"] = "1"
    times: dict[str, list[float]] = {name: [] for name in commands}
    for turn in range(rounds + 1):
        for name, command in commands.items():
            before()
            start = _of_children()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
            if turn:
                times[name].append(_of_children() - start)
    return {name: statistics.median(found) for name, found in times.items()}


def _of_children() -> float:
    """The processor time of processes that have ended; where that is not known, the wall's time."""
    try:
        import resource
    except ImportError:
        return time.perf_counter()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
