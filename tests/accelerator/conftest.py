"""These tests are about the extension: where there is none they are skipped."""

from __future__ import annotations

import pytest

from tengen import c_accelerator


@pytest.fixture(autouse=True)
def accelerated() -> None:
    found = c_accelerator.status()
    if not found.used:
        pytest.skip(f"no accelerator: {found.reason}")
