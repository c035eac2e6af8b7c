"""The tables of generated code that libraries add rows to.

Most are imported when they are first needed. A table says that it is there when it is imported; the rows
of the libraries that are loaded by then, or are later, are added to it.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_tables: dict[str, dict[str, dict[str, Any]]] = {}
#: The libraries' packages of generated code, each with the modules that it does without.
_packages: list[tuple[str, frozenset[str]]] = []


def opened(module: str, **tables: dict[str, Any]) -> None:
    """Called at the end of a generated module: libraries may add to these tables of it, by name."""
    _tables[module] = tables
    for package, without in _packages:
        if module not in without:
            _add(module, import_module(f"{package}.{module}"))


def rows_of(package: str, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The modules with a library's rows of the tables that are there now."""
    return {m: import_module(f"{package}.{m}") for m in _tables if m not in without}


def add_rows(package: str, without: frozenset[str] = frozenset()) -> None:
    """Add the rows of a library's package, to the tables that are there now and to the others later."""
    for module, rows in rows_of(package, without).items():
        _add(module, rows)
    _packages.append((package, without))


def _add(module: str, rows: Any) -> None:
    for name, table in _tables[module].items():
        table.update(getattr(rows, name))
