"""An extension that was built from other sources is not used: what it is given may have changed."""

from __future__ import annotations

import pytest

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
