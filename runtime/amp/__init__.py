"""``tengen.amp``: mixed precision. ``autocast`` chooses dtypes, ``GradScaler`` keeps gradients from zero."""

from __future__ import annotations

from ..dispatch.autocast import is_autocast_available as is_autocast_available
from .autocast_mode import autocast as autocast, custom_bwd as custom_bwd, custom_fwd as custom_fwd
from .grad_scaler import GradScaler as GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]


def __dir__() -> list[str]:
    return sorted([*__all__, "autocast_mode", "grad_scaler"])
