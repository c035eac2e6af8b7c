"""What runs on a GPU are programs of this folder: their modules are found there."""

from __future__ import annotations

import sys
from pathlib import Path

if (HERE := str(Path(__file__).resolve().parent)) not in sys.path:
    sys.path.append(HERE)
