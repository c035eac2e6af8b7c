"""Where helpers of these tests are found; the profilers of both libraries."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

if (HERE := str(Path(__file__).resolve().parent)) not in sys.path:
    sys.path.insert(0, HERE)


@pytest.fixture
def p(m: ModuleType) -> ModuleType:
    """The profiler of tengen, and of torch."""
    return importlib.import_module(f"{m.__name__}.autograd.profiler")
