"""The functions of ``tengen.nn.functional`` that are written by hand: their signatures, read not imported."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...ir.reader import read_module
from ..model.modules import Parameter, Signature
from .functions import module_of, source_of

#: Words in annotations that need no import beside those which every file has.
_KNOWN = frozenset({"Tensor", "Any", "None", "bool", "float", "int", "str", "list", "tuple", "Sequence"})
_SENTENCES = re.compile(r"\n\s*\n")
_STANDARD = {"Callable": "from collections.abc import Callable"}
#: A source, of which trees count the bytes in a line.
Lines = Sequence[bytes]


@dataclass(frozen=True, slots=True)
class Functional:
    """What ``nn.functional`` has: functions written by hand, and the operators that it exports by a name."""

    written: dict[str, Signature]
    exported: dict[str, str]  # by operator


def functional_of(runtime: Path) -> Functional:
    """What runtime/nn/functional.py imports, by name."""
    package = runtime / "nn"
    written: dict[str, Signature] = {}
    exported: dict[str, str] = {}
    if not (package / "functional.py").is_file():
        return Functional(written, exported)
    for statement in module_of(package / "functional.py").body:
        if not isinstance(statement, ast.ImportFrom) or statement.module is None:
            continue
        names = {a.asname or a.name: a.name for a in statement.names}
        if statement.level == 0:
            exported.update({operator: name for name, operator in names.items()})
        elif statement.level == 1:
            written.update(_functions(package / f"{statement.module}.py", names))
    return Functional(written, exported)


def parse_parameters(text: str) -> tuple[Parameter, ...] | None:
    """The parameters that a text writes: ``dim=None, eps, *, p: float = 2``; None where it is no such text.

    Whether one has a default is not known before the function's is, so they may come in any order.
    """
    plain, _, keywords = text.partition("*,")
    found: list[Parameter] = []
    for part, keyword in ((plain.strip().removesuffix(","), False), (keywords, True)):
        if not part.strip():
            continue
        try:
            source = f"def made(*, {part}): ..."
            definition = read_module(source).body[0]
        except SyntaxError:
            return None
        assert isinstance(definition, ast.FunctionDef)
        lines = source.encode().split(b"\n")
        found += [replace(p, keyword=keyword) for p in _parameters(definition.args, lines, "")]
    return tuple(found)


def _functions(path: Path, names: dict[str, str]) -> dict[str, Signature]:
    source, tree = source_of(path).encode().split(b"\n"), module_of(path)
    homes = _homes(tree, f"tengen.nn.{path.stem}")
    found = {}
    for statement in tree.body:  # of several overloads the last is the function
        if isinstance(statement, ast.FunctionDef):
            found[statement.name] = statement
    return {name: _signature(name, found[own], source, homes) for name, own in names.items() if own in found}


def _homes(tree: ast.Module, module: str) -> dict[str, str]:
    """By name, the line that imports a type that annotations of this module name."""
    homes = dict(_STANDARD)
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom):
            up = statement.level
            path = statement.module or ""
            full = path if not up else f"{module.rsplit('.', up)[0]}.{path}".rstrip(".")
            for alias in statement.names:
                named = alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
                homes.setdefault(alias.asname or alias.name, f"from {full} import {named}")
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            homes[name] = f"from {module} import {name}"
    return homes


def _signature(name: str, definition: ast.FunctionDef, source: Lines, homes: dict[str, str]) -> Signature:
    parameters = _parameters(definition.args, source, "Any")
    returns = _text(definition.returns, source) or "Any"
    words = {w for p in parameters for w in re.findall(r"[A-Za-z_]\w*", p.annotation)}
    words.update(re.findall(r"[A-Za-z_]\w*", returns))
    lines = frozenset(homes[word] for word in words - _KNOWN if word in homes)
    doc = " ".join(_SENTENCES.split(ast.get_docstring(definition) or "")[0].split())
    called = f"F.{name}"
    return Signature(called, parameters, returns, doc, lines | {"from tengen.nn import functional as F"})


def _text(node: ast.expr | None, source: Lines) -> str | None:
    """What a part of a source is written as, in one line."""
    if node is None:
        return None
    assert node.end_lineno is not None and node.end_col_offset is not None
    lines = list(source[node.lineno - 1 : node.end_lineno])
    lines[-1] = lines[-1][: node.end_col_offset]
    lines[0] = lines[0][node.col_offset :]
    return " ".join(b" ".join(lines).decode().split())


def _parameters(given: ast.arguments, source: Lines, unknown: str) -> tuple[Parameter, ...]:
    """The parameters; one without an annotation has that of ``unknown``."""
    plain = [*given.posonlyargs, *given.args]
    defaults: list[ast.expr | None] = [None] * (len(plain) - len(given.defaults))
    positional = zip(plain, [*defaults, *given.defaults], strict=True)
    keywords = zip(given.kwonlyargs, given.kw_defaults, strict=True)
    return tuple(
        Parameter(
            each.arg,
            _text(each.annotation, source) or unknown,
            _text(value, source),
            keyword,
        )
        for pairs, keyword in ((positional, False), (keywords, True))
        for each, value in pairs
    )
