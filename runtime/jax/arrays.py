"""Tensors over arrays of JAX's, and where they are."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import jax

from ..array_libraries.jax import library
from ..autograd.grad_mode import grad_mode
from ..autograd.linear_maps import Placed, apply_linear
from ..core.device import device
from ..core.scalar_type import from_array_dtype
from ..core.tensor_base import TensorBase
from ..dispatch.legacy_type_dispatch import type_of

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

#: The device that the package is named after.
DEVICE = device(__package__.rpartition(".")[2])


def described(value: Any) -> str:
    """What a value is, for errors: its type, of a tensor with its device."""
    if isinstance(value, TensorBase):
        return f"a Tensor on {value._type.backend.device}"
    return f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")


def is_tensor(value: Any) -> bool:
    """Whether it is a tensor on ``jax``."""
    return isinstance(value, TensorBase) and bool(value._type.backend.device == DEVICE)


def _array(tensor: Any, function: str) -> Any:
    if not is_tensor(tensor):
        raise TypeError(
            f"{function}(): argument 'tensor' must be a Tensor on {DEVICE}, not {described(tensor)}"
        )
    return tensor._array


def wrapped(array: Any) -> Tensor:
    """A tensor over an array, without history."""
    made: Tensor = type_of(from_array_dtype(array.dtype), DEVICE).wrap(array)
    return made


def from_jax(array: Any) -> Tensor:
    """A tensor over a ``jax.Array``, or a tracer of one: the same memory, shape, dtype and sharding.

    TypeError for anything else, and for a dtype that tensors have not.
    """
    if not isinstance(array, jax.Array):
        raise TypeError(f"from_jax(): argument 'array' must be a jax.Array, not {described(array)}")
    if array.dtype not in library.dtypes.values():
        raise TypeError(f"from_jax(): argument 'array' has the dtype {array.dtype}, which tensors have not")
    return wrapped(array)


def to_jax(tensor: Tensor) -> Any:
    """The ``jax.Array`` of a tensor on ``jax``: the same memory.

    TypeError for a tensor of another device, RuntimeError for one that requires grad while recording is on.
    """
    array = _array(tensor, "to_jax")
    if tensor._requires_grad and grad_mode.enabled:
        raise RuntimeError("to_jax(): argument 'tensor' requires grad; use to_jax(tensor.detach()) instead")
    return array


def device_put(tensor: Tensor, sharding: Any) -> Tensor:
    """The same elements on a ``jax.Device``, or spread as a ``jax.sharding.Sharding`` says.

    Gradients flow through it. Under ``jit`` it says where an intermediate result shall be. TypeError for a
    tensor of another device (``tensor.to("jax", sharding=...)`` takes any), and for what is no place;
    ValueError for a sharding that does not fit the shape.
    """
    _array(tensor, "device_put")
    try:
        made: Tensor = apply_linear(Placed(tensor._type, partial(library.placed, sharding=sharding)), tensor)
    except (TypeError, ValueError) as error:
        raise type(error)(f"device_put(): {error}") from None
    return made


def sharding(tensor: Tensor) -> Any:
    """The ``jax.sharding.Sharding`` of a tensor. TypeError for a tensor of another device."""
    return _array(tensor, "sharding").sharding
