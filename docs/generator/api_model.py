"""What the reference says of the hand-written API, as plain data: modules, their public names, docstrings.

A public name of a module stands in its ``__all__``; where there is none, it is defined there or imported
``as`` itself. Functions that are generated have their pages among the operators.
"""

from __future__ import annotations

import ast
import enum
import functools
import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import yaml

import tengen
from tengen.codegen.model.source import Place

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHOSEN = HERE / "api.yaml"

#: Types whose instances are constants: they have no docstrings of their own.
CONSTANTS = (float, int, str, tengen.dtype, tengen.layout, tengen.memory_format, type(None))


@dataclass(frozen=True)
class Entry:
    """A function, a class, or a member of a class."""

    path: str  # the shortest there is: "tengen.vmap"
    kind: str  # "function" | "class" | "method" | "property" | "object"
    doc: str
    signature: str = ""
    place: Place | None = None
    also: tuple[str, ...] = ()  # its other names
    members: tuple[Entry, ...] = ()
    inherits: tuple[str, ...] = ()  # the classes with which its further members are described
    values: tuple[str, ...] = ()  # of an enumeration
    calls: tuple[str, ...] = ()  # the generated functions that it calls by name

    @property
    def anchor(self) -> str:
        return self.path.removeprefix("tengen.")

    @property
    def name(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def parameters(self) -> list[str]:
        """The names of its parameters."""
        return re.findall(r"(?:\(|^    |, )\*{0,2}(\w+)(?=[:=,)])", self.signature, re.MULTILINE)


@dataclass(frozen=True)
class Section:
    """Entries under one heading; "" where a page has no headings."""

    title: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class ModulePage:
    """A page: a public module, or the class Tensor."""

    name: str  # "autograd.graph"
    doc: str
    sections: tuple[Section, ...]
    elsewhere: tuple[tuple[str, str], ...] = ()  # names that another page describes, with their entries
    constants: tuple[tuple[str, str], ...] = ()

    @property
    def slug(self) -> str:
        return self.name.replace(".", "-").lower()

    @property
    def title(self) -> str:
        return self.name if self.name == "tengen" else f"tengen.{self.name}"

    @property
    def entries(self) -> Iterator[Entry]:
        for section in self.sections:
            yield from section.entries


# -- which there are -------------------------------------------------------------------------


@functools.cache
def chosen() -> Any:
    return yaml.safe_load(CHOSEN.read_text(encoding="utf-8"))


def public_modules() -> tuple[str, ...]:
    """The public modules that have something written by hand, without ``tengen.``.

    Those for another library are among them where it is installed.
    """
    needs = chosen()["needs"]
    return tuple(m for m in chosen()["modules"] if m not in needs or find_spec(needs[m]))


def module_of(name: str) -> ModuleType:
    return import_module("tengen" if name == "tengen" else f"tengen.{name}")


@functools.cache
def public_names(name: str) -> tuple[str, ...]:
    """The public names of a module, sorted."""
    module = import_module("tengen.namespace") if name == "tengen" else module_of(name)
    listed = getattr(module, "__all__", None)
    named = listed if listed is not None else _declared_names(module)
    return tuple(sorted(n for n in named if not n.startswith("_")))


def _declared_names(module: ModuleType) -> set[str]:
    """What a module defines, or imports as itself."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.ImportFrom):
            found |= {a.name for a in node.names if a.asname == a.name}
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Assign) and module.__name__ == "tengen.namespace":
            found |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    return found


def _hand_written(name: str) -> Iterator[tuple[str, Any]]:
    """The public names of a module with what they stand for, less modules and what is generated."""
    module = module_of(name)
    for n in public_names(name):
        value = getattr(module, n)
        if isinstance(value, ModuleType) or is_generated(value):
            continue
        yield n, value


def is_generated(value: Any) -> bool:
    code = getattr(inspect.unwrap(value) if callable(value) else value, "__code__", None)
    return code is not None and "generated" in Path(code.co_filename).parts


# -- pages -----------------------------------------------------------------------------------


@functools.cache
def pages() -> tuple[ModulePage, ...]:
    """The pages: ``tengen``, ``Tensor``, and a page for each public module."""
    where = homes()
    made = []
    for module in public_modules():
        here = sorted((p for p, m in where.items() if m == module), key=_order)
        entries = tuple(_entry(p) for p in here if p != "tengen.Tensor")
        others = {n: p for n, p in _paths(module).items() if where.get(p, module) != module}
        constants = _constants() if module == "tengen" else ()
        doc = inspect.getdoc(module_of(module)) or ""
        sections = _sections(entries) if module == "tengen" else (Section("", entries),)
        made.append(ModulePage(module, doc, sections, tuple(others.items()), constants))
        if module == "tengen":
            made.append(_tensor_page())
    return tuple(made)


def _order(path: str) -> tuple[bool, str]:
    """Functions and classes in one order, without regard to case."""
    return path.count(".") == 0, path.rpartition(".")[2].lower()


def _paths(module: str) -> dict[str, str]:
    """The names of a module, each with the shortest path of what it stands for."""
    return {n: _shortest()[identity(v)] for n, v in _hand_written(module)}


@functools.cache
def _shortest() -> Mapping[int, str]:
    """By identity the shortest path of everything that is hand-written and public."""
    return {key: paths[0] for key, paths in _all_paths().items()}


@functools.cache
def _all_paths() -> Mapping[int, list[str]]:
    """By identity all paths, the shortest first."""
    found: dict[int, list[str]] = {}
    for module in public_modules():
        for name, value in _hand_written(module):
            found.setdefault(identity(value), []).append(f"{module_of(module).__name__}.{name}")
    return {key: sorted(paths, key=lambda p: (p.count("."), len(p), p)) for key, paths in found.items()}


def identity(value: Any) -> int:
    """What is wrapped, so that it can be overridden, is what it wraps."""
    return id(inspect.unwrap(value) if callable(value) else value)


@functools.cache
def homes() -> Mapping[str, str]:
    """For each path the module on whose page it is described.

    That is ``tengen`` for the names that api.yaml has there; else the module that it is part of, or the
    first one.
    """
    at_the_top = {f"tengen.{n}" for names in chosen()["sections"].values() for n in names} | {"tengen.Tensor"}
    found: dict[str, str] = {}
    for paths in _all_paths().values():
        if isinstance(resolve(paths[0]), CONSTANTS):
            continue
        if paths[0] in at_the_top:
            found[paths[0]] = "tengen"
            continue
        origin = getattr(resolve(paths[0]), "__module__", "") or ""
        deeper = [p.rpartition(".")[0] for p in paths if p.count(".") > 1]
        inside = [p for p in deeper if f"{origin}.".startswith(f"{p}.")]
        found[paths[0]] = [*inside, *deeper, "tengen"][0].removeprefix("tengen.")
    return found


def resolve(path: str) -> Any:
    """What a path stands for."""
    parts = path.split(".")
    if len(parts) == 1:
        return tengen
    for count in range(len(parts) - 1, 0, -1):
        try:
            found: Any = import_module(".".join(parts[:count]))
        except ImportError:
            continue
        for part in parts[count:]:
            found = getattr(found, part)
        return found
    raise AttributeError(path)


def _constants() -> tuple[tuple[str, str], ...]:
    """The constants of ``tengen``: all names of each, and what it is."""
    found: dict[str, list[str]] = {}
    for name, value in vars(tengen).items():
        if isinstance(value, CONSTANTS) and not name.startswith("_"):
            found.setdefault(repr(value), []).append(name)
    kinds = {n: type(getattr(tengen, n)).__name__ for names in found.values() for n in names}
    by_kind = sorted(found.items(), key=lambda item: (kinds[item[1][0]] != "dtype", item[0]))
    return tuple((", ".join(names), text) for text, names in by_kind)


def _sections(entries: Iterable[Entry]) -> tuple[Section, ...]:
    """The entries of ``tengen`` by subject, as api.yaml says."""
    by_name = {e.name: e for e in entries}
    by_subject = chosen()["sections"]
    listed = [n for names in by_subject.values() for n in names]
    if sorted(listed) != sorted(by_name):
        differing = ", ".join(sorted(set(listed) ^ set(by_name)))
        raise ValueError(f"{CHOSEN.name} and the hand-written names of tengen differ in: {differing}")
    return tuple(Section(title, tuple(by_name[n] for n in names)) for title, names in by_subject.items())


def _tensor_page() -> ModulePage:
    """The class Tensor, of which only what is written by hand, by the parts that it is made of."""
    sections = []
    for part in tengen.Tensor.__mro__[:-1]:
        if _part_is_generated(part):
            continue
        members = tuple(_members(part, "tengen.Tensor"))
        if members:
            sections.append(Section(chosen()["tensor"][part.__name__], members))
    whole = replace(_class_entry("tengen.Tensor", tengen.Tensor), members=(), inherits=())
    doc = "What of a Tensor is written by hand. Its other methods are [operators](../operators/index.md)."
    return ModulePage("Tensor", doc, (Section("", (whole,)), *sections))


def _part_is_generated(part: type) -> bool:
    return part.__module__.startswith("tengen.generated")


# -- entries ---------------------------------------------------------------------------------


def _entry(path: str) -> Entry:
    value = resolve(path)
    also = tuple(p for p in _all_paths()[identity(value)] if p != path)
    if isinstance(value, type):
        return replace(_class_entry(path, value), also=also)
    doc = inspect.getdoc(value) or ""
    if callable(value):
        return Entry(
            path, "function", doc, signature(value, path), place_of(value), also, calls=generated_calls(value)
        )
    return Entry(path, "object", inspect.getdoc(type(value)) or "", also=also)


def _class_entry(path: str, cls: type) -> Entry:
    found: dict[str, Entry] = {}
    for part in _described_with(cls):
        for member in _members(part, path):
            if not _says_nothing_new(cls, member.name):
                found.setdefault(member.name, member)
    values = tuple(f"{m.name} = {m.value!r}" for m in cls) if issubclass(cls, enum.Enum) else ()
    return Entry(
        path,
        "class",
        inspect.getdoc(cls) or "",
        "" if values else signature(cls, path),
        place_of(cls),
        members=tuple(found.values()),
        inherits=_described_bases(cls),
        values=values,
    )


def _described_with(cls: type) -> list[type]:
    """The class, and those of its bases that are described neither themselves nor with another base."""
    bases = cls.__mro__[1:]
    elsewhere = {part for b in bases if id(b) in _shortest() for part in b.__mro__}
    return [cls, *(b for b in bases if _is_ours(b) and b not in elsewhere)]


def _says_nothing_new(cls: type, name: str) -> bool:
    """Whether a base that is described has the member with the same docstring, or signature if none."""
    member = getattr(cls, name)
    overridden = [getattr(b, name, None) for b in cls.__mro__[1:] if id(b) in _shortest()]
    if member.__doc__:
        return any(member.__doc__ == getattr(base, "__doc__", None) for base in overridden)
    of_functions = [inspect.signature(base) for base in overridden if inspect.isfunction(base)]
    return inspect.isfunction(member) and inspect.signature(member) in of_functions


def _described_bases(cls: type) -> tuple[str, ...]:
    """The paths of the nearest bases that are described themselves."""
    bases = [b for b in cls.__mro__[1:] if id(b) in _shortest()]
    nearest = [b for b in bases if not any(issubclass(other, b) for other in bases if other is not b)]
    return tuple(_shortest()[id(b)] for b in nearest)


def _is_ours(cls: type) -> bool:
    return cls.__module__.partition(".")[0] == "tengen" and not _part_is_generated(cls)


def _own_members(cls: type) -> Iterator[tuple[str, Any]]:
    for name, value in vars(cls).items():
        unwrapped = getattr(value, "__func__", value)
        if not name.startswith("_") and (inspect.isfunction(unwrapped) or isinstance(value, property)):
            yield name, value


def _members(cls: type, owner: str) -> Iterator[Entry]:
    """The public methods and properties that a class defines."""
    for name, value in _own_members(cls):
        path = f"{owner}.{name}"
        if isinstance(value, property):
            returns = inspect.signature(value.fget).return_annotation if value.fget else ""
            shown = f"{_called(path)}: {_annotation(returns)}" if returns else _called(path)
            settable = "" if value.fset is None else "  # can be set"
            place = place_of(value.fget) if value.fget else None
            yield Entry(path, "property", inspect.getdoc(getattr(cls, name)) or "", shown + settable, place)
            continue
        function = getattr(value, "__func__", value)
        text = signature(function, path, skip=not isinstance(value, staticmethod))
        yield Entry(path, "method", inspect.getdoc(function) or "", text, place_of(function))


# -- signatures and places -------------------------------------------------------------------

_WORDS = {
    r"\bDType\b": "dtype",
    r"\bDevice\b": "device",
    r"\bArray\b": "ndarray",
    r"\bTensorBase\b": "Tensor",
    r"\bbuiltins\.": "",
    r"\b_?t(?:yping)?\.(?=[A-Z])": "",
    r"collections\.abc\.": "",
    r"\btengen\.(?:\w+\.)*(?=[A-Z])": "",
}


def _annotation(value: Any) -> str:
    """An annotation as users read it."""
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    for pattern, word in _WORDS.items():
        text = re.sub(pattern, word, text)
    return text.strip("'\"")


def _called(path: str) -> str:
    """How it is written in a call: of methods the class's name goes before."""
    owner = path.rpartition(".")[0]
    return ".".join(path.split(".")[-2:]) if isinstance(resolve(owner), type) else path


def signature(value: Any, path: str, skip: bool = False) -> str:
    """The call, with annotations and defaults; over several lines when it is long. ``skip`` the first."""
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return _called(path)
    parameters = list(found.parameters.values())[1 if skip else 0 :]
    parts: list[str] = []
    for p in parameters:
        if p.kind is p.KEYWORD_ONLY and not any(q.startswith("*") for q in parts):
            parts.append("*")
        parts.append(_parameter(p))
    returns = found.return_annotation
    told = not isinstance(value, type) and returns is not inspect.Signature.empty
    end = f" -> {_annotation(returns)}" if told else ""
    name = _called(path)
    flat = f"{name}({', '.join(parts)}){end}"
    if len(flat) <= 88:
        return flat
    return f"{name}(\n" + "".join(f"    {p},\n" for p in parts) + f"){end}"


def _parameter(p: inspect.Parameter) -> str:
    stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
    text = stars + p.name
    annotated = p.annotation is not p.empty
    if annotated:
        text += f": {_annotation(p.annotation)}"
    if p.default is not p.empty:
        shown = repr(p.default)
        if shown.startswith("<"):
            shown = str(getattr(p.default, "__name__", "..."))
        text += f" = {shown}" if annotated else f"={shown}"
    return text


def generated_calls(value: Any) -> tuple[str, ...]:
    """The generated functions that a function calls as attributes of their modules."""
    function = inspect.unwrap(value)
    code = getattr(function, "__code__", None)
    if code is None:
        return ()
    used = [function.__globals__.get(n) for n in code.co_names]
    modules = [m for m in used if isinstance(m, ModuleType) and m.__name__.startswith("tengen.generated.")]
    return tuple(n for n in dict.fromkeys(code.co_names) if any(hasattr(m, n) for m in modules))


def place_of(value: Any) -> Place | None:
    """The file and the line of a definition; None for what is not in this project."""
    try:
        unwrapped = inspect.unwrap(value)
        file = inspect.getsourcefile(unwrapped)
        line = inspect.getsourcelines(unwrapped)[1]
    except (TypeError, OSError):
        return None
    if file is None:
        return None
    path = Path(file).resolve()
    return Place(path.relative_to(ROOT).as_posix(), line, 1) if path.is_relative_to(ROOT) else None
