"""Stances: what calls of compiled functions do from here on, in this thread."""

from __future__ import annotations

import threading
from typing import Final

from ..core.thread_state import propagated

#: By PyTorch's names.
STANCES: Final = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)


class Stance(threading.local):
    """The stance of a thread."""

    name = "default"

    @property
    def is_eager(self) -> bool:
        """Whether functions are called as they are written."""
        return self.name == "force_eager"

    @property
    def is_eager_anew(self) -> bool:
        """Whether calls that no program is for are made as they are written."""
        return self.name == "eager_on_recompile"

    @property
    def fails_anew(self) -> bool:
        """Whether such calls are errors."""
        return self.name == "fail_on_recompile"


stance = propagated(Stance())
