"""Everything a developer runs, on a machine with Python 3.11 to 3.14 and pip.

    python dev.py demo      generate, import, train a small classifier on handwritten digits
    python dev.py test      the tests; --without-native those of kernels, with NumPy's forms in their place,
                            and of the engine, without the C machine
    python dev.py check     ruff, mypy, and whether generated/ is what declarations/ generate, here and in the
                            example library
    python dev.py library   the example library, built as a wheel, tested beside a wheel of tengen
    python dev.py oracle    the comparisons with torch 2.13.0, which this installs; --all runs every sample
    python dev.py coverage  PyTorch's public names: which are here, and which are not; --absent lists these
    python dev.py docs      the site, with the reference of operators, in .cache/site
    python dev.py programs  packages from PyPI that are written for PyTorch, in programs, with tengen
    python dev.py machines  the tests with other BLAS kernels, orders of sums, Pythons, versions: hours;
                            newest is a minute of the newest Python that is here
    python dev.py fuzz      random programs of operators, for as many --minutes as one wants
    python dev.py sanitize  the C machine built with sanitizers, under the tests that call it most
    python dev.py cuda      what a GPU does, with the Python that runs this: it needs CuPy, and no network
    python dev.py array_api the array API standard's own tests, of a checkout that one names, or cloned
    python dev.py install   the environment alone, with the extras that are named: install test docs oracle
    python dev.py mutants   whether the tests notice the mistakes that are listed in tests/mutants

Each command but cuda makes the environment .venv if it is not there and installs what it needs into it.
What stands behind the command is handed on: python dev.py test -k mul.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
import venv
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
GENERATOR = ROOT / "docs" / "generator"
LIBRARY = ROOT / "examples" / "ops_library"
ENVIRONMENT = ROOT / ".venv"
PIP = ("-m", "pip", "install", "--quiet", "--no-compile")
#: As pyproject.toml has it for the rest of the project.
PYRIGHT = {"pythonVersion": "3.11", "typeCheckingMode": "standard", "venvPath": "../..", "venv": ".venv"}
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> int:
    """Run a program of the environment in a folder, the project's; returns its exit status.

    Modules are compiled once, whatever the shell says: the tests start a thousand processes.
    """
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return subprocess.run([str(c) for c in command], cwd=cwd, env={**kept, **environment}).returncode


#: What tests and the demo use where it can be installed: not every platform has a wheel of llvmlite.
COMPILE = "compile"
#: torch, which tests compare with where it can be installed.
ORACLE = "oracle"


def require(*extras: str, optional: Sequence[str] = ()) -> bool:
    """Make the environment, and install the project with the extras unless that was done.

    Where one that is optional cannot be installed this is said once, and the others are. Returns whether all
    are installed.
    """
    if not PYTHON.exists():
        print(f"making the environment {ENVIRONMENT.name}", flush=True)
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    # The sources of the C machine are built when the project is installed.
    sources = [
        ROOT / "pyproject.toml",
        ROOT / "setup.py",
        *(ROOT / "runtime" / "fast_paths").glob("*.[ch]"),
        ROOT / "runtime" / "fast_paths" / "operations.def",
    ]
    settings = max([path.stat().st_mtime for path in sources])
    missing = [each for each in (*extras, *optional) if not is_marked(each, settings)]
    if missing and not install(missing, settings):
        needed = [each for each in missing if each not in optional]
        if needed == missing or (needed and not install(needed, settings)):
            sys.exit(f"installing tengen[{','.join(extras)}] failed")
        tried = [each for each in missing if each in optional]
        refused = [each for each in tried if missing == [each] or not install([each], settings)]
        for each in refused:
            mark(each).write_text(REFUSED)
        if refused:
            said = f"{', '.join(refused)} cannot be installed here: tengen runs without"
            print("!" * 79, said, "!" * 79, sep="\n")
    return not any(is_refused(each) for each in optional)


#: What the mark of an extra says that could not be installed.
REFUSED = "refused"


def mark(name: str) -> Path:
    """The file that tells that the project, which is "", or one of its extras is installed or was refused."""
    return ENVIRONMENT / f".installed-{name}"


def is_marked(name: str, settings: float) -> bool:
    """Whether the project or an extra was installed or refused with these settings, or later ones."""
    return mark(name).exists() and mark(name).stat().st_mtime >= settings


def is_refused(name: str) -> bool:
    """Whether an extra could not be installed."""
    return mark(name).exists() and mark(name).read_text() == REFUSED


def install(extras: Sequence[str], settings: float) -> bool:
    """Install extras, and the project where it is not, or was with older settings; whether that went well.

    What is installed is compiled when it is imported, most of it never.
    """
    print(f"installing tengen[{','.join(extras)}]", flush=True)
    wanted: list[str] = ["--editable", f".[{','.join(extras)}]"]
    if is_marked("", settings):  # to build the C machine takes longest
        declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
        wanted = [text for e in extras for text in declared["project"]["optional-dependencies"][e]]
    if run(PYTHON, *PIP, *wanted):
        return False
    for name in ("", *extras):
        mark(name).write_text("")
    return True


def prepare(arguments: Sequence[str]) -> int:
    """The environment, with the extras that are named: what other commands then need not install."""
    require(*[each for each in arguments if each != ORACLE], optional=[COMPILE, *({ORACLE} & {*arguments})])
    return 0


def demo(arguments: Sequence[str]) -> int:
    """Regenerate from YAML, then train on scikit-learn's digits."""
    require("demo", optional=[COMPILE])
    return run(PYTHON, "-m", "tengen.codegen.gen") or run(PYTHON, "examples/digits.py", *arguments)


