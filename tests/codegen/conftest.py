"""What tests of the generator share: declarations that are good, to add others to."""

from __future__ import annotations

import shutil
import sys
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
