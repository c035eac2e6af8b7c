"""These tests import their neighbours, and the fuzzer's programs, by name."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for folder in (HERE, HERE.parent / "fuzz", HERE.parent / "operators"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
