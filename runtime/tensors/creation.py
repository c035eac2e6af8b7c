"""Tensors from data: Python's, NumPy's and other libraries'. (zeros, arange ... are operators.)"""

from __future__ import annotations

import warnings
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.device import as_device, asked_device, default_device, device as Device
from ..core.function_dispatch import NO_ARGUMENTS, at_level
from ..core.scalar_type import default, dtype as DType
from ..core.storage import UntypedStorage, bytes_of, hold
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from ..dispatch.legacy_type_dispatch import type_of
from ..dispatch.operator import operator
from ..kernels.cpu import cast, copy as copy_array, owned
from ..kernels.uninitialized import unwritten
from .sequences import array_of, checked_array_dtype

if TYPE_CHECKING:
    from .tensor import Tensor

Array = np.ndarray[Any, Any]


def tensor(
    data: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new leaf with a copy of ``data``: numbers, nested sequences, arrays, tensors.

    The scalar type is inferred when none is given: bools give bool, ints int64, floats the
    default dtype. TypeError for what is no data, ValueError for ragged sequences, RuntimeError
    for numbers that the type does not hold.
    """
    dtype = _scalar_type("tensor", dtype)
    check_options("tensor", requires_grad, pin_memory)
    if isinstance(data, TensorBase):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than tengen.tensor(sourceTensor).",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
        with at_level(NO_ARGUMENTS):  # a plain tensor, also of one of a subclass
            return _leaf(_copied(data, dtype, device), requires_grad)
    return _leaf(_copied(data, dtype, device), requires_grad)


def new_tensor(like: Tensor, data: Any, dtype: Any, device: Any, requires_grad: bool) -> Tensor:
    """``Tensor.new_tensor``: as ``tensor``, the defaults taken from ``like``."""
    dtype = _scalar_type("new_tensor", dtype)
    check_options("new_tensor", requires_grad)
    if isinstance(data, TensorBase):
        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
            "sourceTensor.detach().clone().requires_grad_(True), rather than "
            "tensor.new_tensor(sourceTensor).",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
    where = like.device if device is None else device
    return _leaf(_copied(data, like.dtype if dtype is None else dtype, where), requires_grad)


def as_tensor(data: Any, dtype: DType | None = None, device: Device | str | None = None) -> Tensor:
    """``data`` as a tensor, without a copy where that is possible.

    A tensor of the wanted scalar type and device is returned itself, an array is shared, and
    anything else is copied as ``tensor`` does.

    It has the shape and, unless ``dtype`` is given, the dtype of ``data``.
    """
    return _aliased(data, _scalar_type("as_tensor", dtype), device)


def asarray(
    obj: Any,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """``obj`` as a tensor: shared if possible, always copied (``copy=True``), or never.

    ValueError when ``copy=False`` and a copy is needed. A tensor keeps its history unless
    ``requires_grad`` says otherwise.

    It has the shape and, unless ``dtype`` is given, the dtype of ``obj``.
    """
    dtype = _scalar_type("asarray", dtype)
    if requires_grad is not None:
        check_options("asarray", requires_grad)
    source = _shareable(obj)
    if source is None and _is_buffer(obj):  # bytes, to be read as numbers of the type
        source = frombuffer(obj, dtype=default.dtype if dtype is None else dtype)
    if source is None:
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _leaf(_copied(obj, dtype, device), bool(requires_grad))
    device = asked_device(device)
    if copy is False:
        _check_alias(source, dtype, device)
    result = _aliased(source, dtype, device)
    if copy and result is source:
        result = result.clone()
    elif copy and not isinstance(obj, TensorBase):
        result = _copied(result, None, result.device)
    if requires_grad is None or requires_grad == result.requires_grad:
        return result
    if not requires_grad:
        return result.detach()
    made: Tensor = result.detach() if result is obj else result
    made.requires_grad = True
    return made


def _check_alias(source: Tensor, wanted: DType | None, where: Any) -> None:
    if where is not None and as_device(where) != source.device:
        raise ValueError(f"can't alias tensor from device '{source.device}' to '{as_device(where)}'.")
    if wanted is not None and wanted is not source.dtype:
        raise ValueError(
            f"can't alias tensor with dtype '{source.dtype.type_name}' into dtype '{wanted.type_name}'."
        )


def from_numpy(ndarray: Array) -> Tensor:
    """A tensor that shares the array's memory: writing to one is seen in the other.

    TypeError for what is no array, or an array of a dtype that tensors do not have; ValueError
    for negative strides, for strides between elements and for a foreign byte order.
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {_qualified(type(ndarray))})")
    return hold(from_array(ndarray))