#: The tests that run most kernels with most values, and the engine's.
OF_KERNELS = (
    *("tests/operators/test_values.py", "tests/operators/test_derivatives.py"),
    *("tests/formulas", "tests/kernels", "tests/machine_code", "tests/operators/test_first_paths.py"),
    *("tests/autograd/test_backward.py", "tests/autograd/test_inplace.py", "tests/autograd/test_views.py"),
)


def test(arguments: Sequence[str]) -> int:
    """The tests, on all cores; neighbours run in one process, which makes what they share once.

    With --without-native NumPy's forms run in the place of native kernels, and Python in that of the
    C machine; where no others are named, the tests of kernels and of the engine alone.
    """
    require("test", optional=[COMPILE])
    chosen = [a for a in arguments if a != "--without-native"]
    environment = {}
    if len(chosen) < len(arguments):
        environment["TENGEN_NATIVE"] = environment["TENGEN_FAST_PATHS"] = "0"
        chosen = chosen or [*OF_KERNELS]
    return run(PYTHON, "-m", "pytest", "-n", "auto", "--dist", "worksteal", *chosen, **environment)


def check(arguments: Sequence[str]) -> int:
    """What CI checks besides the tests."""
    require("test", "dev")
    sources = ["ruff", "check", "."], ["ruff", "format", "--check", "."]
    statuses = [run(PYTHON, "-m", *command) for command in sources]
    path = os.pathsep.join((str(tree()), str(GENERATOR)))
    statuses.append(run(PYTHON, "-m", "mypy", "--strict", "-p", "tengen", MYPYPATH=path))
    statuses.append(run(PYTHON, "-m", "mypy", "--strict", *sorted(GENERATOR.glob("*.py")), MYPYPATH=path))
    statuses.append(run(PYTHON, "-m", "tengen.codegen.gen", "--check"))
    for command in ("gen", "fmt"):
        statuses.append(run(PYTHON, "-m", "tengen.codegen.cli", command, "--check", cwd=LIBRARY))
    return max(statuses)


def oracle(arguments: Sequence[str]) -> int:
    """The comparisons with torch; with --all every sample of PyTorch's own database of operators."""
    require("test", optional=[COMPILE])
    if is_refused(ORACLE):
        mark(ORACLE).unlink()  # it may be there now, as where only the network was down
    if not require(optional=[ORACLE]):
        print(
            "!" * 79,
            "torch 2.13.0 cannot be installed here: NOTHING WAS COMPARED WITH IT",
            "!" * 79,
            sep="\n",
        )
        return 0
    everything = {"OPINFO": "all"} if "--all" in arguments else {}
    chosen = [a for a in arguments if a != "--all"]
    return run(
        PYTHON, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "-m", "oracle", *chosen, **everything
    )


def coverage(arguments: Sequence[str]) -> int:
    """What of PyTorch's public names is here, beside torch where it is installed."""
    require("test")
    return run(PYTHON, "tests/names/names_coverage.py", *arguments, PYTHONPATH=str(GENERATOR))


def machines(arguments: Sequence[str]) -> int:
    """The tests as other machines run them."""
    require("test", optional=[COMPILE])
    return run(PYTHON, "tests/machines/machines.py", *arguments)


def programs(arguments: Sequence[str]) -> int:
    """Run packages that are written for PyTorch where that is not installed, and compare with its numbers."""
    require("test", *([ORACLE] if "--record" in arguments else []), optional=[COMPILE])
    return run(PYTHON, "tests/programs/package_programs.py", *arguments)


