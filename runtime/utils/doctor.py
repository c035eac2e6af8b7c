"""What a machine could do better for tengen: ``tengen doctor``, or ``python -m tengen.utils.doctor``.

NumPy's OpenBLAS chooses its kernels by the processor, and on one that it does not know it may choose
slow ones. Which, is found by asking and by measuring: the product of two matrices is timed in
processes of their own, with the library's own choice and with others. Nothing is changed here; what helps
is an environment variable that the user sets. Which native kernels are used, ``native_report`` says, and last
whether the C machine is.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

from .. import fast_paths
from . import native_report

VARIABLE = "OPENBLAS_CORETYPE"
#: The kernels that are tried, by the instructions that they need, in NumPy's names of these.
CANDIDATES: Mapping[str, tuple[str, ...]] = {
    "SkylakeX": ("AVX512F", "AVX512_SKX"),
    "Zen": ("AVX2", "FMA3"),
    "Haswell": ("AVX2", "FMA3"),
}
#: By how much another choice must be faster to be recommended: more than two runs of one differ.
MARGIN = 1.15
_SIZE, _PRODUCTS = 768, 12


@dataclass(frozen=True)
class Speed:
    """How fast one choice of kernels is: in GFLOP/s, float32 and one thread. None where it did not run."""

    chosen: str  # what the variable was set to; empty for the library's own choice
    kernel: str | None  # what OpenBLAS then says that it uses
    gflops: float | None


@dataclass(frozen=True)
class Diagnosis:
    """What was found."""

    blas: str | None  # "OpenBLAS 0.3.31 ...", None where NumPy does not use it
    speeds: tuple[Speed, ...] = ()
    advice: str | None = None  # the setting that helps


# -- what is asked ---------------------------------------------------------------------------------


def openblas() -> ctypes.CDLL | None:
    """The OpenBLAS that NumPy brought and uses; None where it uses another library, or hides it."""
    import numpy

    numpy.ones((2, 2)) @ numpy.ones((2, 2))
    package = Path(numpy.__file__).parent
    places = (package.parent / "numpy.libs", package / ".dylibs", package / ".libs")
    for path in (p for place in places if place.is_dir() for p in sorted(place.iterdir())):
        if "openblas" in path.name.lower():
            try:
                return ctypes.CDLL(str(path))
            except OSError:
                continue
    return None


def _said(library: ctypes.CDLL, what: str) -> str | None:
    """What the library answers; its functions have a prefix and a suffix that vary with the build."""
    for prefix in ("scipy_", ""):
        for suffix in ("64_", ""):
            function = getattr(library, f"{prefix}openblas_get_{what}{suffix}", None)
            if function is not None:
                function.restype = ctypes.c_char_p
                answer: bytes = function()
                return answer.decode()
    return None


def possible(features: Mapping[str, bool]) -> list[str]:
    """The candidates whose instructions the processor has."""
    return [name for name, needed in CANDIDATES.items() if all(features.get(f, False) for f in needed)]


def processor_features() -> dict[str, bool]:
    """The processor's instruction sets as NumPy knows them; empty where it does not say."""
    try:
        module = import_module("numpy._core._multiarray_umath")
    except ImportError:
        return {}
    return dict(getattr(module, "__cpu_features__", {}))


# -- what is measured --------------------------------------------------------------------------------


def measure_here() -> Speed:
    """The speed of this process's choice."""
    import time

    import numpy

    a = numpy.ones((_SIZE, _SIZE), numpy.float32)
    b = a.copy()
    out = numpy.empty_like(a)
    best = float("inf")
    for _ in range(_PRODUCTS):
        start = time.process_time()
        numpy.matmul(a, b, out)
        best = min(best, time.process_time() - start)
    library = openblas()
    kernel = None if library is None else _said(library, "corename")
    return Speed(os.environ.get(VARIABLE, ""), kernel, 2 * _SIZE**3 / best / 1e9)


