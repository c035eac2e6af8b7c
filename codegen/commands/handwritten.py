"""What is written by hand about an operator: what its declaration names, what is named after it, tests."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.operators import Declarations, Kernel, Operator, by_function
from ..model.source import Place
from ..read.functions import ABSOLUTE, FunctionIndex, source_of
from ..read.libraries import index
from ..read.references import reference_files
from ..specialise.counterparts import apart, counterpart
from .affected import called_names
from .workspace import Workspace
from .written import definitions, formulas_of, kernel_functions, named_functions, written_at

#: The packages of the runtime where functions are named after operators.
_NAMED = ("kernels", "composite", "formulas", "onnx", "nn")
#: Those, and the modules beside them, where operators are called as a program calls them.
_CALLING = ("composite", "formulas", "nn", "optim", "func", "utils")
#: The array form of what formulas call: a kernel of the same name.
_ARRAYS = "gradients"
#: What functions of operators are called by, before the operator's name.
_PREFIXES = ("_", "meta_", "native_", "special_", "linalg_")


@dataclass(frozen=True, slots=True)
class Found:
    """A function, and where it is; of a test file how many of its lines name the operator."""

    name: str
    file: str
    line: int
    count: int = 1


class HandWritten:
    """Finds what is written by hand about operators."""

    def __init__(self, workspace: Workspace, declared: Declarations) -> None:
        self.workspace, self.declared = workspace, declared
        self.derivatives = {str(d.name): d for d in declared.derivatives}
        self.functions = by_function(declared.operators)
        library = workspace.library
        self.home = workspace.runtime if library is None else library.folder
        self.tests = (workspace.declarations.resolve().parent / "tests") if library is None else library.tests

    # -- what the declaration names --------------------------------------------------------------

    def named(self, operator: Operator) -> Iterator[tuple[str, Found]]:
        """The functions that the declaration of an operator names, each with the key that does."""
        seen = set()
        groups = [
            (package, qualified)
            for key, kernel in self.of_groups(operator)
            for package, qualified in kernel_functions(key, kernel)
        ]
        for key, package, qualified in named_functions(operator, self.derivatives.get(str(operator.name))):
            name = qualified.rpartition(".")[2]
            namesakes = [g for g in groups if key == "dispatch" and g[1].rpartition(".")[2] == name]
            for place in ((package, qualified), *namesakes):
                for found in self.function(*place):
                    if (key, found) not in seen:
                        seen.add((key, found))
                        yield key, found

    def of_groups(self, operator: Operator) -> Iterator[tuple[str, Kernel]]:
        """The kernels that groups of backends have for an operator, by the names of others' functions."""
        primitives = apart(self.declared.primitives)
        for group in self.declared.backends:
            if group.is_group and group.name not in operator.kernels:
                kernel = counterpart(operator, group, self.kernels, primitives)
                if kernel is not None and (kernel.calls or ":" not in (kernel.function or ":")):
                    yield group.name, kernel

    def function(self, package: str, qualified: str) -> Iterator[Found]:
        """Where a function is written, and what stands for it over arrays, or over arrays without data."""
        name = qualified.rpartition(".")[2]
        if package == "references":
            for path in reference_files(self.tests):
                if name in definitions(path):
                    yield Found(name, self.shown(path), definitions(path)[name].lineno)
            return
        place = self.place(package, qualified)
        if place is not None:
            yield Found(name, place.file, place.line)
        arrays = self.workspace.runtime / "kernels" / f"{_ARRAYS}.py"
        if package == "formulas" and arrays.is_file() and name in definitions(arrays):
            yield Found(name, self.shown(arrays), definitions(arrays)[name].lineno)

    def place(self, package: str, qualified: str) -> Place | None:
        """Where a function is written, of a library in its folder."""
        library = self.workspace.library
        own = library is not None and qualified.startswith(ABSOLUTE)
        return written_at(library.folder if own and library else self.workspace.runtime, package, qualified)

    def called(self, operator: Operator) -> list[Operator]:
        """The operators that the expressions of a declaration call by name."""
        derivative = self.derivatives.get(str(operator.name))
        names = {n for f in formulas_of(operator, derivative) for n in called_names(f.tree)}
        return [o for n in sorted(names) for o in self.functions.get(n, ()) if o.name != operator.name]

    def beside(self, operator: Operator) -> list[Operator]:
        """The operators of its entry, those that they call, and so on, of those that are named after it."""
        name = operator.name.function.strip("_")
        found, waiting = {operator.name: operator}, [operator]
        while waiting:
            each = waiting.pop()
            made = [o for o in self.declared.operators if o.place == each.place]
            for other in (*made, *self.called(each)):
                if name in other.name.function and other.name not in found:
                    found[other.name] = other
                    waiting.append(other)
        return list(found.values())[1:]

    # -- what names the operator -----------------------------------------------------------------

    def named_after(self, function: str) -> list[Found]:
        """The functions and classes of the runtime that are named after an operator, and no longer one."""
        bare = function.strip("_")  # a kernel's name may be public where its operator's is not
        pattern = re.compile(
            rf"^(?: *(?:def|class) +((?:{'|'.join(_PREFIXES)})*{bare}(?:_\w+)?)\b"
            rf"|({bare}(?:_\w+)?) *(?::[^=\n]+)?=(?!=))",
            re.M,
        )
        found = []
        for path, text in having(bare, self.runtime):
            for match in pattern.finditer(text):
                name = match[1] or match[2]
                exact = name.strip("_") == bare
                package = path.relative_to(self.home).parts[0]
                if exact or (package in _NAMED and self.owner(name) in ("", function)):
                    found.append(Found(name, self.shown(path), text.count("\n", 0, match.end()) + 1))
        return found

    def owner(self, name: str) -> str:
        """The operator with the longest name that a function's begins with; "" where it begins with none."""
        for prefix in ("", *_PREFIXES):
            words = name.removeprefix(prefix).split("_")
            for count in range(len(words), 0, -1):
                called = "_".join(words[:count])
                for function in (called, f"_{called}"):
                    if function in self.functions:
                        return function
        return ""

    def callers(self, function: str) -> list[Found]:
        """The functions of the runtime that call an operator by its name."""
        pattern = re.compile(rf"(?<![\w.])((?:\w+\.)*){function}\(")
        found: dict[Found, None] = {}
        for path, text in having(f"{function}(", self.runtime):
            parts = path.relative_to(self.home).parts
            if len(parts) > 1 and parts[0] not in _CALLING:
                continue
            for match in pattern.finditer(text):
                before = text[: match.start()]
                if before.endswith(("def ", "class ")) or match[1] in ("np.", "xp.", "math.", "os."):
                    continue
                caller = _enclosing(before) if match[1] or binds(text, function) else None
                if caller is not None:
                    found[Found(caller, self.shown(path), before.count("\n") + 1)] = None
        return list(found)

    def tested(self, function: str) -> list[Found]:
        """The files of tests that name an operator: as an attribute, in a string, in a list of operators."""
        named = re.compile(rf"(?:\.|[\"']){function}\b")
        listed = re.compile(rf"^ *operators:.*?\b{function}\b", re.M)
        found = []
        for path, text in having(function, self.test_files):
            pattern = named if path.suffix == ".py" else listed
            lines = {text.count("\n", 0, m.start()) + 1 for m in pattern.finditer(text)}
            if lines:
                found.append(Found(path.name, self.shown(path), min(lines), len(lines)))
        return found

    # -- files -----------------------------------------------------------------------------------

    @functools.cached_property
    def kernels(self) -> FunctionIndex:
        """The functions that are kernels, those of a library too."""
        return index(self.workspace.runtime, "kernels", self.workspace.library)

    @functools.cached_property
    def runtime(self) -> Mapping[Path, str]:
        """The text of each module that is written by hand, of the runtime or of a library's package."""
        apart = {"codegen", "ir", "generated", "declarations", "templates", "testing"}
        paths = sorted(self.home.rglob("*.py"))
        return {p: source_of(p) for p in paths if not apart & set(p.relative_to(self.home).parts)}

    @functools.cached_property
    def test_files(self) -> Mapping[Path, str]:
        """The text of each module of the tests, and of each of their tables."""
        found = {path: source_of(path) for path in sorted(self.tests.rglob("*.py"))}
        for path in sorted(self.tests.rglob("*.yaml")):
            found[path] = path.read_text(encoding="utf-8", errors="replace")  # some are there to be wrong
        return found

    def shown(self, path: Path) -> str:
        """A file as messages show it."""
        library = self.workspace.library
        roots = [self.workspace.runtime.parent, self.tests.parent]
        if library is not None:
            roots.insert(0, library.root)
        return next((path.relative_to(r).as_posix() for r in roots if path.is_relative_to(r)), str(path))


def having(word: str, texts: Mapping[Path, str]) -> list[tuple[Path, str]]:
    """The files that a word is in."""
    return [(path, text) for path, text in texts.items() if word in text]


def binds(text: str, name: str) -> bool:
    """Whether a module defines or imports a name."""
    return re.search(rf"^(?:def {name}\b|from .* import .*\b{name}\b|    {name},$)", text, re.M) is not None


def _enclosing(before: str) -> str | None:
    """The function that the end of a text is in, with its class; None at the outermost level."""
    found = re.findall(r"^( *)(?:def|class) +(\w+)", before, re.M)
    if not found or not before.rpartition("\n")[2].startswith(" "):
        return None
    names: list[str] = []
    depth = len(found[-1][0]) + 1
    for indent, name in reversed(found):
        if len(indent) < depth:
            names.insert(0, name)
            depth = len(indent)
        if depth == 0:
            break
    return ".".join(names)
