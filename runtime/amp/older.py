"""The classes of ``cuda.amp`` and ``cpu.amp``: those of ``amp`` for one kind of device, which warn."""

from __future__ import annotations

import warnings
from typing import ClassVar

from ..core.scalar_type import dtype as DType
from ..core.user_stack import program_stacklevel
from .autocast_mode import autocast
from .grad_scaler import GradScaler


def warn_of(name: str, device: str, given: str) -> None:
    """Warn that the function of that name is now one of ``amp``, which is given more."""
    warnings.warn(
        f"`tengen.{device}.amp.{name}(args...)` is deprecated. "
        f"Please use `tengen.amp.{name}({given})` instead.",
        FutureWarning,
        stacklevel=program_stacklevel(),
    )


class OlderAutocast(autocast):
    """``autocast`` for the device type of the class."""

    of_device: ClassVar[str]

    def __init__(self, enabled: bool = True, dtype: DType | None = None, cache_enabled: bool = True) -> None:
        warn_of("autocast", self.of_device, f"'{self.of_device}', args...")
        super().__init__(self.of_device, dtype, enabled, cache_enabled)


class OlderGradScaler(GradScaler):
    """``GradScaler`` for the device type of the class."""

    of_device: ClassVar[str]

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        warn_of("GradScaler", self.of_device, f"'{self.of_device}', args...")
        super().__init__(self.of_device, init_scale, growth_factor, backoff_factor, growth_interval, enabled)
