"""Signal processing, as ``torch.signal`` has it: windows."""

from . import windows as windows

__all__ = ["windows"]


def __dir__() -> list[str]:
    return sorted(__all__)
