"""The classes of tensors of one dtype: ``tengen.FloatTensor``, ``tengen.sparse.FloatTensor`` and their like.

They are PyTorch's from before dtypes were. No tensor is made of such a class; it constructs tensors, is what
``isinstance`` asks, and names a type for ``Tensor.type`` and ``set_default_tensor_type``.
"""

from __future__ import annotations

import builtins
import warnings
from typing import Any

from tengen.generated.functions import empty

from ..core.device import DEVICES, UNSERVED, default_device, device as Device
from ..core.memory_format import layout as Layout, sparse_coo, strided
from ..core.scalar_type import dtype as DType, set_default_dtype
from ..core.user_stack import program_stacklevel
from .tensor import Tensor

_made: dict[tuple[str, Layout, str], TensorType] = {}


class TensorType(type):
    """The class of these classes: each has a dtype, a kind of device and a layout."""

    dtype: DType
    layout: Layout
    place: str

    def __new__(mcls, name: str, place: str, kind: Layout) -> TensorType:
        module = _module(place, kind)
        made = super().__new__(mcls, name, (), {"__module__": module, "__doc__": _doc(module, name)})
        made.place, made.layout = place, kind
        made.dtype = DType.registry[name.removesuffix("Tensor")]
        return made

    def __init__(cls, *_: Any) -> None:
        super().__init__(cls)

    @property
    def is_cuda(cls) -> bool:
        """Whether its tensors are in the memory of a CUDA device."""
        return cls.place == "cuda"

    @property
    def is_sparse(cls) -> bool:
        """Whether its tensors are in coordinate format."""
        return cls.layout is sparse_coo

    def __call__(cls, *args: Any, device: Device | str | None = None, **keywords: Any) -> Tensor:
        """A tensor of these sizes, or of this data: as ``Tensor(*args)``, of the class's dtype.

        TypeError where its devices are not available, and for other arguments.
        """
        cls.check_available()
        if cls.is_sparse:
            return _sparse(cls.dtype, args)
        from .creation import legacy_new

        return legacy_new(empty(0, dtype=cls.dtype, device=cls.place), args, device, keywords)

    def __instancecheck__(cls, value: object) -> builtins.bool:
        return (
            isinstance(value, Tensor)
            and value.dtype is cls.dtype
            and value.device.type == cls.place
            and value.layout is cls.layout
        )

    def check_available(cls) -> None:
        """TypeError where no tensor of its device can be made."""
        from ..dispatch.legacy_type_dispatch import MissingLibrary, UnservedDevice, backend_of_device

        try:
            backend_of_device(Device(cls.place))
        except (MissingLibrary, UnservedDevice) as error:
            name = f"{cls.__module__}.{cls.__name__}"
            raise TypeError(f"type {name} not available. {error}") from None

    def convert(cls, tensor: Tensor) -> Tensor:
        """The tensor as one of this class; itself if it is one."""
        made = tensor.to(device=cls.place if tensor.device.type != cls.place else None, dtype=cls.dtype)
        if made.layout is not cls.layout:
            made = made.to_sparse() if cls.is_sparse else made.to_dense()
        return made


def _module(place: str, kind: Layout) -> str:
    on = "" if place == default_device.type else f".{place}"
    return f"tengen{on}{'' if kind is strided else '.sparse'}"


def _doc(module: str, name: str) -> str:
    return f"The tensors whose type is called {module}.{name}, for ``isinstance``; called, it makes one."


def _sparse(dtype: DType, args: tuple[Any, ...]) -> Tensor:
    """As PyTorch's: of indices, values and perhaps a size, or without elements, of sizes."""
    from .sparse_creation import sparse_coo_tensor

    if args and isinstance(args[0], Tensor):
        return sparse_coo_tensor(*args, dtype=dtype)
    sizes = args[0] if len(args) == 1 and isinstance(args[0], (tuple, list)) else args
    size = tuple(sizes) or (0,)
    indices = empty(len(size), 0, dtype=DType.registry["int64"])
    return sparse_coo_tensor(indices, empty(0, dtype=dtype), size)


def _names_dtype(name: str) -> builtins.bool:
    return name.endswith("Tensor") and name.removesuffix("Tensor") in DType.registry


def typed_class(name: str, place: str | None = None, kind: Layout = strided) -> TensorType:
    """The class of this name, of tensors on a kind of device in a layout. KeyError for no dtype's name."""
    place = default_device.type if place is None else place
    found = _made.get((name, kind, place))
    if found is None:
        if not _names_dtype(name):
            raise KeyError(name)
        found = _made[name, kind, place] = TensorType(name, place, kind)
    return found


def class_named(name: Any) -> TensorType:
    """The class that is meant: itself, "tengen.FloatTensor", or as PyTorch has it, "torch.FloatTensor".

    ``Tensor`` is the class of the default dtype. ValueError for what is none.
    """
    if isinstance(name, TensorType):
        return name
    from ..core.scalar_type import get_default_dtype

    if name is Tensor:
        return typed_class(f"{get_default_dtype().type_name}Tensor")
    *packages, kind = name.split(".") if isinstance(name, str) else ("",)
    package, *where = packages or [""]
    layout = strided
    if where and where[-1] == "sparse":
        layout, where = sparse_coo, where[:-1]
    known = len(where) < 2 and all([place in DEVICES or place in UNSERVED for place in where])
    if package in ("tengen", "torch") and known and _names_dtype(kind):
        return typed_class(kind, where[0] if where else None, layout)
    raise ValueError(f"invalid type: {name!r}")


def set_default_tensor_type(t: Any, /) -> None:
    """Make tensors of a type's dtype, on its device, where neither is said; ``set_default_dtype`` is newer.

    A UserWarning says so. ``t`` is a class as ``tengen.DoubleTensor``, or its name. TypeError for a dtype
    that is not floating-point, and where its devices are not available; ValueError for no type's name.
    """
    warnings.warn(
        "tengen.set_default_tensor_type() is deprecated, please use tengen.set_default_dtype() and "
        "tengen.set_default_device() as alternatives.",
        UserWarning,
        stacklevel=program_stacklevel(),
    )
    chosen = class_named(t)
    chosen.check_available()
    if not chosen.dtype.is_floating_point or chosen.is_sparse:
        raise TypeError("only floating-point types are supported as the default type")
    set_default_dtype(chosen.dtype)
    from ..core.device import set_default_device

    set_default_device(chosen.place)
