"""DLPack: memory shared with other array libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tengen.interop import from_dlpack, to_capsule

if TYPE_CHECKING:
    from tengen.tensor import Tensor

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule over the tensor's memory, which can be used once."""
    return to_capsule(tensor.detach())
