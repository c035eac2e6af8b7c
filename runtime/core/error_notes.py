"""Notes on errors that are raised in generated code: file and line of the declaration."""

from __future__ import annotations

import functools
import re
import sys
from os.path import dirname, join
from types import FrameType, TracebackType
from typing import Any

_MARK = "declared in "
#: The beginning of an entry.
_ENTRY = re.compile(r'^(?:- |  )(?:func|name): *["\']?([\w.]+)')
#: A key of an entry, and an overload below its ``scalar_overloads``.
_KEY, _OVERLOAD = re.compile(r"^  (\w+):"), re.compile(r"^    (\w+):")
#: The name of a copying form below ``view_copy``.
_COPY = re.compile(r"^  view_copy: *\[?([\w.]+)")
#: The names of the forms for lists below ``foreach``.
_FORMS = re.compile(r"^    ([\w., ]+):")

_ROOT = dirname(dirname(__file__))
#: Where the functions are that operators are made of, and those of ``nn.functional``; and its classes.
_COMPOSITES, _MODULES = (
    (join(_ROOT, "composite", ""), join(_ROOT, "nn", "")),
    join(_ROOT, "nn", "modules", ""),
)
#: The package of each library that is loaded, by the folder of its declarations as its tables name it.
library_folders: dict[str, str] = {}


def note_operator(error: BaseException, name: str) -> None:
    """Add where the operator with this full name, or function, is declared, unless a note says so."""
    from tengen.generated.operators import OPERATORS, OVERLOADS
    from tengen.generated.places import OPERATORS as FILES

    full = name if name in OPERATORS else next(iter(OVERLOADS.get(name, ())), name)
    entry = full if full in FILES or full not in OPERATORS else OPERATORS[full].base
    if entry in FILES:
        _note(error, f"{full} is {_MARK}{locate_entry(FILES[entry], entry)}")


def public_name(operator: str) -> str:
    """The function by which errors tell of an operator, or function, with this name: one that is public.

    What has an underscore in front is called by a public function, whose name its declaration has.
    """
    function = operator.partition(".")[0]
    if not function.startswith("_"):
        return function
    from tengen.generated.places import PUBLIC

    return PUBLIC.get(function, function)


def running_composite() -> str:
    """The innermost function of ``nn.functional`` or composite operator that runs in this thread, or "".

    Of functions that call one another it is the first, which is named after the operator.
    """
    frame: FrameType | None = sys._getframe(1)
    name = ""
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(_COMPOSITES) and not file.startswith(_MODULES):
            name = frame.f_code.co_name
        elif name:
            break
        frame = frame.f_back
    return public_name(name)


def note_derivative(error: BaseException) -> None:
    """Add where the derivative is declared whose Node raised the error."""
    from tengen.generated.places import NODES

    node: Any = None
    trace: TracebackType | None = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_name in ("apply", "apply_graph") and "generated" in code.co_filename:
            node = trace.tb_frame.f_locals.get("node")
        trace = trace.tb_next
    found = NODES.get(type(node).__name__) if node is not None else None
    if found is not None:
        name, file = found
        _note(error, f"the derivative of {name} is {_MARK}{locate_entry(file, name)}", "the derivative of ")


def locate_entry(file: str, entry: str) -> str:
    """``FILE:LINE`` of an entry; the file alone where the entry is not found in it."""
    entry = entry.rpartition("::")[2]
    lines = _lines(file)
    stem, dot, overload = entry.partition(".")
    # An operator may be declared in place only; what nn.yaml declares is two operators with one entry.
    related = (f"{stem}_{dot}{overload}", stem.removesuffix("_backward"), stem.removesuffix("_forward"))
    for name in (entry, *related):
        if name in lines:
            return f"{file}:{lines[name]}"
    return file


@functools.cache
def _lines(file: str) -> dict[str, int]:
    """The line where each entry of a file of declarations begins."""
    from importlib import resources  # which brings much else: not when tengen is imported

    folder, _, name = file.rpartition("/")
    package = library_folders.get(folder)
    try:
        found_in = resources.files("tengen.declarations")
        if package is not None:
            found_in = resources.files(package) / "declarations"
        text = (found_in / name).read_text(encoding="utf-8")
    except (OSError, ModuleNotFoundError):
        return {}
    found: dict[str, int] = {}
    function = key = ""
    for number, line in enumerate(text.split("\n"), 1):
        if entry := _ENTRY.match(line):
            function, key = entry[1].partition(".")[0], ""
            found.setdefault(entry[1], number)
        elif copy := _COPY.match(line):
            found.setdefault(copy[1], number)
        elif at := _KEY.match(line):
            key = at[1]
        elif key == "scalar_overloads" and (overload := _OVERLOAD.match(line)):
            found.setdefault(f"{function}.{overload[1]}", number)
        elif key == "foreach" and (forms := _FORMS.match(line)):
            for form in forms[1].split(", "):
                found.setdefault(form, number)
    return found


def _note(error: BaseException, text: str, kind: str = "") -> None:
    """Add a note, the innermost one of its kind only."""
    for note in getattr(error, "__notes__", ()):
        if _MARK in note and note.startswith("the derivative of ") == bool(kind):
            return
    error.add_note(text)
