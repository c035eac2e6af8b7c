"""A library: a package outside of tengen that declares operators, and what its pyproject.toml says of it."""

from __future__ import annotations

import keyword
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from ..model.diagnostics import CommandError
from .functions import FunctionIndex, source_of

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
#: What generated names and ``tengen.ops`` would confuse with a library's.
_TAKEN = frozenset({"tengen"})


class LibraryError(CommandError):
    """A library's folder, or what its pyproject.toml says, cannot be used; the text says why."""

    status = 1


@dataclass(frozen=True, slots=True)
class Library:
    """Where the parts of a library are."""

    name: str  # before the :: of its operators
    package: str  # by which it is imported
    root: Path  # the folder of its pyproject.toml
    folder: Path  # of the package
    copied: Path | None = None  # a copy of its declarations to read instead

    @property
    def declarations(self) -> Path:
        """What it declares."""
        return self.copied or self.folder / "declarations"

    @property
    def generated(self) -> Path:
        """What is generated from that."""
        return self.folder / "generated"

    @property
    def tests(self) -> Path:
        """Its tests, which may hold references."""
        return self.root / "tests"

    @property
    def display(self) -> str:
        """The folder of its declarations as messages show it."""
        return (self.folder / "declarations").relative_to(self.root).as_posix()

    @property
    def sources(self) -> list[Path]:
        """All that its generated code depends on."""
        names = ("declarations", "kernels", "composite", "formulas", "onnx")
        return [self.root / "pyproject.toml", *(self.folder / name for name in names)]


def name_problem(name: str) -> str | None:
    """Why a library cannot have this name; None when it can."""
    if keyword.iskeyword(name):
        return f'"{name}" cannot name a library: it is a word of Python\'s language'
    if not _NAME.fullmatch(name):
        return f'"{name}" cannot name a library: a name is letters, digits and single underscores, as my_lib'
    return f'"{name}" cannot name a library: that is this package' if name in _TAKEN else None


def library_at(root: Path) -> Library | None:
    """The library whose pyproject.toml stands in a folder; None where there is none.

    Raises LibraryError when ``[tool.tengen]`` is wrong, or what it speaks of is missing.
    """
    path = root / "pyproject.toml"
    if not path.is_file():
        return None
    try:
        table = tomllib.loads(source_of(path))
    except tomllib.TOMLDecodeError as error:
        raise LibraryError(f"{path}: {error}") from None
    tools = table.get("tool", {})
    settings = tools.get("tengen", {}) if isinstance(tools, dict) else {}
    if not isinstance(settings, dict):
        raise LibraryError(f"{path}: [tool.tengen] is a table, not {settings!r}")
    unknown = sorted(settings.keys() - {"library", "package"})
    if unknown:
        raise LibraryError(f'{path}: [tool.tengen] has no key "{unknown[0]}"; it has library and package')
    if "library" not in settings:
        return None
    name = settings["library"]
    problem = name_problem(name) if isinstance(name, str) else f"library is a name, not {name!r}"
    if problem is not None:
        raise LibraryError(f"{path}: {problem}")
    package = settings.get("package", name)
    if not isinstance(package, str):
        raise LibraryError(f"{path}: package is a name, not {package!r}")
    below = Path(*package.split("."))
    folder = next((f for f in (root / below, root / "src" / below) if f.is_dir()), None)
    if folder is None:
        raise LibraryError(f"{path}: there is no package {package}: {root / below} is no folder")
    return Library(name, package, root.resolve(), folder.resolve())


def library_around(start: Path) -> Library | None:
    """The library that a folder is in: that of the nearest pyproject.toml; None when that is of none."""
    for folder in (start.resolve(), *start.resolve().parents):
        if (folder / "pyproject.toml").is_file():
            return library_at(folder)
    return None


def index(runtime_dir: Path, package: str, library: Library | None, pattern: str = "*.py") -> FunctionIndex:
    """The functions of a package of the runtime, and of a library's package of that name."""
    index = FunctionIndex(runtime_dir / package, pattern)
    if library is not None:
        index.join(library.folder / package, f"{library.package}.{package}")
    return index
