"""Tensor: the handle that a user holds.

Its operators are generated (``TensorMethods``), its part in graphs is ``AutogradProperties``;
here are the rest and the assembly.
"""

from __future__ import annotations

import builtins
import math
import warnings
from collections.abc import Callable, Iterator
from numbers import Number
from typing import Any, Self, TypeVar

from tengen.generated.tensor_methods import TensorMethods

from ..autograd.view import adopt_view
from ..autograd.writes import share
from ..core.device import device as Device
from ..core.function_dispatch import plain, without_overrides
from ..core.scalar_type import dtype as DType
from ..core.storage import storage_of
from ..core.tensor_base import define_tensor
from ..core.user_stack import program_stacklevel
from ..dispatch.binding_support import MISSING
from ..dispatch.operator import operator
from .autograd_properties import AutogradProperties
from .casts import TensorCasts
from .conversion import TensorConversion
from .description import TensorDescription
from .indexing import delitem, getitem, run_operator, setitem
from .metaclass import TensorMeta

_T = TypeVar("_T", bound="Tensor")
_new = object.__new__


class Tensor(
    TensorDescription, TensorConversion, TensorCasts, AutogradProperties, TensorMethods, metaclass=TensorMeta
):
    """An n-dimensional array of numbers of one type that gradients can flow through.

    ``Tensor(2, 3)`` is uninitialised, ``Tensor([1, 2])`` holds the data, both of the default
    scalar type, as in PyTorch; ``tengen.tensor`` is what to use.
    """

    __module__ = "tengen"
    __slots__ = ()

    def __new__(cls, *args: Any, device: Device | str | None = None) -> Tensor:
        from .creation import legacy_tensor

        return make_subclass(cls, legacy_tensor(args, device))

    __hash__ = object.__hash__

    # -- the container

    __getitem__ = getitem
    __setitem__ = setitem
    __delitem__ = delitem

    def __len__(self) -> int:
        """The size of the first dimension. TypeError when there is none."""
        shape: tuple[int, ...] = self._array.shape
        if not shape:
            raise TypeError("len() of a 0-d tensor")
        return shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        """The slices along the first dimension. TypeError when there is none."""
        if not self._array.shape:
            raise TypeError("iteration over a 0-d tensor")
        return iter(self.unbind(0))

    def __reversed__(self) -> Tensor:
        """The tensor with its first dimension reversed."""
        return self.flip(0) if self._array.shape else self

    def __contains__(self, element: object) -> bool:
        """Whether an element equals the number, or the tensor broadcast to this one's shape."""
        if isinstance(element, (Tensor, Number)):
            return bool(self.eq(element).any())  # type: ignore[arg-type]
        raise RuntimeError(
            f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}."
        )

    def __dir__(self) -> list[str]:
        return sorted({*dir(type(self)), *self.__dict__})

    #: PyTorch's name for it, from the days of Python 2.
    __rdiv__ = TensorMethods.__rtruediv__

    # -- transposition

    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions reversed; deprecated, as in PyTorch, but for matrices."""
        ndim = self._array.ndim
        if ndim == 0:
            _warn("Tensor.T is deprecated on 0-D tensors. This function is the identity in these cases.")
        elif ndim != 2:
            _warn(
                "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated "
                "and it will throw an error in a future release. Consider `x.mT` to transpose batches of "
                "matrices or `x.permute(*torch.arange(x.ndim - 1, -1, -1))` to reverse the dimensions of a "
                "tensor.".replace("torch", "tengen")
            )
        return self.permute(tuple(range(ndim - 1, -1, -1)))

    @property
    def mT(self) -> Tensor:
        """The last two dimensions exchanged. RuntimeError for a 1-d tensor."""
        return self._matrix_transpose("mT")

    @property
    def H(self) -> Tensor:
        """The conjugate transpose of a matrix. RuntimeError for a tensor that is none."""
        ndim = self._array.ndim
        if ndim == 0:
            _warn("Tensor.H is deprecated on 0-D tensors. Consider using x.conj().")
            return self.conj()
        if ndim != 2:
            raise RuntimeError(
                f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor."
                + (" For batches of matrices, consider using tensor.mH" if ndim > 2 else "")
            )
        return self.transpose(0, 1).conj()

    @property
    def mH(self) -> Tensor:
        """The conjugate transpose of the last two dimensions. RuntimeError for a 1-d tensor."""
        return self._matrix_transpose("mH").conj()

    def adjoint(self) -> Tensor:
        """The conjugate transpose of the last two dimensions."""
        return self._matrix_transpose("adjoint()").conj()

    def _matrix_transpose(self, name: str) -> Tensor:
        ndim = self._array.ndim
        if ndim == 0:
            _warn(
                f"Tensor.{name} is deprecated on 0-D tensors. This function is the identity in these cases."
            )
            return self
        if ndim == 1:
            raise RuntimeError(
                f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor."
            )
        return self.transpose(-2, -1)

    # -- the parts of complex numbers

    @property
    def real(self) -> Tensor:
        """The real parts, a view; of a real tensor itself. Assignment writes into them."""
        return run_operator(self, "real")

    @real.setter
    def real(self, values: Tensor | Number) -> None:
        self.real[...] = values

    @property
    def imag(self) -> Tensor:
        """The imaginary parts, a view. RuntimeError for a real tensor. Assignment writes into them."""
        return run_operator(self, "imag")

    @imag.setter
    def imag(self, values: Tensor | Number) -> None:
        self.imag[...] = values

    # -- other types and places

    def type(self, dtype: DType | str | None = None, non_blocking: bool = False) -> Any:
        """The name of the tensor's type ("tengen.FloatTensor"), or the tensor cast to another one.

        ``dtype`` is a scalar type, a class as ``tengen.DoubleTensor``, or the name of one, also as PyTorch
        has it ("torch.DoubleTensor"); ValueError for a name that is none.
        """
        if dtype is None:
            return self._type_string()
        if isinstance(dtype, DType):
            return self.to(dtype, non_blocking=non_blocking)
        from .typed_classes import class_named

        return class_named(dtype).convert(self)

    def cpu(self) -> Tensor:
        """The tensor on the CPU: itself if it is there."""
        return self.to("cpu")

    def cuda(
        self,
        device: Device | str | int | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """The tensor on a CUDA device, the current one by default: itself if it is there.

        AssertionError where there is none, RuntimeError for a device of another kind.
        """
        return self._on("cuda", device, memory_format)

    def xpu(
        self,
        device: Device | str | int | None = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        """AssertionError: no backend has Intel's devices."""
        return self._on("xpu", device, memory_format)

    def _on(self, kind: str, device: Device | str | int | None, memory_format: Any) -> Tensor:
        where = Device(kind, device if isinstance(device, builtins.int) else None)
        if isinstance(device, (str, Device)):
            where = Device(device)
        if where.type != kind:
            raise RuntimeError(f"Invalid device, must be {kind} device")
        return self.to(where) if memory_format is None else self.to(where, memory_format=memory_format)

    def new_tensor(
        self,
        data: Any,
        *,
        dtype: DType | None = None,
        device: Device | str | None = None,
        requires_grad: bool = False,
    ) -> Tensor:
        """A new leaf made of ``data``, by default of this tensor's scalar type and device."""
        from .creation import new_tensor

        return new_tensor(self, data, dtype, device, requires_grad)

    def new(self, *args: Any, device: Device | str | None = None, **keywords: Any) -> Tensor:
        """An uninitialised tensor of these sizes, or one of the data, of this tensor's dtype and device.

        ``args`` are sizes, one sequence of data, a storage, or a tensor, of which it is a view. ``size``,
        ``data``, ``storage`` and ``other`` are the words for these. TypeError for anything else, RuntimeError
        for another device. ``new_empty`` and ``new_tensor`` say which is meant.
        """
        from .creation import legacy_new

        return legacy_new(self, args, device, keywords)

    def module_load(self, other: Tensor, assign: bool = False) -> Tensor:
        """``other``, detached, if ``assign``, else this tensor, detached, with the elements of ``other``."""
        return (other if assign else self.copy_(other)).detach()

    # -- other memory, other shapes

    def set_(
        self, source: Any = MISSING, storage_offset: Any = MISSING, size: Any = MISSING, stride: Any = ()
    ) -> Self:
        """Make this tensor a window of other memory, which it shares from then on, and return it.

        ``source`` is a tensor, whose window it takes, a storage, of which it takes all, or nothing, for a
        tensor without elements. With ``storage_offset`` and ``size`` it is such a window of the memory, of a
        tensor, which must be contiguous, from its first element on; ``stride`` is that of a contiguous tensor
        if not given. TypeError for other arguments. RuntimeError for another dtype or device, for a window
        that the memory does not have, for a leaf that requires gradients, and under ``vmap``. There is no
        derivative.
        """
        from .set_ import set_memory

        set_memory(self, source, storage_offset, size, stride)
        return self

    def resize(self, *sizes: int) -> Tensor:
        """Deprecated for ``reshape``: the tensor in other sizes. RuntimeError for more or less elements."""
        _warn("non-inplace resize is deprecated")
        return self._resized(sizes)

    def resize_as(self, tensor: Tensor) -> Tensor:
        """Deprecated for ``reshape``: the tensor in the sizes of another. Errors as for ``resize``."""
        _warn("non-inplace resize_as is deprecated")
        return self._resized(tensor.shape)

    def _resized(self, sizes: Any) -> Tensor:
        if not all([isinstance(n, int) for n in sizes]) or math.prod(sizes) != self.numel():
            raise RuntimeError(
                f"requested resize to {'x'.join(map(str, sizes))}, but the given tensor has a size of "
                f"{'x'.join(map(str, self.shape))} ({self.numel()} elements). autograd's resize can only "
                "change the shape of a given tensor, while preserving the number of elements."
            )
        return self.contiguous().view(tuple(sizes))

    # -- Python functions of elements

    def apply_(self, callable: Callable[[Any], Any], /) -> Self:
        """Write ``callable(element)`` to each element, one after the other, and return the tensor.

        Elements are Python's numbers. RuntimeError for a tensor that requires gradients; what the function
        raises is raised, and leaves the elements as they were.
        """
        from .python_calls import call_for_each

        call_for_each("apply_", self, {}, callable)
        return self

    def map_(self, other: Tensor, callable: Callable[[Any, Any], Any]) -> Self:
        """Write ``callable(element, of_other)`` to each element, as ``apply_``.

        ``other`` has the same dtype, else TypeError, and is expanded to this tensor's shape.
        """
        from .python_calls import call_for_each

        call_for_each("map_", self, {"other": other}, callable)
        return self

    def map2_(self, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Self:
        """Write ``callable(element, of_x, of_y)`` to each element, as ``map_``."""
        from .python_calls import call_for_each

        call_for_each("map2_", self, {"x": x, "y": y}, callable)
        return self

    def as_subclass(self, cls: builtins.type[Tensor]) -> Tensor:
        """A view of the whole tensor that is an instance of ``cls``, a subclass of Tensor; differentiable.

        RuntimeError where ``cls`` is none.
        """
        if not (isinstance(cls, builtins.type) and issubclass(cls, Tensor)):
            raise RuntimeError(f"as_subclass(): {cls!r} is no subclass of Tensor")
        made: Tensor = adopt_view(operator("alias")(self), _new(cls))
        return made

    @classmethod
    def __tengen_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Call ``func``, which has an argument of this class, and return tensors as instances of the class.

        Subclasses may override it: see ``tengen.overrides``. NotImplemented when there is an argument of a
        class that this one does not derive from.
        """
        from .overridable import default_handler

        return default_handler(cls, func, types, args, kwargs)

    @staticmethod
    def _make_subclass(cls: builtins.type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
        """A leaf of class ``cls`` that shares the memory of ``data`` and not its history."""
        made = make_subclass(cls, data)
        if require_grad:
            made.requires_grad = True
        return made


plain.add(Tensor)
without_overrides.add(Tensor)
define_tensor(Tensor)


def make_subclass(cls: type[_T], data: Tensor) -> _T:
    """A new handle of class ``cls`` on the memory of ``data``, without its history."""
    made = _new(cls)
    made._array = data._array
    made._type = data._type
    made._requires_grad = False
    made._edge = made._base = made._meta = None
    made._storage = storage_of(data)
    if not data._type.backend.mutable:
        share(data, made)
    return made


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=program_stacklevel())
