"""The types that programs written for PyTorch annotate with."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, TypeAlias

from .core.device import device
from .core.memory_format import layout
from .core.scalar_type import dtype
from .core.size import Size
from .core.storage import UntypedStorage
from .core.sym_int import SymInt
from .tensors.tensor import Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

#: A number, of any of Python's classes but complex.
Number: TypeAlias = builtins.int | builtins.float | builtins.bool
#: A device, its name or number, or None.
Device: TypeAlias = device | str | builtins.int | None
#: A path or an open file.
FileLike: TypeAlias = str | os.PathLike[str] | IO[bytes]
#: The memory of a tensor.
Storage: TypeAlias = UntypedStorage

_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex
_dtype = dtype
_device = device
_layout = layout
_size: TypeAlias = Size | list[builtins.int] | tuple[builtins.int, ...]
_symsize: TypeAlias = Size | Sequence[builtins.int | SymInt]
_dispatchkey: TypeAlias = str
_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]


def __dir__() -> list[str]:
    return sorted(__all__)
