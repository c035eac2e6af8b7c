"""BatchedTensor: a tensor with a batch dimension that the function under ``vmap`` does not see.

``vmap`` calls a function once, with tensors that hide the batch dimension. Such a tensor wraps
a ``value`` of the level below, which has that dimension at ``bdim``; of arrays it has only a description,
of the shape that the function sees. The VmapLevel that made it, a layer, runs operators on the values.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from ..autograd.grad_mode import inside_transform
from ..core.function_dispatch import disabled_impl
from ..core.memory_format import contiguous_format
from ..kernels.meta.array import MetaArray
from ..tensors.held_slots import held_slot, read_slot
from ..tensors.tensor import Tensor

_new = object.__new__

_ESCAPED = (
    "Either your tensor may have escaped from inside a function being vmapped and this is a user error, or "
    "it is used in another thread than the one that runs the function."
)
_ITEM = (
    "vmap: It looks like you're calling .item() on a Tensor. We don't support vmap over calling .item() on a "
    "Tensor, please try to rewrite what you're doing with other operations."
)
_CONTROL_FLOW = (
    "vmap: It looks like you're attempting to use a Tensor in some data-dependent control flow. We don't "
    "support that yet."
)
#: Of ``backward()``, for the levels of all transforms.
BACKWARD_INSIDE = (
    "backward() called inside a functorch transform. This is not supported, please use functorch.grad or "
    "functorch.vjp instead or call backward() outside of functorch transforms."
)
_DATA = "accessing `data` under vmap transform is not allowed"
_NO_DATA = "Cannot access data pointer of Tensor that doesn't have storage"


class BatchLevel(Protocol):
    """What a BatchedTensor knows of its VmapLevel."""

    entered: bool
    level: int
    size: int

    def differentiated_inside(self) -> bool: ...


class BatchedTensor(Tensor):
    """A tensor of one vmap level. What it has of autograd is its value's."""

    __slots__ = ("_bdim", "_layer", "_value")

    _value: Any
    _bdim: int
    _layer: BatchLevel
    _wraps = True
    __tengen_function__ = disabled_impl  # layers see to it, not function overrides

    def __new__(cls, *args: Any, **keywords: Any) -> BatchedTensor:
        raise TypeError("a BatchedTensor is made by vmap alone")

    # -- what the slots of a tensor hold, of the value

    @property
    def _type(self) -> Any:
        if not self._layer.entered:
            raise RuntimeError(_ESCAPED)
        return self._value._type

    _requires_grad: Any = read_slot("_value._requires_grad")
    _edge: Any = read_slot("_value._edge")
    _base: Any = read_slot("_value._base")
    _storage: Any = held_slot("_value._storage")
    _meta: Any = held_slot("_value._meta")

    # -- what would need the elements

    def item(self) -> NoReturn:
        """RuntimeError: there is one number for each slice."""
        raise RuntimeError(_ITEM)

    def __bool__(self) -> NoReturn:
        raise RuntimeError(_CONTROL_FLOW)

    __float__ = __int__ = __complex__ = __index__ = item

    def tolist(self) -> NoReturn:
        """RuntimeError: the slices have no memory of their own."""
        raise RuntimeError(_NO_DATA)

    def numpy(self, *, force: bool = False) -> NoReturn:
        """RuntimeError: the slices have no memory of their own."""
        raise RuntimeError(_NO_DATA)

    def data_ptr(self) -> NoReturn:
        """RuntimeError: the slices have no memory of their own."""
        raise RuntimeError(_NO_DATA)

    def storage_offset(self) -> int:
        """The offset of the batch's first element, in elements from the start of the memory."""
        offset: int = self._value.storage_offset()
        return offset

    def untyped_storage(self) -> NoReturn:
        """NotImplementedError: the slices have no memory of their own."""
        raise NotImplementedError("Cannot access storage of BatchedTensor")

    def __deepcopy__(self, memo: Any) -> NoReturn:
        raise NotImplementedError("Cannot access storage of BatchedTensor")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise NotImplementedError("Cannot access storage of BatchedTensor")

    def is_contiguous(self, memory_format: Any = contiguous_format) -> bool:
        """Whether the elements of a slice lie in memory in the order of the indices, without gaps."""
        if memory_format is contiguous_format:
            return bool(self._array.is_contiguous)
        return super().is_contiguous(memory_format)

    # -- autograd

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to the value."""
        found: bool = self._requires_grad
        return found

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        self._value.requires_grad = value

    def requires_grad_(self, requires_grad: bool = True) -> NoReturn:
        """RuntimeError: a function that is transformed is differentiated by transforms."""
        raise RuntimeError(inside_transform("requires_grad_"))

    @property
    def data(self) -> Tensor:
        """The same slices without history, for transforms inside of the ``vmap`` that differentiate.

        Raises RuntimeError without one: the slices have no memory of their own.
        """
        if not self._layer.differentiated_inside():
            raise RuntimeError(_DATA)
        return wrap(self._value.data, self._bdim, self._layer)

    @data.setter
    def data(self, value: Any) -> None:
        raise RuntimeError("mutating directly with `.data` under vmap transform is not allowed")

    def backward(self, *args: Any, **keywords: Any) -> NoReturn:
        """RuntimeError: a function that is transformed is differentiated by transforms."""
        raise RuntimeError(BACKWARD_INSIDE)

    def detach(self) -> Tensor:
        """The same slices without history."""
        return wrap(self._value.detach(), self._bdim, self._layer)

    def detach_(self) -> Any:
        """Forget the history of the slices."""
        self._value.detach_()
        return self

    def retain_grad(self) -> None:
        """As for the value: see ``Tensor.retain_grad``."""
        self._value.retain_grad()

    # -- text

    def __repr__(self) -> str:
        inner = "\n".join("    " + line for line in repr(self._value).split("\n"))
        return f"BatchedTensor(lvl={self._layer.level}, bdim={self._bdim}, value=\n{inner}\n)"

    def __format__(self, spec: str) -> str:
        if self._array.ndim == 0:
            raise RuntimeError(_ITEM)
        return object.__format__(self, spec)


def wrap(value: Any, bdim: int, layer: BatchLevel) -> BatchedTensor:
    """``value`` with its dimension ``bdim`` hidden, as a tensor of the level ``layer``."""
    out = _new(BatchedTensor)
    out._value, out._bdim, out._layer = value, bdim, layer
    refresh_metadata(out)
    return out


def refresh_metadata(tensor: BatchedTensor) -> None:
    """Compute the logical shape and strides anew, after the value took another shape."""
    value, bdim = tensor._value, tensor._bdim
    array = value._array
    shape = tuple(array.shape)
    steps: tuple[int, ...] = value._type.backend.lib.strides(array)
    tensor._array = MetaArray(shape[:bdim] + shape[bdim + 1 :], array.dtype, steps[:bdim] + steps[bdim + 1 :])


def set_value(tensor: BatchedTensor, value: Any, bdim: int = 0) -> None:
    """Make ``tensor`` wrap another value."""
    tensor._value, tensor._bdim = value, bdim
    refresh_metadata(tensor)


def move_batch_dim_to_front(tensor: Any) -> Any:
    """The value of a BatchedTensor with the batch dimension first."""
    value = tensor._value
    return value if tensor._bdim == 0 else value.movedim(tensor._bdim, 0)


def is_batched_at(value: Any, layer: BatchLevel) -> bool:
    """Whether ``value`` is a BatchedTensor of this level."""
    return value.__class__ is BatchedTensor and value._layer is layer


def ensure_batch_dim(value: Any, layer: BatchLevel) -> Any:
    """The physical tensor, with the batch dimension first. What is not batched is expanded, as a view."""
    if is_batched_at(value, layer):
        return move_batch_dim_to_front(value)
    return value.expand((layer.size, *value._array.shape))


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The physical tensor that ``tensor`` wraps under ``vmap``, to look at it.

    Without ``recurse`` only the newest level is taken off. A tensor that hides nothing is returned as it is.
    What is computed with the result inside of the function that is transformed is undefined.

    It has the batch dimensions, too.
    """
    while tensor.__class__ is BatchedTensor:
        tensor = tensor._value
        if not recurse:
            break
    return tensor
