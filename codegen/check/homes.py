"""Check: modules, and objects in them, that a table names and that generated code imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..model.diagnostics import Report, is_slip, suggestion
from ..model.source import Located
from ..read.fields import length_of_scalar
from ..read.functions import module_of

#: The library whose arrays the CPU computes with.
_ARRAYS = "numpy"


@dataclass(frozen=True, slots=True)
class Homes:
    """The folders of packages, by what these are imported as. What is in none of them is not looked for."""

    folders: Mapping[str, Path]

    def check(self, located: Located, key: str, report: Report) -> None:
        """Reports a module, or ``module:name``, that is in none of the folders and should be."""
        module, colon, name = str(located.value).partition(":")
        package = next((p for p in self.folders if module == p or module.startswith(f"{p}.")), None)
        if package is None:
            self._check_foreign(located, module.partition(".")[0], report)
            return
        path = _file(self.folders[package], module.removeprefix(package).lstrip("."))
        if path is None:
            known = [f"{package}.{m}" for m in _modules(self.folders[package])]
            report.error(
                located.place,
                f'there is no module "{module}"',
                length=len(module),
                expected=f"a module of {package}: {key} is imported",
                help=suggestion(module, known),
            )
        elif colon and name not in (names := set(_names(module_of(path)))):
            report.error(
                located.at(len(module) + 1),
                f'there is no "{name}" in {module}',
                length=len(name) if located.key else length_of_scalar(located),
                expected=f"a name that {path.name} defines",
                help=suggestion(name, names),
            )

    def _check_foreign(self, located: Located, package: str, report: Report) -> None:
        """Another library need not be installed here: refused is what is one slip away from a known name."""
        meant = next((known for known in (*self.folders, _ARRAYS) if is_slip(package, known)), None)
        if meant is not None and package != meant:
            report.error(
                located.place,
                f'there is no package "{package}"',
                length=len(package),
                expected=f"a module of {', '.join(self.folders)}, or of another library",
                help=f'did you mean "{meant}"?',
            )


def _file(folder: Path, module: str) -> Path | None:
    """The file of a module below a folder."""
    path = folder.joinpath(*module.split(".")) if module else folder
    return next((f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()), None)


def _modules(folder: Path) -> Iterator[str]:
    for path in folder.rglob("*.py"):
        parts = path.relative_to(folder).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _names(tree: ast.Module) -> Iterator[str]:
    """What a module's outermost statements give a name."""
    for statement in tree.body:
        match statement:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Assign(targets=targets):
                yield from (t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (a.asname or a.name for a in names)
