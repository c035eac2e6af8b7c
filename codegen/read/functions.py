"""Which functions the runtime's sources define, found without importing them.

Kernels (runtime/kernels/), composites (runtime/composite/) and the helpers that formulas call
(runtime/formulas/) are named in declarations by their bare names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...ir.expressions import Attribute, Expr, Name
from ...ir.reader import read_module
from ..model.diagnostics import CommandError

# A function or a variable that is defined at the outermost level of a module.
_DEFINITION = re.compile(r"^(?:def +([A-Za-z]\w*) *(?=\()|([A-Za-z]\w*) *(?::[^=\n]+)?=(?!=))", re.M)


# A method or a property of a class.
_ATTRIBUTE = re.compile(r"^    (?:def +([A-Za-z]\w*) *(?=\()|([A-Za-z]\w*) *(?::[^=\n]+)?=(?!=))", re.M)
_CLASS = re.compile(r"^class +(\w+)", re.M)


@dataclass(frozen=True, slots=True)
class Arity:
    """What a function may be called with; ``most`` is None when there is no limit."""

    names: tuple[str, ...]  # of the arguments that may be given by position
    least: int
    most: int | None
    keywords: frozenset[str] = frozenset()  # keyword-only ones
    any_keyword: bool = False

    def without_first(self) -> Arity:
        """What is left to give where the first argument is given."""
        most = None if self.most is None else self.most - 1
        return replace(self, names=self.names[1:], least=max(self.least - 1, 0), most=most)

    def text(self, name: str) -> str:
        """The call, as a person would write it: ``sum(self, dim, keepdim=..., *, dtype=...)``."""
        parts = [n if i < self.least else f"{n}=..." for i, n in enumerate(self.names)]
        if self.keywords:
            parts += ["*", *(f"{n}=..." for n in sorted(self.keywords))]
        return f"{name}({', '.join(parts)})"

    def problem(self, given: int, keywords: tuple[str, ...]) -> str | None:
        """Why a call with so many positional arguments and these keywords fails; None when it does not."""
        if self.most is not None and given > self.most:
            return f"takes {_arguments(self.least, self.most)}, {given} {'is' if given == 1 else 'are'} given"
        for keyword in keywords:
            if keyword in self.names[:given]:
                return f'is given "{keyword}" twice'
            if keyword not in self.names and keyword not in self.keywords and not self.any_keyword:
                return f'has no argument "{keyword}"'
        missing = [n for n in self.names[: self.least][given:] if n not in keywords]
        if missing:
            return f'is not given "{missing[0]}"'
        return None


def _arguments(least: int, most: int) -> str:
    if least == most:
        return f"{most} argument{'s' if most != 1 else ''}"
    return f"{least} to {most} arguments"


def source_of(path: Path) -> str:
    """The text of a Python file. Raises CommandError for one that is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise CommandError(f"{path}:{line} is not UTF-8") from None


def module_of(path: Path) -> ast.Module:
    """The tree of a Python file. Raises CommandError for one that is no Python."""
    try:
        return read_module(source_of(path))
    except SyntaxError as error:
        raise CommandError(f"{path}:{error.lineno} is no Python: {error.msg}") from None


#: Begins a module that is named in full, because it is not below tengen's package: "@mylib.kernels.foo".
ABSOLUTE = "@"


def module_path(package: str, module: str) -> str:
    """By what a module of an index is imported; ``package`` is tengen's: ``tengen.kernels``."""
    return module[1:] if module.startswith(ABSOLUTE) else f"{package}.{module}"


def alias(module: str) -> str:
    """The name under which generated code imports a module: ``nn.conv`` -> ``_nn_conv``."""
    return "_" + module.removeprefix(ABSOLUTE).replace(".", "_").replace(":", "__")


def generated_name(qualified: str) -> Expr:
    """What generated code calls a function of kernels, or of another library."""
    if ":" in qualified:
        return Name(alias(qualified.replace(":", ".")))
    module, _, name = qualified.rpartition(".")
    return Attribute(Name(alias(module)), name)


def is_library_function(text: str) -> bool:
    """Whether it is ``scipy.special:erf``."""
    module, colon, function = text.partition(":")
    return bool(colon) and function.isidentifier() and all(part.isidentifier() for part in module.split("."))


def of_library(qualified: str) -> str:
    """A function of kernels as one of another library is written: "tengen.kernels.special:lgamma"."""
    if ":" in qualified:
        return qualified
    module, _, name = qualified.rpartition(".")
    return f"{module_path('tengen.kernels', module)}:{name}"


