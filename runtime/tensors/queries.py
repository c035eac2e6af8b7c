"""Methods of tensors that no operator is, as functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

from ..core.storage import ElementStorage, UntypedStorage
from ..core.tensor_base import TensorBase

if TYPE_CHECKING:
    from .tensor import Tensor


def is_tensor(obj: Any) -> TypeGuard[Tensor]:
    """Whether ``obj`` is a Tensor."""
    return isinstance(obj, TensorBase)


def is_storage(obj: Any) -> TypeGuard[UntypedStorage | ElementStorage]:
    """Whether ``obj`` is a tensor's storage, of bytes or of elements."""
    return isinstance(obj, (UntypedStorage, ElementStorage))


def is_floating_point(input: Tensor) -> bool:
    """Whether the elements are floating-point numbers. TypeError for what is no tensor."""
    return _tensor("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the elements are complex numbers. TypeError for what is no tensor."""
    return _tensor("is_complex", input).is_complex()


def is_signed(input: Tensor) -> bool:
    """Whether the dtype has negative numbers. TypeError for what is no tensor."""
    return _tensor("is_signed", input).is_signed()


def is_conj(input: Tensor) -> bool:
    """Whether the tensor is a conjugate that is not computed yet. TypeError for what is no tensor."""
    return _tensor("is_conj", input).is_conj()


def is_neg(input: Tensor) -> bool:
    """Whether the tensor is a negative that is not computed yet. TypeError for what is no tensor."""
    return _tensor("is_neg", input).is_neg()


def is_distributed(input: Tensor) -> bool:
    """Whether the elements are shared out among processes: never. TypeError for what is no tensor."""
    return _tensor("is_distributed", input).is_distributed()


def get_device(input: Tensor) -> int:
    """The index of the tensor's device, -1 for the CPU. TypeError for what is no tensor."""
    return _tensor("get_device", input).get_device()


def is_inference(input: Tensor) -> bool:
    """Whether the tensor was made in inference mode."""
    return _tensor("is_inference", input).is_inference()


def detach_(input: Tensor) -> Tensor:
    """``input`` itself, of the same shape and dtype, without history from now on.

    RuntimeError for a view; TypeError for what is no tensor.
    """
    return _tensor("detach_", input).detach_()


def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero. RuntimeError when there is not exactly one."""
    return _tensor("is_nonzero", input).is_nonzero()


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both tensors have the same shape."""
    return _tensor("is_same_size", input).is_same_size(_tensor("is_same_size", other))


def numel(input: Tensor) -> int:
    """The number of elements. TypeError for what is no tensor."""
    return _tensor("numel", input).numel()


def typename(obj: Any) -> str:
    """``tengen.FloatTensor`` for a tensor, else the qualified name of the object's class."""
    if isinstance(obj, TensorBase):
        return _tensor("typename", obj)._type_string()
    cls = type(obj)
    return cls.__name__ if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}.{cls.__name__}"


def _tensor(function: str, value: Any) -> Tensor:
    if isinstance(value, TensorBase):
        found: Any = value
        tensor: Tensor = found
        return tensor
    raise TypeError(f"{function}(): argument 'input' (position 1) must be Tensor, not {type(value).__name__}")