def docs(arguments: Sequence[str]) -> int:
    """The site. A broken link, or an example that does not run, is an error."""
    require("docs")
    return run(PYTHON, "-m", "mkdocs", "build", "--strict", *arguments, NO_MKDOCS_2_WARNING="1")


def mutants(arguments: Sequence[str]) -> int:
    """Make the mistakes of tests/mutants one by one, and see whether a test fails."""
    require("test")
    return run(PYTHON, "tests/mutants/run.py", *arguments)


def fuzz(arguments: Sequence[str]) -> int:
    """Try random programs, beside torch where it is installed, with a seed that is printed."""
    require("test")
    return run(PYTHON, "tests/fuzz/fuzz.py", *arguments)


def sanitize(arguments: Sequence[str]) -> int:
    """What GCC's sanitizers see in the C machine."""
    require("test", optional=[COMPILE])
    return run(PYTHON, "tests/machines/sanitized.py", *arguments)


def cuda(arguments: Sequence[str]) -> int:
    """What a GPU does, with this Python: where there is a GPU, often nothing can be installed."""
    return run(sys.executable, ROOT / "tests" / "gpu" / "on_gpu.py", *arguments, cwd=Path.cwd())


def array_api(arguments: Sequence[str]) -> int:
    """The suite data-apis/array-api-tests on tengen.array_api."""
    require("test")
    return run(PYTHON, "tests/array_api/suite.py", *arguments)


#: Fails where the kernels of tengen's wheel are not those that are used.
CARRIED = """
from tengen.machine_code.status import status
found = status()
print(f"native kernels: {found.used}; {found.reason}")
raise SystemExit(found.used != "library")
"""


def library(arguments: Sequence[str]) -> int:
    """Build wheels of tengen and of examples/ops_library; test the library with these, not with the tree.

    The wheel of tengen carries native kernels for this machine, where they can be built.
    """
    require("test", optional=[COMPILE])
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        wheels, place = folder / "wheels", folder / "environment"
        for project in (ROOT, LIBRARY):  # a copy, for building leaves files behind
            copy = folder / project.name
            shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "build"))
        kernels = folder / ROOT.name / "generated" / "machine_code"
        shutil.rmtree(kernels, ignore_errors=True)
        native = not run(PYTHON, "-m", "tengen.codegen.native", "--target", "here", "--out", kernels)
        for project in (ROOT, LIBRARY):
            command = ("pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", wheels, folder / project.name)
            if run(PYTHON, "-m", *command):
                return 1
        venv.create(place, with_pip=True)
        python = place / PYTHON.relative_to(ENVIRONMENT)
        if run(python, *PIP, "pytest>=8", *wheels.glob("*.whl")):
            return 1
        if native and run(python, "-c", CARRIED, cwd=folder):
            return 1
        shutil.copytree(LIBRARY / "tests", folder / "tests")
        return subprocess.run([python, "-m", "pytest", "-q", "tests", *arguments], cwd=folder).returncode


def tree(project: Path = ROOT) -> Path:
    """A folder in which ``tengen`` is a package of links to a copy of the project.

    mypy can follow it, which it cannot an editable install; and with PYTHONPATH set to it a copy
    is imported that is not installed.
    """
    found = project / ".cache" / "tree"
    package = found / "tengen"
    shutil.rmtree(package, ignore_errors=True)
    package.mkdir(parents=True)
    for path in (project / "runtime").iterdir():
        if path.name != "__pycache__":
            (package / path.name).symlink_to(path)
    for name in ("codegen", "declarations", "generated", "ir", "templates"):
        (package / name).symlink_to(project / name)
    # For pyright, in an editor that is opened on this folder: it searches no link that it is not told of.
    folders = [p.name for p in (project / "runtime").iterdir() if p.is_dir() and p.name != "__pycache__"]
    settings = {"include": ["tengen", *sorted(f"tengen/{name}" for name in folders)], **PYRIGHT}
    (found / "pyrightconfig.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return found


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "install": prepare,
    "array_api": array_api,
    "demo": demo,
    "test": test,
    "check": check,
    "library": library,
    "oracle": oracle,
    "coverage": coverage,
    "docs": docs,
    "programs": programs,
    "machines": machines,
    "mutants": mutants,
    "fuzz": fuzz,
    "sanitize": sanitize,
    "cuda": cuda,
}


def main() -> int:
    """Run the command that the first argument names."""
    if len(sys.argv) < 2 or sys.argv[1] not in COMMANDS:
        print(__doc__)
        return 2
    return COMMANDS[sys.argv[1]](sys.argv[2:])


if __name__ == "__main__":
    sys.exit(main())
