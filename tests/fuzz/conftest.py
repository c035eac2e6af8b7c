"""The fuzzer imports its neighbours, and what the operators' tests have, by name."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

for folder in (HERE, HERE.parent / "operators", HERE.parent):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
