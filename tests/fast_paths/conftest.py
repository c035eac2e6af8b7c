"""These tests are about the extension: where there is none they are skipped."""

from __future__ import annotations

import pytest

from tengen import fast_paths


@pytest.fixture(autouse=True)
def accelerated() -> None:
    found = fast_paths.status()
    if not found.used:
        pytest.skip(f"no C machine: {found.reason}")
