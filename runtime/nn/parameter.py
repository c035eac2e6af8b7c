"""Parameters and buffers of modules, and those whose shape is not known yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tengen.generated.functions import empty

from ..core.device import device as Device
from ..core.scalar_type import dtype as DType
from ..tensors.parameter import Buffer as Buffer, Parameter as Parameter
from ..tensors.tensor import Tensor

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class UninitializedTensorMixin:
    """What parameters and buffers have in common whose shape nobody knows yet.

    Most functions and methods raise ValueError for them, and their shape is a RuntimeError, until
    ``materialize`` makes plain ones of them.
    """

    __slots__ = ()
    #: The class that an instance has once it has a shape.
    cls_to_become: ClassVar[type[Any]]

    _allowed_methods: ClassVar[list[Callable[..., Any]]] = [
        Tensor.__hash__,
        Tensor.size,
        Tensor.copy_,
        Tensor.is_complex,
        Tensor.is_floating_point,
        Tensor.half,
        Tensor.float,
        Tensor.double,
        Tensor.char,
        Tensor.short,
        Tensor.int,
        Tensor.long,
        Tensor.cpu,
        Tensor.to,
        Tensor.get_device,
    ]

    def materialize(
        self: Any, shape: Sequence[int], device: Device | str | None = None, dtype: DType | None = None
    ) -> None:
        """Become a Parameter, or a plain tensor, of the shape, whose elements are not set.

        Dtype and device are those that it was made with if none are given.
        """
        data = self.data
        self.data = empty(shape, device=device or data.device, dtype=dtype or data.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """There is none: RuntimeError."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call "
            "`forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """There is nothing to share: RuntimeError."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the "
            "parameters before calling `module.share_memory()`."
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return type(self), (self.requires_grad,)

    @classmethod
    def __tengen_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        # What reads and sets attributes is a method of a property.
        if func in cls._allowed_methods or type(func).__name__ == "method-wrapper":
            above: Any = super()
            return above.__tengen_function__(func, types, args, kwargs or {})
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you are using a "
            f"`LazyModule` or explicitly manipulating `tengen.nn.parameter.{cls.__name__}` objects. "
            "When using LazyModules Call `forward` with a dummy batch to initialize the parameters before "
            "calling tengen functions"
        )


def is_lazy(param: Any) -> bool:
    """Whether it is a parameter or buffer without a shape."""
    return isinstance(param, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin, Parameter):  # type: ignore[misc]
    """A parameter whose shape is not known yet: ``materialize(shape)`` makes it a Parameter."""

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device | str | None = None, dtype: DType | None = None
    ) -> Any:
        return Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            data = self.data
            memo[id(self)] = type(self)(self.requires_grad, data.device, data.dtype)
        return memo[id(self)]


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet: ``materialize(shape)`` makes it a plain tensor."""

    __slots__ = ()
    cls_to_become = Tensor

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        persistent: bool = True,
    ) -> Any:
        made: Any = Tensor._make_subclass(cls, empty(0, device=device, dtype=dtype), requires_grad)
        made.persistent = persistent
        made._is_buffer = True
        return made
