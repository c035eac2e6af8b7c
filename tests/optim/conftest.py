"""What tests that run in tengen and in torch share: the module as a fixture, the programs in this folder."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = str(Path(__file__).resolve().parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)

HAVE_TORCH = importlib.util.find_spec("torch") is not None
TORCH = pytest.param(
    "torch", marks=[pytest.mark.oracle, pytest.mark.skipif(not HAVE_TORCH, reason="torch is not installed")]
)


@pytest.fixture(params=["tengen", TORCH])
def m(request: pytest.FixtureRequest) -> ModuleType:
    """tengen, and where it is installed torch: a test of both."""
    return importlib.import_module(request.param)
