"""What an edit affects: the operators whose declarations, or functions, are not what they were in a revision.

Entries are compared key by key as they stand in the files, and functions as syntax trees: comments, order and
layout touch nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from ...ir.expressions import Attribute, Call, Expr, Name, walk
from ..model.diagnostics import Report
from ..model.operators import Declarations, Derivative, Operator
from ..model.source import Located
from ..read.entries import mechanism_of, read_entries
from ..read.functions import source_of
from ..read.references import has_references, reference_files
from .revision import NotFound, commit_of, git
from .uses import Module, Uses, changed_names, definitions, module_at
from .written import named_functions

#: Where the functions are that declarations name, below the runtime.
_PACKAGES = ("kernels", "composite", "formulas", "onnx")
#: So many operators may have formulas that call an affected one for these to be affected too.
FEW = 12


@dataclass
class Affected:
    """What an edit touches."""

    operators: dict[str, set[str]] = field(
        default_factory=dict
    )  # the keys and functions that changed, by name
    everything: str = ""  # the file whose change touches all operators
    beside: list[str] = field(default_factory=list)  # files of the core that changed as well
    left_out: list[str] = field(default_factory=list)  # operators that are left out, with too many callers

    def add(self, name: str, what: str) -> None:
        """Note that something of an operator changed."""
        self.operators.setdefault(name, set()).add(what)


@dataclass(frozen=True, slots=True)
class Folders:
    """Where what an edit may change is."""

    declarations: Path
    runtime: Path
    tests: Path
    rest: tuple[Path, ...] = ()  # of the generator and its templates
    package: str = "tengen"  # that the runtime is imported as


def affected(declared: Declarations, folders: Folders, revision: str) -> Affected:
    """What has changed since a revision of git. Raises NotFound."""
    root, revision = commit_of(folders.declarations.resolve(), revision)
    changed = _changed_files(root, revision)
    found = Affected()
    functions: set[str] = set()
    for path in changed:
        file = root / path
        if file.parent == folders.declarations.resolve():
            _declarations(file, _at(root, revision, path), found)
        elif has_references(file, folders.tests.resolve()):
            before = _at(root, revision, path)
            functions |= {f"{file.stem}.{name}" for name in changed_names(before, _text(file))}
        elif _has_functions(file, folders.runtime.resolve()):
            module = module_at(file, folders.runtime.resolve(), folders.package)
            names = changed_names(_at(root, revision, path), _text(file))
            functions |= {".".join((*module.parts, name)) for name in names}
        elif file.suffix in (".py", ".jinja") and any(file.is_relative_to(r.resolve()) for r in folders.rest):
            found.beside.append(path)
    if functions:
        _functions(declared, folders, functions, found)
    known = {str(o.name) for o in declared.operators}
    found.operators = {n: why for n, why in found.operators.items() if n in known}
    _callers(declared, found)
    return found


def _changed_files(root: Path, revision: str) -> list[str]:
    tracked = git(root, "diff", "--name-only", revision).splitlines()
    return sorted({*tracked, *git(root, "ls-files", "--others", "--exclude-standard").splitlines()})


def _has_functions(file: Path, runtime: Path) -> bool:
    """Whether a file is a module of functions that declarations name."""
    inside = file.is_relative_to(runtime) and file.suffix == ".py"
    return inside and file.relative_to(runtime).parts[0] in _PACKAGES


def _at(root: Path, revision: str, path: str) -> str:
    """The text of a file in a revision; "" where it was not there."""
    try:
        return git(root, "show", f"{revision}:{path}")
    except NotFound:
        return ""


def _text(file: Path) -> str:
    return source_of(file) if file.is_file() else ""


# -- entries ---------------------------------------------------------------------------------


def _declarations(file: Path, before: str, found: Affected) -> None:
    """Note the operators whose entries in a file are not what they were."""
    mechanism = mechanism_of(file)
    if mechanism is None:
        if file.suffix == ".yaml":
            found.everything = file.name
        return
    with TemporaryDirectory() as scratch:
        old = Path(scratch) / file.name
        old.write_text(before, encoding="utf-8")
        then, now = entries(old, mechanism), entries(file, mechanism)
    for name in {*then, *now}:
        a, b = then.get(name, {}), now.get(name, {})
        for key in {*a, *b}:
            if a.get(key) != b.get(key):
                for each in (name, f"{name}_forward", f"{name}_backward") if mechanism == "nn" else (name,):
                    found.add(each, key if mechanism != "derivatives" else f"derivative {key}")


def entries(path: Path, mechanism: str) -> dict[str, dict[str, object]]:
    """The keys and values of a file's entries, by the operators' names."""
    found = {}
    for entry in read_entries(path, path.name, mechanism, Report()) if path.is_file() else ():
        head = entry.fields.get("func") or entry.fields.get("name")
        if head is not None:
            name = str(head.value).partition("(")[0].strip()
            found[name] = {key: plain(located) for key, located in entry.fields.items()}
    return found


def plain(located: Located) -> object:
    """A value without its places."""
    value = located.value
    if isinstance(value, tuple):
        return [plain(v) for v in value]
    if isinstance(value, Mapping):
        return {key: plain(v) for key, v in value.items()}
    return value


# -- functions -------------------------------------------------------------------------------


def _functions(declared: Declarations, folders: Folders, changed: set[str], found: Affected) -> None:
    """Note the operators that a changed function works for, also through functions that use it."""
    uses = Uses(folders.runtime, folders.package)
    for package in _PACKAGES:
        uses.read(package)
    reached = uses.reached(changed) | _references(folders.tests, changed)
    derivatives = {str(d.name): d for d in declared.derivatives}
    for operator in declared.operators:
        name = str(operator.name)
        for what, function in functions_of(operator, derivatives.get(name)):
            if function in reached:
                found.add(name, what)


def _references(tests: Path, changed: set[str]) -> set[str]:
    """The functions of references that are changed or use what is, as declarations name them."""
    uses = Uses(tests, "")
    for path in reference_files(tests):
        uses.add(Module((path.stem,), False, ""), _text(path))
    reached = uses.reached(changed)
    return {
        f"references.{name}"
        for path in reference_files(tests)
        for name, node in definitions(_text(path)).items()
        if isinstance(node, ast.FunctionDef) and f"{path.stem}.{name}" in reached
    }


def functions_of(operator: Operator, derivative: Derivative | None) -> Iterator[tuple[str, str]]:
    """The functions that an operator's declaration names, each with the key that does."""
    for key, package, function in named_functions(operator, derivative):
        yield key, below(package, function)


