"""The C machine built with GCC's sanitizers, under the tests that call it most, and the fuzzer.

    python dev.py sanitize [address] [thread] [short] [-- ARGUMENTS]

``address`` finds what is read or written beyond memory, or used after it was freed, and what C leaves
undefined; ``thread`` finds what threads do to the same memory at once. Both are built in a copy of the
project, and must first report a mistake of each kind that is there on purpose. ``short`` is ``address`` with
tests that take a minute, which CI runs; who names none gets the others. What stands behind ``--`` is handed
to pytest.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "helpers"))

from scratch import FOLDERS, Scratch, copy_project

ROOT = Path(__file__).resolve().parents[2]
#: Of a stack whose frames are known, and at the speed of which a fuzzer is still of use.
COMMON = ("-g", "-O1", "-fno-omit-frame-pointer")
#: Calls a function of a library with a number.
CALL = "import ctypes, sys; getattr(ctypes.CDLL(sys.argv[1]), sys.argv[2])(9)"
FUZZ = ("tests/fuzz/fuzz.py", "--minutes", "1")


@dataclass(frozen=True, slots=True)
class Sanitizer:
    """One build: its flags, what a process must load first, the tests, and the mistakes that it finds."""

    flags: tuple[str, ...]
    libraries: tuple[str, ...]
    options: dict[str, str]
    tests: tuple[str, ...]
    mistakes: tuple[str, ...]
    fuzz: bool


ADDRESS = Sanitizer(
    ("-fsanitize=address,undefined", "-fno-sanitize-recover=all"),
    ("libasan.so", "libubsan.so"),
    # Python leaves memory to the end of the process; its own allocator would hide what is used too late.
    {"ASAN_OPTIONS": "detect_leaks=0", "PYTHONMALLOC": "malloc"},
    ("tests/fast_paths", "tests/machine_code", "tests/autograd/test_backward.py"),
    ("beyond", "overflow"),
    True,
)
SHORT = "short"
#: Seconds each; the others of tests/fast_paths take minutes.
OF_SHORT = (
    *(f"tests/fast_paths/test_{name}.py" for name in ("references", "shares", "texts", "called_once")),
    *(f"tests/fast_paths/test_{name}.py" for name in ("program", "operations", "leaves")),
    "tests/autograd/test_backward.py",
)
SANITIZERS = {
    "address": ADDRESS,
    SHORT: replace(ADDRESS, tests=OF_SHORT, fuzz=False),
    "thread": Sanitizer(
        ("-fsanitize=thread",),
        ("libtsan.so",),
        # A test forks with threads on purpose.
        {"TSAN_OPTIONS": "die_after_fork=0 halt_on_error=1 exitcode=66"},
        (
            "tests/fast_paths/test_shares.py",
            "tests/kernels/test_parallel.py",
            "tests/machine_code/test_robust.py",
            "tests/func/test_compose.py",
        ),
        ("race",),
        False,
    ),
}


def library(name: str) -> str:
    """Where the compiler has a library."""
    found = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def build(sanitizer: Sanitizer, place: Path) -> Scratch | None:
    """A copy of the project whose C machine is built so; None where it cannot be built, which is said."""
    shutil.rmtree(place, ignore_errors=True)
    copy = copy_project(place, (*FOLDERS, "setup.py", "README.md", "LICENSE"))
    flags = " ".join((*COMMON, *sanitizer.flags))
    build = Scratch(copy.root, {**copy.environment, "CC": "gcc", "CFLAGS": flags, "LDFLAGS": flags})
    for old in (copy.root / "runtime" / "fast_paths").glob("*.so"):
        old.unlink()
    built = build.python("setup.py", "-q", "build_ext", "--inplace")
    canaries = ["gcc", *flags.split(), "-shared", "-fPIC", "tests/machines/canaries.c", "-o", "canaries.so"]
    made = subprocess.run(canaries, cwd=copy.root).returncode == 0
    if not made or not any((copy.root / "runtime" / "fast_paths").glob("*.so")):
        print(built.stdout)
        return None
    loaded = " ".join(map(library, sanitizer.libraries))
    return Scratch(copy.root, {**copy.environment, **sanitizer.options, "LD_PRELOAD": loaded})


def silent(copy: Scratch, sanitizer: Sanitizer) -> list[str]:
    """The mistakes made on purpose that are not reported."""
    library = copy.root / "canaries.so"
    return [name for name in sanitizer.mistakes if not copy.python("-c", CALL, str(library), name).returncode]


def run(name: str, arguments: Sequence[str]) -> str:
    """What became of the tests under a sanitizer; their output is shown as it comes."""
    sanitizer = SANITIZERS[name]
    copy = build(sanitizer, ROOT / ".cache" / "sanitized" / name)
    if copy is None:
        return "FAILED: the C machine was not built"
    if unreported := silent(copy, sanitizer):
        return f"FAILED: it does not report {', '.join(unreported)}"
    commands = [("-m", "pytest", "-m", "not oracle", *sanitizer.tests, *arguments)]
    commands += [FUZZ] if sanitizer.fuzz else []
    for command in commands:
        status = subprocess.run([sys.executable, *command], cwd=copy.root, env=copy.environment).returncode
        if status:
            return f"FAILED with {status}: {' '.join(command)}"
    return "passed"


def main(arguments: Sequence[str]) -> int:
    """Run the sanitizers that are named, or all; 1 if one of them reports something."""
    split = arguments.index("--") if "--" in arguments else len(arguments)
    names = arguments[:split] or [name for name in SANITIZERS if name != SHORT]
    if unknown := sorted(set(names) - set(SANITIZERS)):
        print(f"no sanitizer is named {', '.join(unknown)}: there are {', '.join(SANITIZERS)}")
        return 2
    if not sys.platform.startswith("linux") or shutil.which("gcc") is None:
        print("the sanitizers are GCC's, on Linux: NOTHING WAS TRIED")
        return 2
    results = {name: run(name, arguments[split + 1 :]) for name in names}
    for name, result in results.items():
        print(f"{name:12} {result}")
    return any(result != "passed" for result in results.values())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
