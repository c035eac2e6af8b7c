"""Makes the modules beside this file, and those that make the site's pages, importable."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
for folder in (HERE, HERE.parents[1] / "docs" / "generator"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
