"""The backends that the operators are run on: array_api_strict's always, others where they are installed."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tengen.codegen.gen import main as generate

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "array_api_backend"


@contextmanager
def _without_tests() -> Iterator[None]:
    """The folder tests/sparse is not the package that Dask looks for, here and in processes that start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [p for p in sys.path if not p.endswith("tests")])
        yield


if importlib.util.find_spec("dask") is not None:
    with _without_tests():
        importlib.import_module("dask.array")


@pytest.fixture(scope="module")
def without_tests() -> Iterator[None]:
    """The folder tests is not on the path while the tests of a module run, nor on that of their processes."""
    with _without_tests():
        yield


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
