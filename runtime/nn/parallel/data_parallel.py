"""DataParallel: a module over several devices, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from tengen.generated.functions import cat

from ...core.device import default_device, device as Device
from ...func.module_state import functional_call
from ...tensors.tensor import Tensor
from ...utils.pytree import tree_flatten, tree_unflatten
from ..modules.module import Module
from .comm import scatter

Devices = Sequence[int | str | Device]

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


def __dir__() -> list[str]:
    return sorted(__all__)


class DataParallel(Module):
    """Run ``module`` on parts of its batch along ``dim``, one on each device, and put the outputs together.

    ``device_ids`` are GPUs, or any devices; all GPUs when None. Without a GPU the module is called as it is.
    The output is on ``output_device``, the first of them when None. Tensors among the arguments, also in
    tuples, lists and dicts, are cut; other arguments go to all. Parameters must be on the first device, or
    RuntimeError; their gradients are the sums over the devices.
    """

    def __init__(
        self,
        module: Module,
        device_ids: Devices | None = None,
        output_device: int | str | Device | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids = _devices(device_ids)
        self.dim = dim
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else _device(output_device)
        if len(self.device_ids) == 1:
            module.to(self.device_ids[0])

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """``module`` of the arguments."""
        if not self.device_ids:
            return self.module(*inputs, **kwargs)
        return _run(self.module, inputs, kwargs, self.device_ids, self.output_device, self.dim)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: Devices | None = None,
    output_device: int | str | Device | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``DataParallel(module, ...)`` of ``inputs``, a tuple of them or one. RuntimeError without a device."""
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    devices = _devices(device_ids)
    if not devices:
        raise RuntimeError("data_parallel(): no available devices were found")
    output = devices[0] if output_device is None else _device(output_device)
    return _run(module, given, module_kwargs or {}, devices, output, dim)


class DistributedDataParallel(Module):
    """Training by several processes, which is not available here: RuntimeError when it is made.

    The class is there for programs that ask whether a module is one.
    """

    def __init__(self, module: Module, *args: Any, **kwargs: Any) -> None:
        import_module("tengen.distributed").init_process_group()


def _devices(given: Devices | None) -> list[Device]:
    if given is not None:
        return [_device(d) for d in given]
    return [_device(n) for n in range(import_module("tengen.accelerator").device_count())]


def _device(given: int | str | Device) -> Device:
    return default_device if given == -1 else Device(given)


def _run(
    module: Module,
    inputs: tuple[Any, ...],
    kwargs: dict[str, Any],
    devices: Sequence[Device],
    output: Device,
    dim: int,
) -> Any:
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    for name, tensor in state.items():
        if tensor.device != devices[0]:
            raise RuntimeError(
                f"DataParallel: module must have its parameters and buffers on device {devices[0]} "
                f"(device_ids[0]) but {name} is on device {tensor.device}"
            )
    parts = _scattered((inputs, kwargs), devices, dim)
    if len(parts) == 1:
        return _gathered([module(*parts[0][0], **parts[0][1])], output, dim)
    outputs = []
    for place, (args, keywords) in zip(devices, parts, strict=False):
        moved = {name: tensor.to(place) for name, tensor in state.items()}
        outputs.append(functional_call(module, moved, args, keywords))
    return _gathered(outputs, output, dim)


def _scattered(value: Any, devices: Sequence[Device], dim: int) -> list[Any]:
    """The value for each device that gets a part of every tensor in it; one where there is no tensor."""
    leaves, structure = tree_flatten(value)
    cut = [scatter(leaf, devices, dim=dim) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    counts = [len(parts) for leaf, parts in zip(leaves, cut, strict=True) if isinstance(leaf, Tensor)]
    return [
        tree_unflatten(
            [
                parts[place] if isinstance(leaf, Tensor) else leaf
                for leaf, parts in zip(leaves, cut, strict=True)
            ],
            structure,
        )
        for place in range(min(counts, default=1))
    ]


def _gathered(outputs: Sequence[Any], output: Device, dim: int) -> Any:
    """The outputs of one structure, with their tensors put together; of what is no tensor the first."""
    flat = [tree_flatten(value) for value in outputs]
    leaves = [_joined(parts, output, dim) for parts in zip(*(found for found, _ in flat), strict=True)]
    return tree_unflatten(leaves, flat[0][1])


def _joined(parts: Sequence[Any], output: Device, dim: int) -> Any:
    if not isinstance(parts[0], Tensor):
        return parts[0]
    moved = [part.to(output) for part in parts]
    if len(moved) == 1:
        return moved[0]
    return cat([part.reshape(1) if part.dim() == 0 else part for part in moved], dim)
