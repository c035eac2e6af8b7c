"""The samples of all operators on the device ``cuda`` beside the CPU: results, and gradients.

``every`` takes each so manieth operator only.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from worker import Item, said

DIFFERS = "differs"


def read_once(folder: Path) -> None:
    """Have what is declared from the process that first read it, which takes seconds."""
    from tengen.codegen.stored import dumps
    from tengen.testing import declared

    file = folder / "declared.pickle"
    if file.exists():
        declared.use(file, folder)
    else:
        new = folder / f"declared.{os.getpid()}"
        new.write_bytes(dumps(declared.declarations()))
        new.replace(file)


def items(options: Mapping[str, Any]) -> dict[str, Item]:
    from tengen.testing.backends import run_on, tried

    read_once(Path(options["folder"]))

    def item(operator: Any) -> dict[str, Any]:
        from tengen.testing.failure import Mismatch

        try:
            return {"outcome": run_on("cuda", operator)}
        except Mismatch as error:
            return {"outcome": DIFFERS, "text": said(error)}

    names = sorted(tried().items())[:: options.get("every", 1)]
    return {name: partial(item, operator) for name, operator in names}