@dataclass(slots=True)
class Function:
    """A function of the runtime by its module below the package, ``nn.conv`` for instance."""

    name: str
    module: str
    source: str = field(repr=False, default="")  # from its "def" on; empty for a variable
    _arity: Arity | None = field(repr=False, default=None)
    _header: str | None = field(repr=False, default=None)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def home(self) -> str:
        """The module as messages show it."""
        return self.module.removeprefix(ABSOLUTE)

    def arity(self) -> Arity | None:
        """What it takes; None when its definition does not say (``f = g``)."""
        if self._arity is None and self.source:
            self._arity = self._parsed()
        return self._arity

    @property
    def header(self) -> str:
        """Its ``def`` line, which may be spread over lines."""
        if self._header is None:
            self._header = self.source[: _header_end(self.source)]
        return self._header

    def gives(self, annotation: str) -> bool:
        """Whether its definition says that it gives this, whatever it is given."""
        return self.header.endswith(f"-> {annotation}:")

    def _parsed(self) -> Arity | None:
        try:
            tree = read_module(self.header + " ...")
        except SyntaxError:
            return None
        definition = tree.body[0]
        assert isinstance(definition, ast.FunctionDef)
        arguments = definition.args
        names = tuple(a.arg for a in arguments.posonlyargs + arguments.args)
        most = None if arguments.vararg else len(names)
        keywords = frozenset(a.arg for a in arguments.kwonlyargs)
        return Arity(names, len(names) - len(arguments.defaults), most, keywords, arguments.kwarg is not None)


class FunctionIndex:
    """The functions of the modules of one package of the runtime, by bare name."""

    def __init__(self, package: Path, pattern: str = "*.py") -> None:
        self.package = package
        self.pattern = pattern
        self.functions: dict[str, list[Function]] = {}
        self.modules: list[str] = []
        self._giving: dict[str, frozenset[str]] = {}
        self._read(package, "")

    def join(self, package: Path, name: str) -> None:
        """Add the functions of another package, which is imported by this name; it may be missing."""
        self._giving.clear()
        self._read(package, ABSOLUTE + name)

    def _read(self, package: Path, prefix: str) -> None:
        for path in sorted(package.rglob(self.pattern)):
            parts = path.relative_to(package).with_suffix("").parts
            below = parts[:-1] if parts[-1] == "__init__" else parts
            module = ".".join([prefix, *below] if prefix else below)
            self.modules.append(module)
            text = source_of(path)
            seen: set[str] = set()
            for match in _DEFINITION.finditer(text):
                name = match[1] or match[2]
                if name not in seen:
                    seen.add(name)
                    source = text[match.start() :] if match[1] else ""
                    self.functions.setdefault(name, []).append(Function(name, module, source))

    def find(self, name: str, modules: frozenset[str] | None = None) -> list[Function]:
        """The functions of that name, in the given modules or in all; those that were joined go before."""
        found = self.functions.get(name, [])
        found = found if modules is None else [f for f in found if f.module in modules]
        return [f for f in found if f.module.startswith(ABSOLUTE)] or found

    def qualified(self, names: Iterable[str]) -> dict[str, str]:
        """Those of the names that are functions, sorted, each with its module before it."""
        return {name: found[0].qualified for name in sorted(names) if (found := self.find(name))}

    def giving(self, annotation: str) -> frozenset[str]:
        """The names under which there are none but functions that give this: ``Number``, ``Mask``."""
        if annotation not in self._giving:
            written = {n: [f for f in found if f.source] for n, found in self.functions.items()}
            self._giving[annotation] = frozenset(
                n for n, found in written.items() if found and all(f.gives(annotation) for f in found)
            )
        return self._giving[annotation]

    def names(self, modules: frozenset[str] | None = None) -> list[str]:
        """The names of all the functions in the given modules."""
        return [
            n
            for n, found in self.functions.items()
            if modules is None or any(f.module in modules for f in found)
        ]


def names_in(paths: Iterable[Path]) -> frozenset[str]:
    """The names of all functions in the files."""
    return frozenset(m[1] or m[2] for path in paths for m in _DEFINITION.finditer(source_of(path)))


def attributes_of(paths: Iterable[Path]) -> frozenset[str]:
    """The methods and properties of all classes in the files that exist."""
    texts = (source_of(path) for path in paths if path.exists())
    return frozenset(match[1] or match[2] for text in texts for match in _ATTRIBUTE.finditer(text))


def classes_of(path: Path) -> frozenset[str]:
    """The classes that a file defines, if it exists."""
    return frozenset(_CLASS.findall(source_of(path))) if path.exists() else frozenset()


def _header_end(source: str) -> int:
    """The index behind the colon that ends a ``def`` line, which may be spread over lines."""
    depth = 0
    for match in re.finditer(r"[()\[\]{}:#'\"]", source):
        char = match.group()
        if char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == ":" and depth == 0:
            return match.end()
    return len(source)
