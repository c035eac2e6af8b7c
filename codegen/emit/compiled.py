"""Emit: nothing that Python would not compile.

What is generated is made of texts that others wrote. Whatever the checks before have missed ends here, and
the error names the declaration that the text came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.diagnostics import Report
from ..model.operators import Declarations
from ..model.source import OutputFile, Place

#: Where functions, methods and classes begin.
_DEFINITION = re.compile(r"^(?=(?:    )?(?:def|class) )", re.M)
#: A function's or a class's name, and the first line of its docstring.
_HEAD = re.compile(r'\s*(?:def|class) (\w+)[^\n]*\n(?:\s*"""([^\n"]*))?')


_HEAD_LENGTH = 10_000


@dataclass(frozen=True, slots=True)
class _Broken:
    file: OutputFile
    line: int
    message: str
    around: tuple[str, ...]  # the texts of the definitions around, the innermost first


def check_compiles(files: Iterable[OutputFile], output: Path, declared: Declarations) -> None:
    """Raises DeclarationErrors if a file that differs from what ``output`` holds is no Python.

    Of a file that is there only what is new is compiled.
    """
    report = Report()
    places: Mapping[str, Place] | None = None
    known: set[tuple[Place, str]] = set()
    for file in files:
        broken = _broken(file, output / file.path) if file.path.endswith((".py", ".pyi")) else None
        if broken is None:
            continue
        places = _places(declared) if places is None else places
        report.sources[file.path] = file.text.split("\n")
        place = next(filter(None, (_declared(text, places) for text in broken.around)), None)
        own = Place(file.path, broken.line, 1)
        if place is not None and (place, broken.message) in known:
            continue  # the same text in another file
        known.add((place or own, broken.message))
        report.error(
            place or own,
            f"the generator would write Python that does not compile: {broken.message}",
            expected="a declaration that can be written as Python",
            related=() if place is None else ((own, _line(file, broken.line)),),
        )
    report.finish()


def _line(file: OutputFile, number: int) -> str:
    lines = file.text.split("\n")
    return lines[number - 1].strip() if 0 < number <= len(lines) else ""


def _broken(file: OutputFile, path: Path) -> _Broken | None:
    """What is wrong with a file, if anything is."""
    before = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    if before == file.text or (before and _compiles("".join(_changed(file.text, before)))):
        return None
    error = _error(file.text)
    if error is None:
        return None
    lines = file.text.split("\n")
    end = len("\n".join(lines[: error[0]]))
    starts = [m.start() for m in _DEFINITION.finditer(file.text, 0, end)]
    outer = [at for at in starts if file.text[at] != " "]
    around = tuple(file.text[at : at + _HEAD_LENGTH] for at in (*starts[-1:], *outer[-1:]))
    return _Broken(file, error[0], error[1], around)


def _changed(text: str, before: str) -> Iterator[str]:
    """The definitions that a text has and the one before had not, each as it can stand by itself."""
    known = set(_DEFINITION.split(before))
    for part in _DEFINITION.split(text):
        if part not in known:
            yield f"class _:\n{part}\n" if part.startswith("    ") else f"{part}\n"


def _compiles(text: str) -> bool:
    return _error(text.replace("\nfrom __future__ import annotations\n", "\n")) is None


def _error(text: str) -> tuple[int, str] | None:
    """The line and the text of what is wrong with some Python."""
    try:
        compile(text, "<generated>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return error.lineno or 1, error.msg
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return 1, str(error) or type(error).__name__
    return None


def _places(declared: Declarations) -> dict[str, Place]:
    """Where operators and classes are declared, by whatever generated definitions show of them."""
    found = {each.name: each.place for each in declared.modules}
    for operator in declared.operators:
        for name in (operator.name, *operator.autogen):
            for shown in (str(operator.schema), name.method, name.function):
                found.setdefault(shown, operator.place)
    return found


def _declared(definition: str, places: Mapping[str, Place]) -> Place | None:
    """The place of the declaration that a definition was made of."""
    head = _HEAD.match(definition)
    if head is None:
        return None
    shown = (head[2] or "").strip()
    name = shown.partition("(")[0]
    return places.get(shown) or places.get(head[1]) or places.get(name.rpartition("::")[2])
