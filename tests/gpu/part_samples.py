"""The samples of all operators on the device ``cuda`` beside the CPU: results, and gradients.

``every`` takes each so manieth operator only.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from worker import Item, said

DIFFERS = "differs"


def items(options: Mapping[str, Any]) -> dict[str, Item]:
    from tengen.testing.backends import run_on, tried

    def item(operator: Any) -> dict[str, Any]:
        from tengen.testing.failure import Mismatch

        try:
            return {"outcome": run_on("cuda", operator)}
        except Mismatch as error:
            return {"outcome": DIFFERS, "text": said(error)}

    names = sorted(tried().items())[:: options.get("every", 1)]
    return {name: partial(item, operator) for name, operator in names}
