"""The suite as other machines run it: other BLAS kernels, sums in other orders, less of NumPy's dispatch, one
thread, no native kernels, no C machine, other Pythons, versions.

``python dev.py machines`` runs all, ``python dev.py machines haswell oldest`` these two. Each runs the tests
that need no torch. What stands behind ``--`` is handed to pytest. ``python dev.py machines newest``, which
is not among all, is a minute of the newest Python that is here.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "machines"
#: Beside the one that runs this; 3.14t is the free-threaded build, which has no C machine.
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.14t")
RUNNING = f"{sys.version_info.major}.{sys.version_info.minor}"
#: Where version managers put them, whose programs on PATH may be switched off.
MANAGED = (
    "$PYENV_ROOT/versions/VERSION.*/bin/python",
    "~/.pyenv/versions/VERSION.*/bin/python",
    "~/.local/share/uv/python/cpython-VERSION.*/bin/python",
)
VERSION = "import sys; print('%d.%d' % sys.version_info[:2] + 't' * ('t' in sys.abiflags))"
#: What depends on the Python most: counts of references, its C interface, threads, interrupts, texts of code.
SHORT = (
    *(f"tests/fast_paths/test_{name}.py" for name in ("same", "references", "leaves", "texts", "sources")),
    *("tests/runtime/test_thread_state.py", "tests/codegen/test_ir.py"),
)
BLAS_KERNELS = ("Haswell", "SkylakeX", "Cooperlake", "Zen", "Sandybridge", "Nehalem", "Prescott")
OLDEST, NEWEST, PLAIN = "oldest", "newest", {"TENGEN_FAST_PATHS": "0"}
#: A BLAS that adds up in orders which depend on sizes and strides; and two of the orders that it has.
REORDERED, ORDERS = ROOT / "tests" / "machines" / "reordered.c", ("1", "2")
#: What of NumPy's dispatch this processor would use, in the form of NPY_DISABLE_CPU_FEATURES.
DISPATCHED = """\
from numpy._core._multiarray_umath import __cpu_dispatch__ as names, __cpu_features__ as have
print(*(name for name in names if have[name]))"""


@dataclass(frozen=True, slots=True)
class Machine:
    """One way to run the suite: its interpreter, its versions, its environment variables, which tests."""

    name: str
    python: str = sys.executable
    place: str = ""  # the folder of its environment; none is the one that runs this
    environment: Mapping[str, str] = field(default_factory=dict)
    tests: tuple[str, ...] = ()


def machines() -> list[Machine]:
    """All that this machine can stand for."""
    found = [Machine(kernel.lower(), environment={"OPENBLAS_CORETYPE": kernel}) for kernel in BLAS_KERNELS]
    baseline = subprocess.run([sys.executable, "-c", DISPATCHED], capture_output=True, text=True, check=True)
    found.append(Machine("baseline", environment={"NPY_DISABLE_CPU_FEATURES": baseline.stdout.strip()}))
    found.append(Machine("one-thread", environment={"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}))
    found.append(Machine("numpy", environment={"TENGEN_NATIVE": "0"}))
    found.append(Machine("plain", environment=PLAIN))
    found += reordered()
    found.append(Machine(OLDEST, place=OLDEST))
    return found + pythons()


def pythons() -> list[Machine]:
    """The other Pythons, each with and without the C machine; one that is not here is said and left out."""
    found = []
    for version in PYTHONS:
        if version == RUNNING:
            continue
        name, python = f"python{version}", interpreter(version)
        if python is None:
            say_missing(f"{name} is not here")
            continue
        found.append(Machine(name, python, name))
        if not version.endswith("t"):
            found.append(Machine(f"{name}-plain", python, name, PLAIN))
    return found


def say_missing(what: str) -> None:
    """Say that tests do not run, so that it is seen."""
    print("!" * 79, f"{what}: NOTHING IS TESTED WITH IT", "!" * 79, sep="\n", flush=True)


def newest() -> Machine | None:
    """A minute of the newest Python that is here; None, which is said, where none is newer than this one."""
    others = itertools.takewhile(lambda version: version != RUNNING, reversed(PYTHONS))
    for version in others:
        python = None if version.endswith("t") else interpreter(version)
        if python is not None:
            return Machine(NEWEST, python, f"python{version}", tests=SHORT)
    say_missing("no newer Python is here")
    return None


def reordered() -> list[Machine]:
    """Those whose BLAS adds up in other orders; where there can be none, that is said."""
    library = CACHE / "reordered.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    build = ["cc", "-O2", "-fcx-limited-range", "-shared", "-fPIC", str(REORDERED), "-o", str(library)]
    if not sys.platform.startswith("linux") or shutil.which("cc") is None or subprocess.run(build).returncode:
        print("a BLAS cannot be built and put before NumPy's here: those that add up otherwise are left out")
        return []
    preloaded = [{"LD_PRELOAD": str(library), "TENGEN_TEST_ORDER": order} for order in ORDERS]
    if not adds_otherwise(preloaded):
        print("NumPy's BLAS is not that of its wheels: those that add up otherwise are left out")
        return []
    return [Machine(f"reordered{e['TENGEN_TEST_ORDER']}", environment=e) for e in preloaded]


#: Prints the bits of sums, of which some are others in another order.
SUMS = """\
import numpy as np
terms = np.random.default_rng(0).standard_normal((64, 64))
print((terms @ terms).tobytes().hex())"""


def adds_otherwise(environments: Sequence[Mapping[str, str]]) -> bool:
    """Whether NumPy's products have bits of their own in each of the environments."""
    command = [sys.executable, "-c", SUMS]
    runs = [
        subprocess.run(command, env={**os.environ, **e}, capture_output=True, check=True)
        for e in environments
    ]
    return len({run.stdout for run in runs}) == len(runs)


