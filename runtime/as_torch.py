"""``python -m tengen.as_torch script.py``, or ``-m module``: a program in which ``import torch`` is tengen.

What follows the script are its arguments. In code ``tengen.as_torch()`` does it, for what is imported then.
"""

from __future__ import annotations

import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .torch_imports import as_torch

_USAGE = "usage: python -m tengen.as_torch (script.py | -m module) [argument ...]"


def main(arguments: Sequence[str]) -> int:
    """Run the script or module; returns 2 where none is given."""
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(_USAGE, file=sys.stderr)
        return 2
    as_torch()
    sys.modules.setdefault("tengen.as_torch", sys.modules[__name__])
    if arguments[0] == "-m":
        sys.argv = list(arguments[1:])
        sys.path.insert(0, "")
        _run(runpy.run_module, arguments[1], alter_sys=True)
    else:
        sys.argv = list(arguments)
        sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
        _run(runpy.run_path, arguments[0])
    return 0


def _run(run: Any, what: str, **options: Any) -> None:
    run(what, run_name="__main__", **options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
# What is imported becomes the package's attribute, which is the class.
sys.modules[__name__] = as_torch  # type: ignore[assignment]