def from_array(array: Array, writeable: bool | None = None) -> Tensor:
    """``from_numpy``, of what is known to be an array; ``writeable`` when NumPy's flag is wrong.

    It is where the memory is, whatever the default device.
    """
    scalar_type = checked_array_dtype(array.dtype)
    _check_layout(array)
    if not (array.flags.writeable if writeable is None else writeable):
        _warn_read_only("NumPy array")
    return wrap_array(owned(array, writeable), scalar_type, default_device)


def frombuffer(
    buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-d tensor over the memory of an object with Python's buffer interface.

    ``offset`` is in bytes, ``count`` in elements (-1: all there are). ValueError when the
    buffer is too small or does not hold whole elements.
    """
    dtype = _scalar_type("frombuffer", dtype) or default.dtype
    check_options("frombuffer", requires_grad)
    try:
        memory = np.frombuffer(memoryview(buffer).cast("B") if _nonempty(buffer) else b"", np.uint8)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    length, step = memory.size, dtype.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length "
            f"({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % step:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of "
            f"element size ({step})"
        )
    if count > 0 and offset + count * step > length:
        raise ValueError(
            f"requested buffer length ({count} * {step} bytes) after offset ({offset} bytes) must not be "
            f"greater than actual buffer length ({length} bytes)"
        )
    if not memory.flags.writeable:
        _warn_read_only("buffer")
    stop = length if count < 0 else offset + count * step
    array = memory[offset:stop].view(dtype.array_dtype)
    return _leaf(hold(wrap_array(array, dtype, default_device)), requires_grad)


def from_file(
    filename: str,
    shared: bool | None = None,
    size: int = 0,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A 1-d tensor of the first ``size`` elements of a file, mapped into memory.

    With ``shared`` what is written to the tensor is written to the file, which is made if there is none, and
    as long as that; else the file stays as it is. RuntimeError for a file that cannot be opened or is too
    short and for another device than the CPU, TypeError for what is no path or no size.
    """
    dtype = _scalar_type("from_file", dtype) or default.dtype
    check_options("from_file", requires_grad, pin_memory)
    if not (shared is None or isinstance(shared, bool)):
        raise TypeError(f"from_file(): argument 'shared' must be bool, not {type(shared).__name__}")
    if isinstance(size, bool) or not isinstance(size, int):
        raise TypeError(f"from_file(): argument 'size' must be int, not {type(size).__name__}")
    where = as_device(default_device if device is None else device)
    if where != default_device:
        raise RuntimeError(f"from_file(): argument 'device' must be the CPU, which maps files, not {where}")
    storage = UntypedStorage.from_file(filename, bool(shared), size * dtype.itemsize)
    made: Any = wrap_array(np.empty(0, dtype.array_dtype), dtype, default_device)
    return _leaf(made.set_(storage, 0, (size,)), requires_grad)


def _nonempty(buffer: Any) -> bool:
    return memoryview(buffer).nbytes > 0


def _is_buffer(value: Any) -> bool:
    try:
        memoryview(value)
    except TypeError:
        return False
    return not isinstance(value, np.generic)


def legacy_tensor(args: tuple[Any, ...], where: Device | str | None) -> Tensor:
    """``Tensor(*args)``: sizes make an uninitialised tensor, data one of the default dtype."""
    _check_legacy_device(as_device(None), where)
    if len(args) == 1 and isinstance(args[0], TensorBase):
        if where is not None:
            raise RuntimeError(
                "Tensor(tensor, device=device) is not supported: use tensor(...) or as_tensor(...) instead"
            )
        found: Any = args[0]
        alias: Tensor = found.detach()
        return alias
    return _legacy("Tensor", args, default.dtype, as_device(None))


def legacy_new(
    self: Tensor, args: tuple[Any, ...], where: Device | str | None, keywords: dict[str, Any]
) -> Tensor:
    """``Tensor.new``: as ``Tensor(*args)``, of the dtype and on the device of ``self``."""
    if where is not None:
        _check_legacy_device(self.device, where)
    if keywords:
        (word, value), *more = keywords.items()
        if args or more or word not in ("size", "data", "other", "storage"):
            raise TypeError(
                f"new() takes sizes, data, a tensor or a storage, but got {', '.join(keywords)} too"
            )
        args = tuple(value) if word == "size" else (value,)
    if len(args) == 1 and isinstance(args[0], TensorBase):
        other: Any = args[0]
        if other.dtype is not self.dtype or other.device != self.device:
            raise TypeError(
                f"new(): expected a tensor of {self.dtype} on {self.device}, but got one of {other.dtype} on "
                f"{other.device}"
            )
        alias: Tensor = operator("alias")(other)
        return alias
    return _legacy("new", args, self.dtype, self.device)


def _check_legacy_device(expected: Device, where: Device | str | None) -> None:
    if as_device(where) != expected:
        raise RuntimeError(
            f"legacy constructor expects device type: {expected} "
            f"but device type: {as_device(where)} was passed"
        )


def _legacy(function: str, args: tuple[Any, ...], target: DType, place: Device) -> Tensor:
    """An uninitialised tensor of sizes, or one that holds data, or all of a storage."""
    from .pickling import rebuild_tensor

    args = tuple([bytes_of(function, value, target) for value in args])
    sizes = args[0] if len(args) == 1 and type(args[0]).__name__ == "Size" else args
    if all([isinstance(size, (int, np.integer, TensorBase)) for size in sizes]) and not (
        len(args) == 1 and args[0] is True
    ):
        return _uninitialised(tuple(map(index, sizes)) if args else (0,), target, place)
    if len(args) > 1:
        came = ", ".join(type(value).__name__ for value in args)
        raise TypeError(f"{function}() takes sizes, or one sequence of data, but got ({came})")
    if isinstance(args[0], UntypedStorage):
        if args[0].device != place:
            raise RuntimeError(
                f"{function}(): expected a storage on {place}, but got one on {args[0].device}"
            )
        count = args[0].nbytes() // target.itemsize
        return rebuild_tensor(args[0], target, 0, (count,), (1,), False)
    if isinstance(args[0], str):
        raise TypeError("new(): invalid data type 'str'")
    if isinstance(args[0], (float, complex, dict)) or not hasattr(args[0], "__len__"):
        raise TypeError(f"new(): data must be a sequence (got {type(args[0]).__name__})")
    return _copied(args[0], target, place)


def _uninitialised(sizes: tuple[int, ...], target: DType, place: Device) -> Tensor:
    negative = [size for size in sizes if size < 0]
    if negative:
        raise RuntimeError(f"Trying to create tensor with negative dimension {negative[0]}: {list(sizes)}")
    T = type_of(target, place)
    return T.wrap(unwritten(T.backend.lib.empty(sizes, T.dtype)))


# -- what they have in common


def wrap_array(array: Array, scalar_type: DType, where: Device | str | None = None) -> Tensor:
    """A tensor over a NumPy array of the scalar type, on the default device unless told."""
    T = type_of(scalar_type, as_device(where))
    return T.wrap(T.backend.lib.from_numpy(array))


def _leaf(made: Tensor, requires_grad: bool) -> Tensor:
    if not requires_grad:
        return made
    if not made.dtype.is_inexact:
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    made.requires_grad = True
    return made


def _copied(data: Any, wanted: DType | None, where: Device | str | None) -> Tensor:
    """A new tensor without history, of ``data`` in the wanted type and place."""
    if isinstance(data, TensorBase):
        source: Any = data
        copied: Tensor = source.detach().clone()
        where = asked_device(where)
        return copied.to(copied.device if where is None else as_device(where), wanted or copied.dtype)
    array = _foreign_array(data)
    if array is None:
        array, target = array_of(data, wanted)
        return wrap_array(array, target, where)
    found = checked_array_dtype(array.dtype)
    if array.ndim and min(array.strides) < 0:
        _check_layout(array)
    target = wanted or found
    converted = cast(array, target.array_dtype)
    return wrap_array(copy_array(array) if converted is array else converted, target, where)


def _aliased(data: Any, wanted: DType | None, where: Device | str | None) -> Tensor:
    """``data`` as a tensor in the wanted type and place, itself or shared where possible."""
    source = _shareable(data)
    if source is None:
        return _copied(data, wanted, where)
    where = asked_device(where)
    if wanted is None or wanted is source.dtype:
        if where is None or as_device(where) == source.device:
            return source
        return source.to(as_device(where))
    return source.to(source.device if where is None else as_device(where), wanted)


def _shareable(data: Any) -> Tensor | None:
    """The tensor that ``data`` is, or one that shares its memory; None when it has no memory to share."""
    if isinstance(data, TensorBase):
        found: Any = data
        itself: Tensor = found
        return itself
    array = _foreign_array(data)
    if array is not None:
        return hold(from_array(array))
    if type(data).__name__ == "PyCapsule":  # what ``__dlpack__`` gives
        from .interop import from_dlpack

        return from_dlpack(data)
    return None


def _foreign_array(data: Any) -> Array | None:
    """``data`` as a NumPy array, when it is an array of some library; None when it is not."""
    if isinstance(data, np.ndarray):
        return np.asarray(data)
    if isinstance(data, (list, tuple, int, float, complex, str, type, np.generic)):
        return None
    if hasattr(data, "__array__") or hasattr(data, "__array_interface__"):
        return np.asarray(data)
    if hasattr(data, "__dlpack__"):
        return np.from_dlpack(data)
    return None


def _check_layout(array: Array) -> None:
    """ValueError for strides that tensors do not have."""
    if any(stride % array.itemsize for stride in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. "
            "Copy the numpy array to reallocate the memory."
        )
    if any(stride < 0 for stride in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides "
            "are not currently supported. (You can probably work around this by making a copy of your array "
            " with array.copy().) "
        )


def _warn_read_only(what: str) -> None:
    warnings.warn(
        f"The given {what} is not writable, and neither is the tensor made of it: in-place operators on it "
        "will fail. You may want to copy the array to protect its data or make it writable.",
        UserWarning,
        stacklevel=program_stacklevel(),
    )


def _qualified(cls: type) -> str:
    return cls.__name__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__name__}"


def _scalar_type(function: str, value: Any) -> DType | None:
    """The argument ``dtype``: a scalar type, or Python's bool, int, float or complex."""
    if value is None or isinstance(value, DType):
        return value
    try:
        return DType.of_python(value)
    except (KeyError, TypeError):
        raise TypeError(
            f"{function}(): argument 'dtype' must be tengen.dtype, not {type(value).__name__}"
        ) from None


def check_options(function: str, requires_grad: Any, pin_memory: Any = False, pins: bool = True) -> None:
    """TypeError for options that are no bools, RuntimeError for ``pin_memory`` where that ``pins`` memory."""
    if not isinstance(requires_grad, bool):
        raise TypeError(
            f"{function}(): argument 'requires_grad' must be bool, not {type(requires_grad).__name__}"
        )
    if not isinstance(pin_memory, bool):
        raise TypeError(f"{function}(): argument 'pin_memory' must be bool, not {type(pin_memory).__name__}")
    if pin_memory and pins:
        raise RuntimeError("pin_memory=True needs a backend with pinned memory; there is none")
