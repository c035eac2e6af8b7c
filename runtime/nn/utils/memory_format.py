"""Weights of convolutions in another memory format."""

from __future__ import annotations

from typing import Any

from ...core.memory_format import memory_format as MemoryFormat
from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _convert(module: Any, kinds: tuple[type[Module], ...], memory_format: MemoryFormat) -> Any:
    for each in module.modules():
        if isinstance(each, kinds):
            weight: Any = each.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: MemoryFormat) -> Any:
    """The module, with the weights of its Conv2d and ConvTranspose2d in that memory format, in place."""
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: MemoryFormat) -> Any:
    """The module, with the weights of its Conv3d and ConvTranspose3d in that memory format, in place."""
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
