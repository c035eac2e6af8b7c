"""``tengen.storage``: the memory of tensors, as bytes and as elements of a dtype."""

from __future__ import annotations

from .core.storage import UntypedStorage as UntypedStorage
from .tensors.typed_storage import TypedStorage as TypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]


def __dir__() -> list[str]:
    return sorted(__all__)