def measure(chosen: str) -> Speed:
    """The speed of a choice, in a process of its own; a choice that crashes there has none."""
    environment = {k: v for k, v in os.environ.items() if k != VARIABLE}
    environment |= {"OPENBLAS_NUM_THREADS": "1", **({VARIABLE: chosen} if chosen else {})}
    command = [sys.executable, "-m", "tengen.utils.doctor", "--measure"]
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if found.returncode:
        return Speed(chosen, None, None)
    return Speed(**json.loads(found.stdout))


def measured(choices: Sequence[str], rounds: int = 3) -> tuple[Speed, ...]:
    """The best of each choice, taken in turn, so that what else the machine does disturbs all alike."""
    found: dict[str, Speed] = {}
    for _ in range(rounds):
        for chosen in choices:
            speed = measure(chosen)
            if chosen not in found or (speed.gflops or 0) > (found[chosen].gflops or 0):
                found[chosen] = speed
    return tuple(found.values())


# -- what follows ----------------------------------------------------------------------------------


def advice(speeds: Iterable[Speed], current: str) -> str | None:
    """The setting that helps; None where the present one is as fast as any.

    ``current`` is what the variable is set to now, empty for the library's own choice.
    """
    known = {s.chosen: s.gflops for s in speeds if s.gflops is not None}
    if not known:
        return None
    best = max(known, key=lambda chosen: known[chosen])
    if known[best] < MARGIN * known.get(current, 0.0):
        return None
    return f"{VARIABLE}={best}" if best else f"{VARIABLE} unset"


def diagnose() -> Diagnosis:
    """Ask and measure; some seconds."""
    library = openblas()
    if library is None:
        return Diagnosis(None)
    current = os.environ.get(VARIABLE, "")
    choices = list(dict.fromkeys(["", current, *possible(processor_features())]))
    speeds = measured(choices)
    return Diagnosis(_said(library, "config"), speeds, advice(speeds, current))


def report(found: Diagnosis) -> str:
    """What was found, for a person to read."""
    if found.blas is None:
        return "NumPy's BLAS is not OpenBLAS, or not its own: nothing to say about it."
    lines = [f"NumPy's BLAS: {found.blas.strip()}", "float32 products, one thread:"]
    for s in found.speeds:
        speed = "does not run here" if s.gflops is None else f"{s.gflops:6.0f} GFLOP/s, kernels {s.kernel}"
        lines.append(f"  {f'{VARIABLE}={s.chosen}' if s.chosen else 'its own choice':32} {speed}")
    if found.advice is None:
        lines.append("The present setting is as good as any.")
    else:
        lines.append(f"Products of matrices would be faster with {found.advice}")
        lines.append(f"in the environment before Python starts{_how(found.advice)}.")
    return "\n".join(lines)


def _how(setting: str) -> str:
    if "=" not in setting:
        return ""
    if platform.system() == "Windows":
        return f": set {setting}"
    return f": export {setting}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the report; 1 where there is something to advise."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--measure"]:
        print(json.dumps(asdict(measure_here())))
        return 0
    found = diagnose()
    print(report(found))
    print(native_report.report(native_report.diagnose()))
    print(fast_paths_report(fast_paths.status()))
    return 0 if found.advice is None else 1


def fast_paths_report(found: fast_paths.Status) -> str:
    """Whether small calls take fast paths, and why it is so."""
    if found.reason == fast_paths.NOT_BUILT:
        return f"The C machine is not used, since it was not built: {how_to_build()}."
    used = "runs generated functions" if found.used else "is not used: Python runs generated functions"
    return f"The C machine {used} ({found.reason})."


def how_to_build() -> str:
    """What builds the C machine: installing tengen where there is the C compiler that Python asks for."""
    asked = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "").split()
    if not asked:
        return "install a C compiler, and tengen anew"
    if shutil.which(asked[0]) is None:
        return f"there is no C compiler here ({asked[0]}): install one, and tengen anew"
    return f"install tengen anew, with the C compiler that is here ({asked[0]})"


if __name__ == "__main__":
    sys.exit(main())
