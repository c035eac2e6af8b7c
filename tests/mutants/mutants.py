"""The list of mutants: small mistakes, as a person makes them in an edit, that a test must notice.

Each YAML file beside this one is a place; each of its entries is a mutant:

    name      unique; it says what is wrong
    kind      one of KINDS
    file      the file that is changed
    find      the text that is replaced, which occurs once in the file
    within    optional: the beginning of a paragraph, which occurs once in the file; ``find`` then occurs
              once in that paragraph, which ends at the next empty line
    replace   what stands there instead
    tests     what pytest is given to kill it: paths, and options such as -k; optional with ``operators``
    operators optional: the operators whose tests in tests/operators are run besides
    survives  optional: why no test without torch can notice
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scratch import PROJECT
from yaml_files import read_yaml

HERE = Path(__file__).resolve().parent

#: For each place how many mutants its file has at least.
PLACES = {
    "declarations": 40,
    "kernels": 40,
    "autograd": 35,
    "formulas": 25,
    "func": 15,
    "runtime": 30,
    "libraries": 25,
    "codegen": 25,
    "c": 30,
    "machine_code": 25,
    "sparse": 35,
    "nested": 25,
    "data": 25,
    "files": 30,
}

KINDS = (
    *("sign", "conjugate", "factor", "term", "operand", "saved", "mask", "dtype", "promotion", "default"),
    *(
        "bound",
        "remainder",
        "axis",
        "order",
        "nan",
        "alias",
        "version",
        "hook",
        "accumulate",
        "edge",
        "state",
    ),
    *("check", "message", "cache", "shape", "random", "branch", "thread"),
)

KEYS = frozenset({"name", "kind", "file", "find", "within", "replace", "tests", "operators", "survives"})

#: The tests that follow from declarations; those of one operator take seconds. The others there compare with
#: torch, or are about all operators together.
OF_OPERATORS = tuple(
    f"tests/operators/{path.name}"
    for path in sorted((PROJECT / "tests" / "operators").glob("test_*.py"))
    if not path.stem.startswith(("test_torch", "test_completeness", "test_derived", "test_special"))
)

#: Among them what counts operators, and fails where few are asked for.
OF_ALL = tuple(word for file in OF_OPERATORS for word in ("--deselect", f"{file}::test_most"))


class ListError(Exception):
    """An entry that cannot be used; the text says which, and why."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """One mistake, and the tests that must notice it."""

    name: str
    place: str
    kind: str
    file: str
    find: str
    replace: str
    within: str = ""
    tests: str = ""
    operators: str = ""
    survives: str = ""

    @property
    def selection(self) -> tuple[str, ...]:
        """What pytest is given."""
        given = tuple(shlex.split(self.tests))
        named = any(argument.startswith("tests/operators") for argument in given)
        if not self.operators:
            return given
        return given + (() if named else OF_OPERATORS) + OF_ALL

    @property
    def regenerates(self) -> bool:
        """Whether the generator has to run for the change to be seen."""
        return self.file.partition("/")[0] in ("declarations", "codegen", "ir", "templates")

    @property
    def rebuilds(self) -> bool:
        """Whether the C machine has to be built for the change to be seen."""
        return self.file.endswith((".c", ".h"))

    def applied(self, text: str) -> str:
        """The text of the file with the mistake in it. Raises ListError where that has no single place."""
        start, end = self._paragraph(text)
        found = text.count(self.find, start, end)
        if found != 1:
            raise ListError(f"{self.name}: {self.find!r} occurs {found} times in {self.file}")
        at = text.index(self.find, start, end)
        return text[:at] + self.replace + text[at + len(self.find) :]

    def _paragraph(self, text: str) -> tuple[int, int]:
        if not self.within:
            return 0, len(text)
        if text.count(self.within) != 1:
            raise ListError(
                f"{self.name}: {self.within!r} occurs {text.count(self.within)} times in {self.file}"
            )
        start = text.index(self.within)
        end = text.find("\n\n", start)
        return start, len(text) if end < 0 else end


def mutant(place: str, entry: dict[str, Any]) -> Mutant:
    """The mutant of an entry. Raises ListError for one with other keys or values than text."""
    label = f"{place}: {entry.get('name')}"
    if unknown := set(entry) - KEYS:
        raise ListError(f"{label} has unknown keys: {', '.join(sorted(unknown))}")
    if wrong := [k for k, v in entry.items() if not isinstance(v, str)]:
        raise ListError(f"{label}: the value of {wrong[0]} is no text")
    if missing := {"name", "kind", "file", "find", "replace"} - set(entry):
        raise ListError(f"{label} lacks {', '.join(sorted(missing))}")
    return Mutant(place=place, **entry)


def mutants(place: str | None = None) -> list[Mutant]:
    """Every mutant, or those of a place. Raises ListError."""
    return [
        mutant(name, entry)
        for name in ([place] if place else PLACES)
        for entry in read_yaml(HERE / f"{name}.yaml")
    ]


def source(file: str) -> str:
    """The text of a file of the project."""
    return (PROJECT / file).read_text(encoding="utf-8")
