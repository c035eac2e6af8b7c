"""What tests of transforms that run in tengen and in torch share: the module as a fixture."""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

import pytest

HAVE_TORCH = importlib.util.find_spec("torch") is not None
TORCH = pytest.param(
    "torch", marks=[pytest.mark.oracle, pytest.mark.skipif(not HAVE_TORCH, reason="torch is not installed")]
)


@pytest.fixture(params=["tengen", TORCH])
def m(request: pytest.FixtureRequest) -> ModuleType:
    """tengen, and where it is installed torch: a test of both. ``m.func`` is imported."""
    importlib.import_module(f"{request.param}.func")
    return importlib.import_module(request.param)
