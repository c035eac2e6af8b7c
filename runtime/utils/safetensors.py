"""Files of the package safetensors, whose own modules are for other libraries: ``tengen.utils.safetensors``.

The package reads and checks what a file says; its tensors are windows of the file in memory, read where they
are used.
"""

from __future__ import annotations

import json
import mmap
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from ..core.device import default_device, device as Device
from ..core.needed_package import needed_package
from ..core.scalar_type import dtype
from ..tensors.creation import from_numpy
from ..tensors.tensor import Tensor

try:
    import safetensors
except ModuleNotFoundError as error:
    raise needed_package(__name__, "safetensors", "tengen[safetensors]") from error

__all__ = ["load", "load_file", "safe_open", "save", "save_file"]

Path = str | os.PathLike[str]

#: The format's names of scalar types.
_NAMES: Final = {
    "BOOL": "bool",
    **{f"I{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"U{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    **{f"F{bits}": f"float{bits}" for bits in (16, 32, 64)},
    "BF16": "bfloat16",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E4M3FNUZ": "float8_e4m3fnuz",
    "F8_E5M2": "float8_e5m2",
    "F8_E5M2FNUZ": "float8_e5m2fnuz",
}
_LENGTH: Final = 8


def __dir__() -> list[str]:
    return sorted(__all__)


class safe_open:
    """A file whose tensors are made when they are asked for; a context manager.

    ``device`` is where they go. ``safetensors.SafetensorError`` for a file that is damaged.
    """

    def __init__(self, filename: Path, device: Device | str = default_device) -> None:
        self.filename, self.device = filename, device
        # It checks that the header is whole, and that tensors lie within the file and apart.
        checked: Any = safetensors.safe_open(filename, framework="np")
        self._keys: list[str] = list(checked.keys())
        self._metadata: dict[str, str] | None = checked.metadata()
        with open(filename, "rb") as file:
            self._memory = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
        length = int.from_bytes(self._memory[:_LENGTH], "little")
        self._start = _LENGTH + length
        self._header = json.loads(self._memory[_LENGTH : self._start])

    def __enter__(self) -> safe_open:
        return self

    def __exit__(self, *_: object) -> None:
        """Tensors that were made keep the file in memory."""

    def keys(self) -> list[str]:
        """The names of the tensors."""
        return list(self._keys)

    def offset_keys(self) -> list[str]:
        """The names of the tensors, as they stand in the file."""
        return sorted(self._keys, key=lambda name: tuple(self._header[name]["data_offsets"]))

    def metadata(self) -> dict[str, str] | None:
        """The texts that the file has beside its tensors."""
        return self._metadata

    def get_tensor(self, name: str) -> Tensor:
        """The tensor, of the shape and dtype that the file says.

        On the CPU it shares the memory that the file is mapped into, privately: what is written to it stays
        in memory. KeyError for a name that the file has not, TypeError for a dtype that tensors do not have.
        """
        return self._on_cpu(name).to(self.device)

    def get_slice(self, name: str) -> Tensor:
        """The tensor on the CPU, to take a part of: nothing else of it is read."""
        return self._on_cpu(name)

    def _on_cpu(self, name: str) -> Tensor:
        if name not in self._keys:
            raise KeyError(f"{os.fspath(self.filename)} has no tensor {name!r}")
        record = self._header[name]
        known = _NAMES.get(record["dtype"])
        if known is None:
            raise TypeError(f"the tensor {name!r} has the dtype {record['dtype']}, which tensors do not have")
        start, end = (self._start + offset for offset in record["data_offsets"])
        scalar_type = dtype.registry[known]
        array = np.frombuffer(self._memory, np.uint8, end - start, start)
        if start % scalar_type.itemsize:
            array = array.copy()
        if sys.byteorder == "big" and scalar_type.itemsize > 1:
            width = scalar_type.itemsize // (2 if scalar_type.is_complex else 1)
            array = array.view(f"u{width}").byteswap().view(np.uint8)
        if not record["shape"] or array.size:
            return from_numpy(array.view(scalar_type.array_dtype).reshape(record["shape"]))
        return from_numpy(np.empty(record["shape"], scalar_type.array_dtype))


def load_file(filename: Path, device: Device | str = default_device) -> dict[str, Tensor]:
    """All tensors of a file, by their names: on the CPU without being read or copied.

    ``safetensors.SafetensorError`` for a file that is damaged.
    """
    with safe_open(filename, device) as file:
        return {name: file.get_tensor(name) for name in file.offset_keys()}


def load(data: bytes) -> dict[str, Tensor]:
    """All tensors of the bytes of a file, with memory of their own."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data")
        with open(path, "wb") as file:
            file.write(data)
        return {name: tensor.clone() for name, tensor in load_file(path).items()}


def save_file(
    tensors: Mapping[str, Tensor], filename: Path, metadata: Mapping[str, str] | None = None
) -> None:
    """Write tensors, of any dtype that the format has, and texts beside them.

    ValueError for a tensor that is not contiguous, RuntimeError for tensors that share memory, which would be
    written twice, TypeError for what is no strided tensor and for a dtype that the format has not. Nothing is
    written then.
    """
    specs, _kept = _described(tensors)
    safetensors.serialize_file(specs, filename, None if metadata is None else dict(metadata))


def save(tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> bytes:
    """The bytes of the file that ``save_file`` would write."""
    specs, _kept = _described(tensors)
    data: bytes = safetensors.serialize(specs, None if metadata is None else dict(metadata))
    return data


def _described(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Any], list[Any]]:
    """What the package takes for each tensor, and the arrays that must stay meanwhile."""
    specs: dict[str, Any] = {}
    kept: list[Any] = []
    owners: dict[int, str] = {}
    known = frozenset(_NAMES.values())
    for name, tensor in tensors.items():
        if not isinstance(tensor, Tensor) or not tensor._type.backend.is_strided:
            raise TypeError(f"save_file: expected strided tensors, but {name!r} is a {type(tensor).__name__}")
        if tensor.dtype.name not in known:
            raise TypeError(f"save_file: {name!r} has the dtype {tensor.dtype}, which the format has not")
        if not tensor.is_contiguous():
            raise ValueError(f"save_file: {name!r} is not contiguous: save {name!r}.contiguous()")
        array = tensor._type.backend.lib.to_numpy(tensor._array)
        if array.size:
            other = owners.setdefault(tensor.untyped_storage().data_ptr(), name)
            if other != name:
                raise RuntimeError(
                    f"save_file: {other!r} and {name!r} share memory: save one of them, or a clone()"
                )
        if sys.byteorder == "big":
            array = array.byteswap()
        kept.append(array)
        specs[name] = safetensors.TensorSpec(
            dtype=tensor.dtype.name,
            shape=list(array.shape),
            data_ptr=array.ctypes.data,
            data_len=array.nbytes,
        )
    return specs, kept