def below(package: str, function: str) -> str:
    """A function's name with its package: "kernels.shape.flip", of a library ("@mylib.kernels....") too."""
    return f"{package}.{function.rpartition(f'.{package}.')[2] if function.startswith('@') else function}"


# -- formulas that call what is affected ------------------------------------------------------------


def _callers(declared: Declarations, found: Affected) -> None:
    """Note the operators whose formulas call an affected one by name, where these are few."""
    calls: dict[str, set[str]] = {}
    for derivative in declared.derivatives:
        formulas = [*derivative.gradients.values(), *derivative.jvps.values()]
        for name in {n for formula in formulas for n in called_names(formula.tree)}:
            calls.setdefault(name, set()).add(str(derivative.name))
    functions = {o.name.function for o in declared.operators if str(o.name) in found.operators}
    for function in sorted(functions):
        callers = calls.get(function, set()) - found.operators.keys()
        if len(callers) > FEW:
            found.left_out.append(f"{len(callers)} operators whose formulas call {function}")
            continue
        for name in callers:
            found.add(name, f"calls {function}")


def called_names(expr: Expr) -> Iterable[str]:
    """The functions and methods that an expression calls."""
    for part in walk(expr):
        match part:
            case Call(Name(name) | Attribute(_, name)):
                yield name
