"""Lists of tensors, by device and dtype: what optimizers of others ask before they call ``_foreach_*``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ..core.device import device as Device
from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor

TensorListList = list[list[Tensor | None]]
Indices = list[int]
_foreach_supported_types = [Tensor]


def __dir__() -> list[str]:
    return []


def _get_foreach_kernels_supported_devices() -> list[str]:
    """The devices where PyTorch prefers ``_foreach_*`` to a loop."""
    return ["cuda", "xpu"]


def _get_fused_kernels_supported_devices() -> list[str]:
    """The devices where PyTorch has optimizers of one kernel; here ``fused=True`` is read and is a loop."""
    return ["mps", "cuda", "xpu", "hpu", "cpu", "mtia"]


def _device_has_foreach_support(device: Device) -> bool:
    return device.type in [*_get_foreach_kernels_supported_devices(), "cpu"]


def _has_foreach_support(tensors: Sequence[Any], device: Device) -> bool:
    """Whether optimizers may call ``_foreach_*``: all there are are plain tensors, on such a device."""
    plain = all([t is None or type(t) in _foreach_supported_types for t in tensors])
    return _device_has_foreach_support(device) and plain


def _group_tensors_by_device_and_dtype(
    tensorlistlist: TensorListList, with_indices: bool = False
) -> dict[tuple[Device, DType], tuple[TensorListList, Indices]]:
    """Lists of equal length, cut up by device and dtype of the tensors of the first list.

    RuntimeError for no lists, an empty first one, and lists of other lengths.
    """
    if not tensorlistlist or not tensorlistlist[0]:
        raise RuntimeError("_group_tensors_by_device_and_dtype: expected a first list with tensors in it")
    count = len(tensorlistlist[0])
    for number, given in enumerate(tensorlistlist):
        if given and len(given) != count:
            raise RuntimeError(
                f"_group_tensors_by_device_and_dtype: list {number} has {len(given)} tensors, "
                f"the first one has {count}"
            )
    return {
        key: (
            [[given[i] for i in at] if given else [] for given in tensorlistlist],
            at if with_indices else [],
        )
        for key, at in _places(tensorlistlist[0])
    }


def _places(tensors: Sequence[Any]) -> Iterator[tuple[tuple[Device, DType], Indices]]:
    found: dict[tuple[Device, DType], Indices] = {}
    for place, tensor in enumerate(tensors):
        if tensor is None:
            raise RuntimeError(
                f"_group_tensors_by_device_and_dtype: tensor {place} of the first list is None"
            )
        found.setdefault((tensor.device, tensor.dtype), []).append(place)
    yield from found.items()
