"""The older names of mixed precision on GPUs, which programs import: those of ``tengen.amp``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..amp import autocast_mode
from ..amp.older import OlderAutocast, OlderGradScaler, warn_of
from ..core.scalar_type import dtype as DType

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]


def __dir__() -> list[str]:
    return sorted(__all__)


class autocast(OlderAutocast):
    """``amp.autocast("cuda", ...)``: in ``dtype``, or float16. Warns that it is deprecated."""

    of_device = "cuda"


class GradScaler(OlderGradScaler):
    """``amp.GradScaler("cuda", ...)``. Warns that it is deprecated."""

    of_device = "cuda"


def custom_fwd(fwd: Callable[..., Any] | None = None, *, cast_inputs: DType | None = None) -> Any:
    """``amp.custom_fwd(..., device_type="cuda")``. Warns that it is deprecated."""
    warn_of("custom_fwd", "cuda", "args..., device_type='cuda'")
    return autocast_mode.custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Callable[..., Any]) -> Any:
    """``amp.custom_bwd(..., device_type="cuda")``. Warns that it is deprecated."""
    warn_of("custom_bwd", "cuda", "args..., device_type='cuda'")
    return autocast_mode.custom_bwd(bwd, device_type="cuda")
