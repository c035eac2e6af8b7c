"""The page of names: what of PyTorch is here, and why not the rest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "names" / "recorded.json"
REASONS = Path(__file__).resolve().with_name("missing_names.yaml")
ADDED = Path(__file__).resolve().with_name("added_names.yaml")

#: Where members of PyTorch's classes have their home here, if that is another.
HOMES = {
    "autograd.function.FunctionCtx": ("autograd.python_function.Context", "autograd.python_function.PyNode")
}

_INTRODUCTION = """\
Of PyTorch 2.13 every public name stands here: modules with their functions and classes, and of Tensor,
Module, Optimizer and other classes, and of those of `autograd`, `func` and `library`, the methods and
attributes. What has a reason beside it is not here. How what is here differs from PyTorch, if it does, is on
the page of [differences](differences.md).
"""


def recorded() -> dict[str, dict[str, str]]:
    """PyTorch's names: by modules and classes, with what each is."""
    found: dict[str, dict[str, str]] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return found


def reasons() -> dict[str, str]:
    """By names that are not here, or patterns of names (``quantize_*``), why."""
    return _by_name(REASONS)


def added() -> dict[str, str]:
    """By names that PyTorch does not have, why they are here."""
    return _by_name(ADDED)


def _by_name(file: Path) -> dict[str, str]:
    entries = yaml.safe_load(file.read_text(encoding="utf-8"))
    return {name: " ".join(e["reason"].split()) for e in entries for name in e["names"]}


def has(path: str) -> bool:
    """Whether there is something of this name: ``autograd.graph.Node.metadata``."""
    place, _, name = path.rpartition(".")
    if place in HOMES:
        return any(has(f"{home}.{name}") for home in HOMES[place])
    # A module and something in its parent may have one name: either may have the rest.
    return any(
        _reached(".".join(parts[:count]), parts[count:])
        for parts in (f"tengen.{name}".split(".") for name in {own(path), path})
        for count in range(1, len(parts) + 1)
    )


def own(name: str) -> str:
    """What PyTorch calls by its name, as in function overrides, tengen calls by its own."""
    return name.replace("torch", "tengen").replace("Torch", "Tengen")


def _reached(module: str, parts: list[str]) -> bool:
    try:
        found: Any = import_module(module)
    except ImportError:
        return False
    for part in parts:
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


def full(place: str, name: str) -> str:
    """A name with its place; "" is the package itself."""
    return f"{place}.{name}" if place else name


def names(found: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """All names in full, members of classes among them."""
    for place, members in found.items():
        for name in members:
            yield full(place, name)


def reason(path: str, given: Mapping[str, str]) -> str | None:
    """Why a name, or the class or module that it is a member of, is not here."""
    place = path.rpartition(".")[0]
    if path in given:
        return given[path]
    patterns = (why for pattern, why in given.items() if "*" in pattern and matches(path, pattern))
    return next(patterns, None) or (reason(place, given) if place else None)


def matches(path: str, pattern: str) -> bool:
    """Whether a pattern stands for a name: ``*`` is any part of one name."""
    return path.count(".") == pattern.count(".") and fnmatchcase(path, pattern)


def page() -> str:
    """The page as Markdown."""
    found, given = recorded(), reasons()
    total = list(names(found))
    here = sum(has(name) for name in total)
    lines = ["# Names of PyTorch", "", _INTRODUCTION, f"{here} of {len(total)} names are here.", ""]
    for place, members in found.items():
        lines += [f"## {place or 'torch'}", ""]
        if place and not has(place):
            lines += [f"Not here: {reason(place, given)}.", ""]
            continue
        if not members:
            lines += ["No names but those of its parent.", ""]
            continue
        lines += ["| name | | here |", "|---|---|---|"]
        for name, kind in members.items():
            path = full(place, name)
            lines.append(f"| `{name}` | {kind} | {'yes' if has(path) else f'no: {reason(path, given)}'} |")
        lines.append("")
    lines += ["## Names that PyTorch does not have", "", "| name | why |", "|---|---|"]
    lines += [f"| `tengen.{name}` | {why} |" for name, why in added().items()]
    lines.append("")
    return "\n".join(lines)
