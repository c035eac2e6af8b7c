"""DataParallel: a module over several devices, each with a part of the batch."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ...core.device import device as Device
from ...func.module_state import functional_call
from ..modules.module import Module
from .scatter_gather import Place, device_of, gather, scatter

Devices = Sequence[Place]

__all__ = ["DataParallel", "data_parallel"]


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
        output_device: Place | None = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids = _devices(device_ids)
        self.dim = dim
        if self.device_ids:
            self.output_device = self.device_ids[0] if output_device is None else device_of(output_device)
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
    output_device: Place | None = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``DataParallel(module, ...)`` of ``inputs``, a tuple of them or one. RuntimeError without a device."""
    given = inputs if isinstance(inputs, tuple) else () if inputs is None else (inputs,)
    devices = _devices(device_ids)
    if not devices:
        raise RuntimeError("data_parallel(): no available devices were found")
    output = devices[0] if output_device is None else device_of(output_device)
    return _run(module, given, module_kwargs or {}, devices, output, dim)


def _devices(given: Devices | None) -> list[Device]:
    if given is not None:
        return [device_of(d) for d in given]
    return [device_of(n) for n in range(import_module("tengen.accelerator").device_count())]


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
    parts = scatter((inputs, kwargs), devices, dim)
    if len(parts) == 1:
        return gather([module(*parts[0][0], **parts[0][1])], output, dim)
    outputs = []
    for place, (args, keywords) in zip(devices, parts, strict=False):
        moved = {name: tensor.to(place) for name, tensor in state.items()}
        outputs.append(functional_call(module, moved, args, keywords))
    return gather(outputs, output, dim)
