"""What storages of bytes and of elements have alike: conversions to elements of a dtype, and questions."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from . import scalar_type
from .scalar_type import dtype

#: Converts a storage, which a higher floor puts here.
converter: list[Callable[[Any, dtype], Any]] = []


class StorageConversions:
    """Each conversion gives a storage of elements, in memory of its own unless it has the dtype already."""

    __slots__ = ()

    def _as(self, scalar_type: dtype) -> Any:
        return converter[0](self, scalar_type)

    def bfloat16(self) -> Any:
        """The elements as ``bfloat16``."""
        return self._as(scalar_type.bfloat16)

    def bool(self) -> Any:
        """The elements as ``bool``."""
        return self._as(scalar_type.bool_)

    def byte(self) -> Any:
        """The elements as ``uint8``."""
        return self._as(scalar_type.uint8)

    def char(self) -> Any:
        """The elements as ``int8``."""
        return self._as(scalar_type.int8)

    def complex_double(self) -> Any:
        """The elements as ``complex128``."""
        return self._as(scalar_type.complex128)

    def complex_float(self) -> Any:
        """The elements as ``complex64``."""
        return self._as(scalar_type.complex64)

    def double(self) -> Any:
        """The elements as ``float64``."""
        return self._as(scalar_type.float64)

    def float(self) -> Any:
        """The elements as ``float32``."""
        return self._as(scalar_type.float32)

    def float8_e4m3fn(self) -> Any:
        """The elements as ``float8_e4m3fn``."""
        return self._as(scalar_type.float8_e4m3fn)

    def float8_e4m3fnuz(self) -> Any:
        """The elements as ``float8_e4m3fnuz``."""
        return self._as(scalar_type.float8_e4m3fnuz)

    def float8_e5m2(self) -> Any:
        """The elements as ``float8_e5m2``."""
        return self._as(scalar_type.float8_e5m2)

    def float8_e5m2fnuz(self) -> Any:
        """The elements as ``float8_e5m2fnuz``."""
        return self._as(scalar_type.float8_e5m2fnuz)

    def half(self) -> Any:
        """The elements as ``float16``."""
        return self._as(scalar_type.float16)

    def int(self) -> Any:
        """The elements as ``int32``."""
        return self._as(scalar_type.int32)

    def long(self) -> Any:
        """The elements as ``int64``."""
        return self._as(scalar_type.int64)

    def short(self) -> Any:
        """The elements as ``int16``."""
        return self._as(scalar_type.int16)

    # -- what is the same for all of them

    @property
    def is_sparse(self) -> builtins.bool:
        """Always False: it is the memory of a strided tensor."""
        return False

    @property
    def device(self) -> Any:
        """Where the memory is."""
        raise NotImplementedError

    @property
    def is_cuda(self) -> builtins.bool:
        """Whether the memory is a GPU's."""
        return bool(self.device.type == "cuda")

    def get_device(self) -> builtins.int | None:
        """The number of the device, None for one that has none."""
        found: builtins.int | None = self.device.index
        return found

    def is_pinned(self, device: Any = None) -> builtins.bool:
        """Whether the memory is locked for copies to a GPU: it never is."""
        return False

    def pin_memory(self, device: Any = None) -> Any:
        """RuntimeError: memory is locked for copies to a GPU, of which a number says that there is one."""
        raise RuntimeError("Cannot access accelerator device when none is available.")

    def share_memory_(self) -> Any:
        """The storage itself: memory is not shared with other processes here, which get copies."""
        return self

    def is_shared(self) -> builtins.bool:
        """Whether other processes see the memory: they never do."""
        return False
