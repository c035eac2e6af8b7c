"""What tests of transforms share: the module as a fixture, with its transforms.

These tests import their neighbour by name.
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

HERE = str(Path(__file__).resolve().parent)
if HERE not in sys.path:
    sys.path.insert(0, HERE)


@pytest.fixture
def m(m: ModuleType) -> ModuleType:
    """tengen, and where it is installed torch: a test of both. ``m.func`` is imported."""
    importlib.import_module(f"{m.__name__}.func")
    return m
