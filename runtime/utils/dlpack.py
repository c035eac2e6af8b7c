"""DLPack: memory shared with other array libraries."""

from __future__ import annotations

from ..tensors.interop import DLDeviceType, from_dlpack, to_dlpack

__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]


def __dir__() -> list[str]:
    return sorted(__all__)
