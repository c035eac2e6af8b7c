"""That recorded.json says what PyTorch gives: else ``python tests/operators/recorded.py`` writes it."""

from __future__ import annotations

import pytest
import recorded

pytest.importorskip("torch")
pytest.importorskip("torch_side")
pytestmark = [pytest.mark.oracle, pytest.mark.filterwarnings("ignore")]


def test_what_is_recorded_is_what_there_is() -> None:
    """An operator that is new may not be recorded yet."""
    for table, texts in recorded.of_torch().items():
        for name, text in recorded.recorded()[table].items():
            assert texts.get(name) == text, f"{table} of {name} is not what is recorded"
