"""Programs that are written once for tengen and torch."""

from __future__ import annotations

from typing import Any

import pytest

import tengen


@pytest.fixture(params=["tengen", pytest.param("torch", marks=pytest.mark.oracle)])
def m(request: pytest.FixtureRequest) -> Any:
    """The library."""
    return tengen if request.param == "tengen" else pytest.importorskip("torch")
