"""Programs that need packages from PyPI, run through ``as_torch`` where PyTorch is not installed.

    python dev.py programs [--record] [PROGRAM ...]

makes the environment .cache/programs, installs there the packages of the programs (examples/programs; all, or
those that are named) without PyTorch, runs them, compares with PyTorch's numbers, of
tests/programs/numbers.json, and writes the table in docs/coming-from-pytorch.md. With --record these numbers
are made first, by the same programs and packages with the PyTorch of .venv.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from pathlib import Path

from example_programs import (
    AS_TORCH,
    NUMBERS,
    OF_PACKAGES,
    PAGE,
    Program,
    differences,
    numbers,
    page_with_table,
)

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT = ROOT / ".cache" / "programs"
PYTHON = ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
#: Ends with an error where there is PyTorch, and says where modules are.
WITHOUT_PYTORCH = """
import importlib.util, sysconfig
assert importlib.util.find_spec("torch") is None, "a package has installed PyTorch"
print(sysconfig.get_path("platlib"))
"""


def pip(*arguments: str) -> None:
    """Install into the environment, where there is something, or end."""
    if any(not argument.startswith("-") for argument in arguments):
        subprocess.run([PYTHON, "-m", "pip", "install", "--quiet", "--no-compile", *arguments], check=True)


def prepare(programs: Iterable[Program]) -> str:
    """Make the environment and install what programs need; gives the folder of its modules."""
    if not PYTHON.exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        pip("--editable", f"{ROOT}[compile]")
    pinned = sorted({f"{name}=={wanted}" for p in programs for name, wanted in p.packages.items()})
    pip(*sorted({name for p in programs for name in p.needs}))
    pip("--no-deps", *pinned)
    found = subprocess.run([PYTHON, "-c", WITHOUT_PYTORCH], capture_output=True, text=True, check=True)
    return found.stdout.strip()


def record(programs: Iterable[Program], modules: str) -> None:
    """Ask PyTorch for the numbers, and keep them; those of programs that are gone go."""
    kept = json.loads(NUMBERS.read_text(encoding="utf-8")) if NUMBERS.exists() else {}
    for program in programs:
        environment = {**os.environ, "PYTHONPATH": modules}
        kept[program.name] = numbers(sys.executable, program=program.name, env=environment)
    lines = [f"{json.dumps(name)}: {json.dumps(kept[name])}" for name in sorted(kept) if name in OF_PACKAGES]
    NUMBERS.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def try_out(program: Program) -> list[str]:
    """What is wrong with a program, a line each; tells how it went."""
    try:
        expected = json.loads(NUMBERS.read_text(encoding="utf-8"))[program.name]
        found = numbers(str(PYTHON), *AS_TORCH, program=program.name)
        wrong = differences(found, expected, program.tolerance)
    except KeyError:
        wrong = ["PyTorch's numbers are not recorded"]
    except AssertionError as error:
        wrong = [str(error)]
    print(f"{program.name}: {'PyTorch’s numbers' if not wrong else wrong[0]}", flush=True)
    return wrong


def main(arguments: list[str]) -> int:
    """Run the programs; 1 where one fails."""
    names = [a for a in arguments if a != "--record"] or list(OF_PACKAGES)
    if unknown := [name for name in names if name not in OF_PACKAGES]:
        sys.exit(f"{unknown[0]} is no program that needs packages: there are {', '.join(OF_PACKAGES)}")
    programs = [OF_PACKAGES[name] for name in names]
    modules = prepare(programs)
    if "--record" in arguments:
        record(programs, modules)
    wrong = [line for program in programs for line in try_out(program)]
    PAGE.write_text(page_with_table(), encoding="utf-8")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
