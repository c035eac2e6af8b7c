"""An extension that was built from other sources is not used: what it is given may have changed.

Nor is there one for a free-threaded Python.
"""

from __future__ import annotations

import runpy
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import setuptools

from tengen import c_accelerator


def test_the_extension_is_of_these_sources() -> None:
    machine = c_accelerator._state.machine
    assert machine.sources == c_accelerator._sources(machine.sources)


def test_other_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_accelerator._state.machine, "sources", 1)
    assert c_accelerator._load() == (
        None,
        "the extension was built from other sources: install tengen anew",
    )


def test_a_free_threaded_python_does_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "abiflags", "t", raising=False)
    found, reason = c_accelerator._load()
    assert found is None and "free-threaded" in reason


@pytest.mark.parametrize("free_threaded", [0, 1])
def test_for_which_python_it_is_built(free_threaded: int, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr(setuptools, "setup", lambda **settings: given.update(settings))
    monkeypatch.setattr(sysconfig, "get_config_var", {"Py_GIL_DISABLED": free_threaded}.get)
    setup = Path(__file__).resolve().parents[2] / "setup.py"
    runpy.run_path(str(setup))
    assert len(given["ext_modules"]) == 1 - free_threaded
