"""Tensors cut up for several devices, put together again, and copied to all of them; differentiable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated.functions import cat

from ...core.device import default_device
from ...core.tensor_base import TensorBase

if TYPE_CHECKING:
    from ...core.device import device as Device
    from ...tensors.tensor import Tensor

__all__ = ["broadcast", "gather", "reduce_add", "scatter"]


def __dir__() -> list[str]:
    return sorted(__all__)


def scatter(
    tensor: Tensor,
    devices: Sequence[Device | str],
    chunk_sizes: Sequence[int] | None = None,
    dim: int = 0,
) -> tuple[Tensor, ...]:
    """The parts of ``tensor`` along ``dim``, one on each device; at most as many as there are elements.

    The parts are as large as ``chunk_sizes`` says, else of one size but for the last. Its gradient is
    put together from theirs. Raises ValueError without devices, or when the sizes do not fit.
    """
    _check("scatter", "tensor", tensor)
    places = _devices("scatter", devices)
    if chunk_sizes is None:
        parts = tensor.chunk(len(places), dim)
    else:
        if len(chunk_sizes) != len(places) or sum(chunk_sizes) != tensor.shape[dim]:
            raise ValueError(
                f"scatter(): chunk_sizes {list(chunk_sizes)} must have a size for each of {len(places)} "
                f"devices and sum up to {tensor.shape[dim]}, the size of dimension {dim}"
            )
        parts = tensor.split(list(chunk_sizes), dim)
    return tuple([part.to(place) for part, place in zip(parts, places, strict=False)])


def gather(tensors: Sequence[Tensor], dim: int = 0, destination: Device | str = default_device) -> Tensor:
    """The tensors one behind the other along ``dim``, on the device ``destination``; scalars as a vector.

    Each gets its part of the gradient. Raises ValueError for no tensors.
    """
    if not tensors:
        raise ValueError("gather(): expected at least one tensor")
    for tensor in tensors:
        _check("gather", "tensors", tensor)
    moved = [t.to(destination) for t in tensors]
    return cat([t.reshape(1) if t.ndim == 0 else t for t in moved], dim)


def broadcast(tensor: Tensor, devices: Sequence[Device | str]) -> tuple[Tensor, ...]:
    """A copy of ``tensor`` on each device; its gradient is the sum of theirs. ValueError without devices.

    Each has the shape and the dtype of ``tensor``.
    """
    _check("broadcast", "tensor", tensor)
    return tuple([tensor.clone().to(place) for place in _devices("broadcast", devices)])


def reduce_add(inputs: Sequence[Tensor], destination: Device | str = default_device) -> Tensor:
    """The sum of tensors of one shape, on the device ``destination``. ValueError for none or other shapes."""
    if not inputs:
        raise ValueError("reduce_add(): expected at least one tensor")
    for tensor in inputs:
        _check("reduce_add", "inputs", tensor)
        if tensor.shape != inputs[0].shape:
            raise ValueError(
                f"reduce_add(): the tensors must have one shape, but got {list(inputs[0].shape)} and "
                f"{list(tensor.shape)}"
            )
    total = inputs[0].clone().to(destination)
    for tensor in inputs[1:]:
        total = total + tensor.to(destination)
    return total


def _devices(function: str, devices: Sequence[Device | str]) -> list[Device | str]:
    found = list(devices)
    if not found:
        raise ValueError(f"{function}(): expected at least one device")
    return found


def _check(function: str, argument: str, value: Any) -> None:
    if not isinstance(value, TensorBase):
        raise TypeError(f"{function}(): {argument} must be Tensors, but got {type(value).__name__}")
