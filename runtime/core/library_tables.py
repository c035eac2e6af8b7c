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
#: Rows of operators that a program defines, by module, table and name.
_rows: dict[tuple[str, str, str], Any] = {}


def opened(module: str, **tables: dict[str, Any]) -> None:
    """Called at the end of a generated module: libraries may add to these tables of it, by name."""
    _tables[module] = tables
    for package, without in _packages:
        if module not in without:
            _add(module, import_module(f"{package}.{module}"))
    for (of, table, name), row in _rows.items():
        if of == module:
            tables[table][name] = row


def rows_of(package: str, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The modules with a library's rows of the tables that are there now."""
    return {m: import_module(f"{package}.{m}") for m in _tables if m not in without}


def add_rows(package: str, without: frozenset[str] = frozenset()) -> None:
    """Add the rows of a library's package, to the tables that are there now and to the others later."""
    for module, rows in rows_of(package, without).items():
        _add(module, rows)
    _packages.append((package, without))


def add_row(module: str, table: str, name: str, row: Any) -> None:
    """Add one row to a table, or put another in its place, now or when the table is imported."""
    _rows[module, table, name] = row
    if module in _tables:
        _tables[module][table][name] = row


def remove_row(module: str, table: str, name: str) -> None:
    """Take back a row that ``add_row`` has added."""
    _rows.pop((module, table, name), None)
    if module in _tables:
        _tables[module][table].pop(name, None)


def _add(module: str, rows: Any) -> None:
    for name, table in _tables[module].items():
        table.update(getattr(rows, name))
