"""Arguments cut up for several devices, and outputs put together: tensors inside of collections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tengen.generated.functions import cat

from ...core.device import default_device, device as Device
from ...tensors.tensor import Tensor
from ...utils.pytree import tree_flatten, tree_unflatten
from . import comm

Place = int | str | Device

__all__ = ["gather", "scatter", "scatter_kwargs"]


def __dir__() -> list[str]:
    return sorted(__all__)


def device_of(place: Place) -> Device:
    """The device: a number is one of the GPUs, and -1 the CPU."""
    return default_device if place == -1 else Device(place)


def scatter(inputs: Any, target_gpus: Sequence[Place], dim: int = 0) -> list[Any]:
    """A copy of ``inputs`` for each device that gets a part of every tensor in it; one if there is no tensor.

    Tensors are cut along ``dim``, also in tuples, lists and dicts; all else is the same in each copy.
    """
    places = [device_of(place) for place in target_gpus]
    leaves, structure = tree_flatten(inputs)
    cut = [comm.scatter(leaf, places, dim=dim) if isinstance(leaf, Tensor) else None for leaf in leaves]
    count = min((len(parts) for parts in cut if parts is not None), default=1)
    return [
        tree_unflatten(
            [leaf if parts is None else parts[number] for leaf, parts in zip(leaves, cut, strict=True)],
            structure,
        )
        for number in range(count)
    ]


def scatter_kwargs(
    inputs: tuple[Any, ...], kwargs: dict[str, Any] | None, target_gpus: Sequence[Place], dim: int = 0
) -> tuple[tuple[Any, ...], tuple[dict[str, Any], ...]]:
    """For each device the arguments and the keywords, as ``scatter`` cuts them."""
    parts = scatter((inputs, kwargs or {}), target_gpus, dim)
    return tuple(args for args, _ in parts), tuple(keywords for _, keywords in parts)


def gather(outputs: Sequence[Any], target_device: Place, dim: int = 0) -> Any:
    """Outputs of one structure as one: tensors are put together along ``dim``, else it is the first."""
    place = device_of(target_device)
    flat = [tree_flatten(value) for value in outputs]
    leaves = [_joined(parts, place, dim) for parts in zip(*(found for found, _ in flat), strict=True)]
    return tree_unflatten(leaves, flat[0][1])


def _joined(parts: Sequence[Any], place: Device, dim: int) -> Any:
    if not isinstance(parts[0], Tensor):
        return parts[0]
    moved = [part.to(place) for part in parts]
    if len(moved) == 1:
        return moved[0]
    return cat([part.reshape(1) if part.dim() == 0 else part for part in moved], dim)
