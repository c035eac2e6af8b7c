"""What tests of the generator share: declarations that are good, to add others to."""

from __future__ import annotations

import gc
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if (HERE := str(Path(__file__).parent)) not in sys.path:
    sys.path.insert(0, HERE)

from surroundings import SURROUNDINGS


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Good declarations, to add files to."""
    shutil.copytree(SURROUNDINGS, tmp_path / "all")
    return tmp_path / "all"


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    """Nothing that is generated is garbage while a test runs, as in the commands: to look takes long."""
    gc.disable()
    yield
    gc.enable()
