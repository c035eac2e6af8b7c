"""States of the generators of those GPUs that a checkpoint's arguments are on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.tensor_base import TensorBase
from ..tensors.tensor import Tensor
from ..utils.pytree import tree_leaves
from . import get_rng_state, set_rng_state

__all__ = ["get_device_states", "set_device_states"]


def get_device_states(*args: Any) -> tuple[list[int], list[TensorBase]]:
    """The numbers of the GPUs that tensors in the arguments are on, and the states of their generators.

    Trees of containers are searched. Both lists are empty where all tensors are on the CPU or on meta.
    """
    devices = {leaf.device for leaf in tree_leaves(args) if isinstance(leaf, Tensor)}
    numbers = sorted({d.index or 0 for d in devices if d.type == "cuda"})
    return numbers, [get_rng_state(number) for number in numbers]


def set_device_states(
    devices: Sequence[int], states: Sequence[TensorBase], *, device_type: str | None = None
) -> None:
    """Put the generators of GPUs into the states that ``get_device_states`` gave, one for each.

    RuntimeError for a ``device_type`` other than "cuda", "meta", where nothing happens, and None.
    """
    if device_type not in (None, "cuda", "meta"):
        raise RuntimeError(
            f"set_device_states: expected device_type to be 'cuda' or 'meta', got {device_type!r}: no other "
            "device has generators"
        )
    if device_type != "meta":
        for number, state in zip(devices, states, strict=False):
            set_rng_state(state, number)
