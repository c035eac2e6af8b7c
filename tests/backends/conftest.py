"""The backends that the operators are run on: array_api_strict's always, others where they are installed."""

from __future__ import annotations

import importlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from tengen.codegen.gen import main as generate

# What JAX compiles is called once: what its optimisations save, they take many times over.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "array_api_backend"


@pytest.fixture(scope="session")
def strict(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The device of the example library's backend, which is loaded into this process."""
    pytest.importorskip("array_api_strict")
    if "strictlib" not in sys.modules:
        folder = tmp_path_factory.mktemp("strict") / "library"
        shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns("generated", "__pycache__", ".cache"))
        assert generate(["--library", str(folder)]) == 0
        sys.path.insert(0, str(folder))
        try:
            importlib.import_module("strictlib")
        finally:
            sys.path.remove(str(folder))
    return "strict"
