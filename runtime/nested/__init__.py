"""Tensors of components that differ in their sizes."""

from __future__ import annotations

from . import jagged, lists, padding
from .jagged import (
    masked_select as masked_select,
    narrow as narrow,
    nested_tensor_from_jagged as nested_tensor_from_jagged,
)
from .lists import as_nested_tensor as as_nested_tensor, nested_tensor as nested_tensor
from .padding import to_padded_tensor as to_padded_tensor

_MODULES = (jagged, lists, padding)
__all__ = [name for module in _MODULES for name in module.__all__]


def __dir__() -> list[str]:
    return sorted(__all__)
