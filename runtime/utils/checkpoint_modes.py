"""The modes that decide what a function computes: those of a checkpoint's first run, for its second."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ..amp.autocast_mode import autocast
from ..core.device import get_default_device
from ..core.function_dispatch import state as overrides
from ..dispatch.autocast import SUPPORTED, autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled


class Modes:
    """Autocast, default device and function modes of this thread, as they are when this is made."""

    __slots__ = ("autocasts", "cached", "device", "functions")

    def __init__(self) -> None:
        self.autocasts = [(name, autocast_dtype(name), is_autocast_enabled(name)) for name in SUPPORTED]
        self.cached = is_autocast_cache_enabled()
        self.device = get_default_device()
        self.functions = overrides.modes

    @contextlib.contextmanager
    def again(self) -> Iterator[None]:
        """A context in which they are as they were."""
        outside = overrides.modes
        with contextlib.ExitStack() as stack:
            for name, dtype, enabled in self.autocasts:
                stack.enter_context(autocast(name, dtype, enabled, self.cached))
            stack.enter_context(self.device)
            try:
                overrides.modes = self.functions
                yield
            finally:
                overrides.modes = outside
