"""Memory shared with other array libraries: DLPack, and results of NumPy's functions."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..core.device import DEVICES, as_device, device
from ..core.scalar_type import from_array_dtype, get_default_dtype, named
from ..core.storage import hold
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import backend_of_device, type_of
from .creation import from_array

if TYPE_CHECKING:
    from .tensor import Tensor


class DLDeviceType(IntEnum):
    """DLPack's kinds of devices, by their numbers in its header."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


CPU_DEVICE: Final = (DLDeviceType.kDLCPU, 0)

#: Where DLTensor's type code stands, in bytes from where a capsule of each name points to.
_VERSIONED: Final = b"dltensor_versioned"
_CODE_AT: Final = {b"dltensor": 20, _VERSIONED: 52}
_INVALID: Final = "from_dlpack received an invalid capsule"
_ONCE: Final = (
    " Note that DLTensor capsules can be consumed only once, "
    "so you might have already constructed a tensor from it once."
)
_UNSIGNED: Final = 1
_COMPLEX: Final = 5
#: DLPack's type codes of the scalar types that ml_dtypes adds to NumPy's. NumPy knows none of them: it sees
#: unsigned integers.
_ADDED: Final = {
    "bfloat16": 4,
    "complex32": _COMPLEX,
    "float8_e4m3fn": 10,
    "float8_e4m3fnuz": 11,
    "float8_e5m2": 12,
    "float8_e5m2fnuz": 13,
    "float8_e8m0fnu": 14,
}
_NAMES: Final = {code: name for name, code in _ADDED.items()}


def dlpack_device(tensor: TensorBase) -> tuple[DLDeviceType, int]:
    """DLPack's (kind, index) of the tensor's device. ValueError when DLPack does not know it."""
    backend = tensor._type.backend
    found: tuple[int, int] | None = backend.lib.dlpack_device
    if found is None:
        raise ValueError(f"Unknown device type {backend.device.type} for Dlpack")
    return DLDeviceType(found[0]), found[1]


