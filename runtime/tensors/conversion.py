"""Tensors as Python's numbers, as NumPy's arrays, as DLPack capsules."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from numpy import ndarray

from ..autograd.grad_mode import grad_mode
from ..core.array_namespace import array_namespace
from ..core.held_memory import held_owners, hold_memory
from ..core.interception import active, notify_conversion
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np

    from ..core.device import device as Device
    from .tensor import Tensor


class TensorConversion(TensorBase):
    """The part of Tensor that hands its elements to others."""

    __slots__ = ()

    # -- Python's numbers

    def item(self) -> Any:
        """The one element as a Python number. RuntimeError when there is not exactly one."""
        array = self._array
        if array.size != 1:
            raise RuntimeError(f"a Tensor with {array.size} elements cannot be converted to Scalar")
        if active:
            notify_conversion(self, "Python number")
        return self._type.backend.lib.item(array)

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers; of a 0-d tensor, the number."""
        if active:
            notify_conversion(self, "Python list")
        return self._type.backend.lib.to_numpy(self._array).tolist()

    def is_nonzero(self) -> bool:
        """Whether the one element is not zero. RuntimeError when there is not exactly one."""
        return bool(self)

    def __bool__(self) -> bool:
        size = self._array.size
        if size != 1:
            problem = "with more than one value" if size else "with no values"
            raise RuntimeError(f"Boolean value of Tensor {problem} is ambiguous")
        if active:
            notify_conversion(self, "Python boolean")
        return bool(self._type.backend.lib.item(self._array))

    def __float__(self) -> float:
        return float(self._real_number("double", "Python float"))

    def __int__(self) -> int:
        return int(self._real_number("int64_t", "Python integer"))

    def __complex__(self) -> complex:
        return complex(self._number("Python complex"))

    def __index__(self) -> int:
        if self._array.size != 1 or self._type.scalar_type.category not in ("bool", "integral", "unsigned"):
            raise TypeError("only integer tensors of a single element can be converted to an index")
        if active:
            notify_conversion(self, "Python index")
        return int(self._type.backend.lib.item(self._array))

    def _number(self, what: str) -> Any:
        if self._array.size != 1:
            raise ValueError("only one element tensors can be converted to Python scalars")
        if self._requires_grad:
            warnings.warn(
                "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
                "Consider using tensor.detach() first.",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        if active:
            notify_conversion(self, what)
        return self._type.backend.lib.item(self._array)

    def _real_number(self, wanted: str, what: str) -> bool | int | float:
        number = self._number(what)
        if isinstance(number, complex):
            if number.imag:
                raise RuntimeError(f"value cannot be converted to type {wanted} without overflow")
            return number.real
        real: bool | int | float = number
        return real

    # -- NumPy's arrays

    #: Makes ``array * tensor`` ask the tensor first.
    __array_priority__ = 1000

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array that shares the tensor's memory.

        RuntimeError when the tensor requires grad and recording is on, TypeError when its memory is not
        NumPy's to see; with ``force=True`` it is detached and copied to the CPU instead.
        """
        if active:
            notify_conversion(self, "NumPy array")
        if force.__class__ is not bool:
            raise TypeError(f"numpy(): argument 'force' must be bool, not {type(force).__name__}")
        array: np.ndarray[Any, Any] = self._array
        is_shared = array.__class__ is ndarray
        if not is_shared:
            array = self._numpy_copy(force)
        if self._requires_grad and grad_mode.enabled and not force:
            raise RuntimeError(
                "Can't call numpy() on Tensor that requires grad. Use tensor.detach().numpy() instead."
            )
        if is_shared and (array.base is not None or id(array) not in held_owners):
            hold_memory(array)
        return array.view()  # not the tensor's own: its shape may be assigned to

    def _numpy_copy(self, force: bool) -> np.ndarray[Any, Any]:
        backend = self._type.backend
        try:
            array: np.ndarray[Any, Any] = backend.lib.to_numpy(self._array)
        except NotImplementedError:
            if force:
                raise
            raise TypeError(
                f"can't convert {backend.device.type} device type tensor to numpy. Use Tensor.cpu() to copy "
                "the tensor to host memory first."
            ) from None
        return array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and array.dtype != dtype:
            if copy is False:
                raise ValueError(f"a copy is needed to convert {self._type.scalar_type} to {dtype}")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        from .interop import from_result_array

        return from_result_array(array)

    # -- the array API standard

    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The array API standard: ``tengen.array_api``. ValueError for an unknown version."""
        return array_namespace(api_version)

    def to_device(self, device: Device | str, /, *, stream: Any = None) -> Tensor:
        """The tensor on another device, as the array API standard has it; itself if it is there.

        ValueError for a stream: devices have none here.
        """
        if stream is not None:
            raise ValueError(f"to_device(): stream must be None, not {type(stream).__name__}")
        moved: Tensor = self.to(device)  # type: ignore[attr-defined]
        return moved

    # -- DLPack

    def __dlpack_device__(self) -> tuple[int, int]:
        from .interop import dlpack_device

        return dlpack_device(self)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule over the tensor's memory.

        BufferError when the tensor requires grad or cannot be exported.
        """
        from .interop import to_capsule

        return to_capsule(self, stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    # -- copies

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        from .pickling import reduce_tensor

        return reduce_tensor(self)

    def __setstate__(self, state: Any) -> None:
        """Take over what old pickles have of a tensor; RuntimeError for one that was computed.

        ``state`` is (storage, offset, size, stride); (data, ..., hooks, requires_grad, ...), of five; or
        (requires_grad, ..., hooks). Hooks are not pickled.
        """
        from .pickling import set_tensor_state

        set_tensor_state(self, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        """A copy with memory of its own. RuntimeError for what was computed from a leaf."""
        from .pickling import deepcopy_tensor

        return deepcopy_tensor(self, memo)

    # -- text

    def __format__(self, spec: str) -> str:
        from .tensor import Tensor

        if self._array.ndim == 0 and type(self) is Tensor and not self.is_meta:
            text: str = self.item().__format__(spec)
            return text
        return object.__format__(self, spec)

    def __repr__(self) -> str:
        from .printing import tensor_str

        return tensor_str(self)

    def _repr_html_(self) -> str | None:
        """What notebooks show: shape, dtype, device and part in a graph, above the elements.

        None, for which they show ``repr``, where a subclass has a ``__repr__`` of its own.
        """
        from .printing import tensor_html
        from .tensor import Tensor

        return tensor_html(self) if type(self).__repr__ is Tensor.__repr__ else None

    if TYPE_CHECKING:

        @property
        def is_meta(self) -> bool: ...
