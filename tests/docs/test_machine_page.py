"""The page of the machine has each of its operations, with what operations.def says of it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest


def test_every_entry_is_on_the_page(generator: Callable[[str], ModuleType]) -> None:
    made = generator("machine_page")
    machine = pytest.importorskip("tengen.fast_paths.machine")
    found = made.entries()
    assert [row[0] for kind in ("TEST", "STEP") for row in found[kind]] == list(machine.operations)
    assert [row[1:4] for row in found["STEP"]] == [
        effects[1:] for name, effects in machine.operations.items() if name in {r[0] for r in found["STEP"]}
    ]
    words = {kind: {row[0] for row in found[kind.upper()]} for kind in machine.numbers}
    assert words == {kind: set(numbers) for kind, numbers in machine.numbers.items()}
    page = made.page()
    for name in machine.operations:
        assert f"| `{name}` |" in page