def to_capsule(
    tensor: TensorBase,
    *,
    stream: Any = None,
    max_version: tuple[int, int] | None = None,
    dl_device: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> Any:
    """``Tensor.__dlpack__``."""
    if copy is not None and copy.__class__ is not bool:
        raise TypeError(f"__dlpack__(): argument 'copy' must be bool, not {type(copy).__name__}")
    if tensor._requires_grad:
        raise BufferError("Can't export tensors that require gradient, use tensor.detach()")
    if tensor._type.backend.lib.dlpack_device is None:
        nested = tensor.is_nested
        where = "a nested tensor" if nested else f"tensors on {tensor._type.backend.device.type}"
        raise BufferError(f"Cannot pack {where}")
    if tensor._type.backend.lib.dlpack_device[0] != CPU_DEVICE[0]:
        exported: Any = tensor._array
        return exported.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
    if stream is not None and type(stream) is not int:
        raise TypeError("stream must be ``int`` or ``none``")
    if stream is not None and stream != -1:
        raise AssertionError(f"stream should be None on {tensor._type.backend.device.type}.")
    array = hold(tensor)._type.backend.lib.to_numpy(tensor._array)
    options = {"max_version": max_version, "dl_device": dl_device, "copy": copy}
    added = _ADDED.get(tensor._type.scalar_type.name)
    if added is None:
        return array.__dlpack__(**options)
    capsule = array.view(f"u{array.itemsize}").__dlpack__(**options)
    _code(capsule).value = added
    return capsule


def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule over the tensor's memory, without its history, which can be used once."""
    return to_capsule(tensor.detach())


def from_dlpack(ext_tensor: Any, *, device: device | str | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of ``ext_tensor``: an array with ``__dlpack__``, or a capsule.

    It shares that memory, unless ``copy`` is True; the exporter refuses what must not be copied (False) and
    would have to be. ``device`` is where the tensor is to be. RuntimeError for anything else and for a used
    capsule, AssertionError for a device or copy of one, BufferError for what is not exported, ValueError for
    a device that DLPack does not know.
    """
    asked: dict[str, Any] = {} if copy is None else {"copy": copy}
    if hasattr(ext_tensor, "__dlpack__"):
        kind, _ = ext_tensor.__dlpack_device__()  # which refuses devices that are not DLPack's
        if device is None and copy is None and (found := _library_of(kind)) is not None:
            array = found.lib.from_dlpack(ext_tensor)
            return type_of(from_array_dtype(array.dtype), found.device).wrap(array)
        if device is not None:
            asked["dl_device"] = _dl_device(as_device(device))
    elif type(ext_tensor).__name__ != "PyCapsule":
        raise RuntimeError(f"{_INVALID}: {type(ext_tensor).__name__} has no __dlpack__.{_ONCE}")
    elif asked or device is not None:
        raise AssertionError(
            "device and copy kwargs not supported when ext_tensor is already a DLPack capsule."
        )
    exporter = _Exporter(ext_tensor, asked)
    try:
        array = np.from_dlpack(exporter)
    except ValueError as error:
        if "capsule" in str(error).lower():
            raise RuntimeError(f"{_INVALID}.{_ONCE}") from None
        raise
    if exporter.added is not None:
        array = array.view(named(exporter.added).array_dtype)
    # NumPy takes what comes in a capsule without flags to be read-only; nobody else does
    return hold(from_array(array, None if exporter.has_flags else True))


def _library_of(kind: int) -> Any:
    """The backend of the device that DLPack calls by this number, where its library takes memory as it is."""
    name = DLDeviceType(kind).name.removeprefix("kDL").lower()
    if kind == CPU_DEVICE[0] or name not in DEVICES:
        return None
    return backend_of_device(as_device(name))


def _dl_device(where: device) -> tuple[int, int]:
    """What an exporter is asked for. BufferError where nothing can be imported to."""
    found: tuple[int, int] | None = type_of(get_default_dtype(), where).backend.lib.dlpack_device
    if found is None:
        raise BufferError(f"Cannot pack tensors on {where.type}")
    return found


class _Exporter:
    """What NumPy imports from: hands on somebody's capsule, bfloat16 and float8 disguised as integers.

    ``asked`` is what the importer asks of the exporter: a device, a copy.
    """

    __slots__ = ("added", "asked", "has_flags", "source")

    def __init__(self, source: Any, asked: dict[str, Any]) -> None:
        self.source = source
        self.asked = asked
        self.added: str | None = None  # the name of the disguised scalar type
        self.has_flags = False

    def __dlpack_device__(self) -> tuple[int, int]:
        if not hasattr(self.source, "__dlpack_device__"):
            return CPU_DEVICE  # a bare capsule does not tell
        device: tuple[int, int] = self.source.__dlpack_device__()
        return device

    def __dlpack__(self, **options: Any) -> Any:
        if hasattr(self.source, "__dlpack__"):
            capsule = self.source.__dlpack__(**{**options, **self.asked})
        else:
            capsule = self.source
        self.has_flags = _name(capsule) == _VERSIONED
        code = _code(capsule)
        if code.value != _COMPLEX or _bits(capsule) == 32:
            self.added = _NAMES.get(code.value)
        if self.added is not None:
            _code(capsule).value = _UNSIGNED
        return capsule


def _name(capsule: Any) -> bytes | None:
    import ctypes

    name_of = ctypes.pythonapi.PyCapsule_GetName
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    name: bytes | None = name_of(capsule)
    return name


def _bits(capsule: Any) -> int:
    """How many bits the numbers inside a capsule have."""
    bits: int = _code(capsule, 1).value
    return bits


def _code(capsule: Any, after: int = 0) -> Any:
    """The type code inside a capsule, as a byte to read and write. ValueError for a used capsule."""
    import ctypes

    name = _name(capsule)
    if name not in _CODE_AT:
        raise ValueError(f"a capsule {name!r} is none of DLPack's")
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.c_uint8.from_address(pointer_of(capsule, name) + _CODE_AT[name] + after)


def from_result_array(array: Any) -> Any:
    """The result of a NumPy function of tensors as a tensor, where tensors have its dtype."""
    try:
        return from_array(np.asarray(array))
    except TypeError:
        return array