def interpreter(version: str) -> str | None:
    """A Python of this version: the one on PATH, where that runs, or one of a version manager."""
    found = [shutil.which(f"python{version}")]
    for pattern in MANAGED:
        pattern = os.path.expanduser(os.path.expandvars(pattern)).replace("VERSION", version.rstrip("t"))
        found += sorted(glob.glob(pattern), key=_numbers, reverse=True)
    for python in filter(None, found):
        told = subprocess.run([python, "-c", VERSION], capture_output=True, text=True)
        if told.returncode == 0 and told.stdout.strip() == version:
            return python
    return None


def _numbers(path: str) -> list[int]:
    """The numbers in a path: 3.13.10 is newer than 3.13.9."""
    return [int(n) for n in re.findall(r"\d+", path)]


def floors() -> list[str]:
    """The oldest versions that pyproject.toml admits, as constraints for pip."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    required = [*project["dependencies"], *extras["test"], *extras["compile"]]
    return [re.sub(r">=([^,;]+).*", r"==\1", requirement) for requirement in required]


def environment(machine: Machine) -> Path:
    """The Python of an environment with the extras that tests use, made anew when its sources change."""
    if not machine.place:
        return Path(sys.executable)
    place = CACHE / machine.place
    python, mark = place / "bin" / "python", place / ".installed"
    if mark.exists() and mark.stat().st_mtime >= max([path.stat().st_mtime for path in built_from()]):
        return python
    subprocess.run([machine.python, "-m", "venv", "--clear", str(place)], check=True)
    constraints = place / "constraints.txt"
    constraints.write_text("\n".join(floors() if machine.place == OLDEST else []))
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--constraint",
        str(constraints),
    ]
    subprocess.run([*install, "--editable", ".[test,compile]"], cwd=ROOT, check=True)
    mark.touch()
    return python


def built_from() -> list[Path]:
    """What an installation depends on: the C machine is built by it."""
    folder = ROOT / "runtime" / "fast_paths"
    sources = [*folder.glob("*.[ch]"), folder / "operations.def"]
    return [ROOT / "pyproject.toml", ROOT / "setup.py", *sources]


def run(machine: Machine, arguments: Sequence[str]) -> str:
    """Run the suite, its output shown and its last line given back."""
    print(f"=== {machine.name} {dict(machine.environment)}", flush=True)
    options = ("-n", "auto", "--dist", "worksteal", "-m", "not oracle")
    command = [str(environment(machine)), "-m", "pytest", *options, *(arguments or machine.tests)]
    last = ""
    with subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **machine.environment}, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            last = line.strip() or last
    return last if process.returncode == 0 else f"FAILED: {last}"


def choose(names: Sequence[str]) -> list[Machine]:
    """Those that are named, or all; ValueError where there is none of a name."""
    found = [short] if NEWEST in names and (short := newest()) else []
    if names and {*names} == {NEWEST}:
        return found
    every = machines()
    if unknown := sorted({*names} - {NEWEST, *[machine.name for machine in every]}):
        there = ", ".join([*[machine.name for machine in every], NEWEST])
        raise ValueError(f"no machine is named {', '.join(unknown)}: there are {there}")
    return found + [machine for machine in every if not names or machine.name in names]


def main(arguments: Sequence[str]) -> int:
    """Run the machines that are named, or all; 1 if one of them fails."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names, rest = arguments[:split], arguments[split + 1 :]
    try:
        chosen = choose(names)
    except ValueError as error:
        print(error)
        return 2
    results = {}
    for machine in chosen:
        began = time.monotonic()
        try:
            found = run(machine, rest)
        except subprocess.CalledProcessError as error:
            found = f"FAILED: {error}"
        results[machine.name] = f"{found} ({time.monotonic() - began:.0f} s)"
    for name, result in results.items():
        print(f"{name:16} {result}")
    return any(result.startswith("FAILED") for result in results.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
