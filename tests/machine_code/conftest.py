"""Lets these tests import the table that stands beside them, and gives each a cache of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import machine_tables

from tengen.machine_code import Kernels, finder, lowering, tables


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, in which this test's object code is kept."""
    monkeypatch.setenv("TENGEN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kernels"


@pytest.fixture
def fresh(cache: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], Kernels]]:
    """Makes kernels of the table as a new process would have them."""
    monkeypatch.delenv("TENGEN_NATIVE", raising=False)
    monkeypatch.setattr(lowering, "ir", machine_tables.ir)
    copy = ModuleType("machine_tables_of_a_test")
    copy.__file__ = str(cache.parent.parent / "tables" / "machine_tables_of_a_test.py")
    copy.KERNELS, copy.ROUTINES = machine_tables.KERNELS, machine_tables.ROUTINES  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, copy.__name__, copy)

    def forget() -> Kernels:
        tables.table_of.cache_clear()
        finder._finder.cache_clear()
        return Kernels(copy.__name__)

    yield forget
    forget()
