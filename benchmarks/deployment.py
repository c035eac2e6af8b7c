"""A trained model deployed: what is installed, the time to the first answer, and memory, against torch's.

    python benchmarks/deployment.py

The model is that of examples/deploy. What is installed is a library with all that it needs. Times are of
whole processes, from their start to the first answer, on the wall's clock, with each library's defaults.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

EXAMPLE = Path(__file__).resolve().parent.parent / "examples" / "deploy"
PROGRAM = """
import sys, time, re
sys.path.insert(0, {folder!r})
{first}
import torch
from model import Network, classes
network = Network()
network.load_state_dict(torch.load({parameters!r}))
network.eval()
classes(network, [[0.5] * 64])
seconds = []
for _ in range(200):
    start = time.perf_counter()
    classes(network, [[0.5] * 64])
    seconds.append(time.perf_counter() - start)
peak = re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]
print(sorted(seconds)[100], int(peak) * 1024)
"""
FIRST = {"tengen": "import tengen; tengen.as_torch()", "torch": ""}


def needed(name: str, found: set[str] | None = None) -> set[str]:
    """A distribution with all that it needs here, without extras."""
    found = set() if found is None else found
    if name in found:
        return found
    try:
        requires = distribution(name).requires or []
    except PackageNotFoundError:
        return found
    found.add(name)
    for text in requires:
        requirement = Requirement(text)
        if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
            needed(requirement.name.lower().replace("_", "-"), found)
    return found


def installed_bytes(names: Iterable[str]) -> int:
    """The bytes of the files of distributions, less bytecode."""
    total = 0
    for name in names:
        for file in distribution(name).files or ():
            path = Path(str(file.locate()))
            if path.suffix != ".pyc" and path.is_file():
                total += path.stat().st_size
    return total


def answers(library: str, parameters: str, rounds: int = 9) -> tuple[float, float, float]:
    """Seconds from a process' start to its first answer; seconds an answer; the peak memory in bytes."""
    code = PROGRAM.format(folder=str(EXAMPLE), first=FIRST[library], parameters=parameters)
    first = code[: code.index("seconds = []")]
    times = []
    for turn in range(rounds + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", first], check=True)
        if turn:
            times.append(time.perf_counter() - start)
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    each, peak = re.findall(r"\S+", shown)
    return statistics.median(times), float(each), float(peak)


def main() -> None:
    """Print a table."""
    with tempfile.TemporaryDirectory() as scratch:
        parameters = str(Path(scratch) / "model.pt")
        command = [sys.executable, "-m", "tengen.as_torch", "train.py", parameters]
        subprocess.run(command, check=True, cwd=EXAMPLE, stdout=subprocess.DEVNULL)
        print(f"{'':10}{'installed':>12}{'first answer':>14}{'an answer':>12}{'peak memory':>13}")
        for library in FIRST:
            size = installed_bytes(needed(library))
            first, each, peak = answers(library, parameters)
            print(
                f"{library:10}{size / 1e6:9.0f} MB{first * 1e3:11.0f} ms"
                f"{each * 1e6:9.0f} us{peak / 1e6:10.0f} MB"
            )


if __name__ == "__main__":
    main()
