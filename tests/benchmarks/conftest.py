"""The benchmarks are programs of a folder: their modules are found there."""

from __future__ import annotations

import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parent.parent.parent / "benchmarks"
sys.path.append(str(BENCHMARKS))
