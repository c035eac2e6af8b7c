"""The older names of mixed precision on the CPU, which programs import: those of ``tengen.amp``."""

from __future__ import annotations

from ..amp.older import OlderAutocast, OlderGradScaler

__all__ = ["GradScaler", "autocast"]


def __dir__() -> list[str]:
    return sorted(__all__)


class autocast(OlderAutocast):
    """``amp.autocast("cpu", ...)``: in ``dtype``, or bfloat16. Warns that it is deprecated."""

    of_device = "cpu"


class GradScaler(OlderGradScaler):
    """``amp.GradScaler("cpu", ...)``. Warns that it is deprecated."""

    of_device = "cpu"
