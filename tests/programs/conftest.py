"""The test of the programs imports what is known of them, which stands beside it."""

from __future__ import annotations

import sys
from pathlib import Path

if (HERE := str(Path(__file__).resolve().parent)) not in sys.path:
    sys.path.insert(0, HERE)
