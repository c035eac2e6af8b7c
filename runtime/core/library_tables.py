"""A registry of the generated tables: libraries add rows to them.

Most tables are imported when they are first needed. A module registers its tables when it is imported, and
gets the rows of the libraries that were loaded before; the rows of later libraries are added directly.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_tables: dict[str, dict[str, dict[str, Any]]] = {}
#: The libraries' packages of generated code, each with the modules that it lacks.
_packages: list[tuple[str, frozenset[str]]] = []
#: Rows of operators that a program defines, by module, table and name.
_rows: dict[tuple[str, str, str], Any] = {}


def register_tables(module: str, **tables: dict[str, Any]) -> None:
    """Register the tables of a generated module, by name, which calls this at its end."""
    _tables[module] = tables
    for package, without in _packages:
        if module not in without:
            _add(module, import_module(f"{package}.{module}"))
    for (row_module, table, name), row in _rows.items():
        if row_module == module:
            tables[table][name] = row


def rows_of(package: str, without: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The modules of a library with rows of the tables that are registered now."""
    return {m: import_module(f"{package}.{m}") for m in _tables if m not in without}


def add_rows(package: str, without: frozenset[str] = frozenset()) -> None:
    """Add the rows of a library's package to the tables, now or when they are registered."""
    for module, rows in rows_of(package, without).items():
        _add(module, rows)
    _packages.append((package, without))


def add_row(module: str, table: str, name: str, row: Any) -> None:
    """Add or replace one row of a table, now or when the table is registered."""
    _rows[module, table, name] = row
    if module in _tables:
        _tables[module][table][name] = row


def remove_row(module: str, table: str, name: str) -> None:
    """Remove a row that ``add_row`` added."""
    _rows.pop((module, table, name), None)
    if module in _tables:
        _tables[module][table].pop(name, None)


def _add(module: str, rows: Any) -> None:
    for name, table in _tables[module].items():
        table.update(getattr(rows, name))
