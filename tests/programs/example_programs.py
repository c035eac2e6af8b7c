"""What there is in examples/programs, how it is run, and the table of packages that follows from it.

A program that needs packages from PyPI says so in constants, which are read and not run: ``PACKAGES``, the
versions that are installed without what they depend on (which is PyTorch); ``NEEDS``, what else they import,
which is installed with all it depends on; ``RUNS`` and ``LACKS``, two cells of the table; ``SINCE``, the
version of tengen that first ran it. Any program may say its ``TOLERANCE``, relative to PyTorch's numbers.
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "programs"
#: PyTorch's numbers, by program: for where PyTorch is not.
NUMBERS = Path(__file__).resolve().with_name("numbers.json")
PAGE = FOLDER.parents[1] / "docs" / "coming-from-pytorch.md"
AS_TORCH = ("-m", "tengen.as_torch")
#: What is below it in either library is rounding of what is nothing.
NOTHING = 1e-9
_BEGIN, _END = "<!-- packages: python dev.py programs -->\n", "<!-- end of packages -->\n"


@dataclass(frozen=True)
class Program:
    """A file of examples/programs, and what it says of itself."""

    name: str
    packages: dict[str, str] = field(default_factory=dict)
    needs: tuple[str, ...] = ()
    runs: str = ""
    lacks: str = ""
    since: str = ""
    tolerance: float = 1e-6

    def missing(self) -> list[str]:
        """The packages, in their versions, and the needs that are not installed."""
        pinned = [f"{name} {wanted}" for name, wanted in self.packages.items() if _installed(name) != wanted]
        return pinned + [name for name in self.needs if _installed(name.partition("[")[0]) is None]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _read(path: Path) -> Program:
    constants: dict[str, Any] = {}
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id.lower()
            if name.isidentifier() and statement.targets[0].id == name.upper() and name in _FIELDS:
                constants[name] = ast.literal_eval(statement.value)
    return Program(path.stem, **constants)


_FIELDS = set(Program.__dataclass_fields__) - {"name"}
PROGRAMS = {path.stem: _read(path) for path in sorted(FOLDER.glob("*.py")) if path.stem != "common"}
#: Those that need packages.
OF_PACKAGES = {name: program for name, program in PROGRAMS.items() if program.packages}


def output(python: str, *command: str, program: str, arguments: Sequence[str] = (), **options: Any) -> str:
    """What a program prints; AssertionError with its traceback where it fails."""
    whole = [python, *command, str(FOLDER / f"{program}.py"), *arguments]
    done = subprocess.run(whole, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{program}: {done.stderr}"
    return done.stdout


def numbers(python: str, *command: str, program: str, **options: Any) -> dict[str, Any]:
    """The numbers that a program reports, in the last line of what it prints."""
    found: dict[str, Any] = json.loads(output(python, *command, program=program, **options).splitlines()[-1])
    return found


def flat(value: Any) -> Iterator[float]:
    """The numbers in lists of lists."""
    if isinstance(value, list):
        for each in value:
            yield from flat(each)
    else:
        yield value


def differences(found: dict[str, Any], expected: dict[str, Any], tolerance: float) -> list[str]:
    """What of a program's report is not what PyTorch's is, a line each."""
    said = [f"{name} is reported by one alone" for name in sorted(found.keys() ^ expected.keys())]
    for name in sorted(found.keys() & expected.keys()):
        ours, theirs = list(flat(found[name])), list(flat(expected[name]))
        if len(ours) != len(theirs):
            said.append(f"{name} has {len(ours)} numbers, PyTorch's {len(theirs)}")
        else:
            pairs = ((a, b) for a, b in zip(ours, theirs, strict=True) if not _near(a, b, tolerance))
            said += [f"{name}: {a!r}, PyTorch's {b!r}" for a, b in pairs]
    return said


def _near(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= max(tolerance * abs(b), NOTHING)


def table(programs: Iterable[Program]) -> str:
    """The table of packages in Markdown."""
    lines = ["| package | runs, with PyTorch's numbers | since | not here |", "|---|---|---|---|"]
    for program in programs:
        packages = ", ".join(f"{name} {wanted}" for name, wanted in program.packages.items())
        link = f"[{packages}](../examples/programs/{program.name}.py)"
        lines.append(f"| {link} | {program.runs} | {program.since} | {program.lacks or 'nothing known'} |")
    return "\n".join(lines) + "\n"


def page_with_table() -> str:
    """The page, with the table as the programs have it."""
    text = PAGE.read_text(encoding="utf-8")
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    assert begin and end, f"{PAGE.name} has no place for the table of packages"
    return f"{before}{begin}\n{table(OF_PACKAGES.values())}\n{end}{after}"
