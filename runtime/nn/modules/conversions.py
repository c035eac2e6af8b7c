"""A module on another device, or with another dtype: what is done to all its parameters and buffers."""

from __future__ import annotations

import builtins
import warnings
from collections.abc import Callable
from typing import Any, Self

from tengen.generated.functions import empty_like

from ...autograd.grad_mode import no_grad
from ...core.scalar_type import dtype as DType
from ...core.user_stack import program_stacklevel
from ...tensors.parameter import Parameter
from ...tensors.tensor import Tensor
from .base import ModuleBase, Place
from .to_arguments import parse_to


class ModuleConversions(ModuleBase):
    """The conversions of a module, each of which changes it in place and returns it."""

    def _apply(self, fn: Callable[[Any], Any], recurse: builtins.bool = True) -> Self:
        """Replace each parameter, gradient and buffer by what ``fn`` makes of it; modules below first.

        A parameter stays the same object where what it becomes is on the same device.
        """
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, param in self._parameters.items():
            if param is not None:
                self._tengen_apply_to_parameter(fn, name, param)
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _tengen_apply_to_parameter(self, fn: Callable[[Any], Any], name: str, param: Any) -> None:
        grad = param.grad
        with no_grad():
            applied = fn(param)
        if _takes_place(param, applied):
            param.data = applied
            made = param
        else:
            made = self._parameters[name] = Parameter(applied, param.requires_grad)
        if grad is None:
            return
        with no_grad():
            applied = fn(grad)
        if _takes_place(grad, applied) and made.grad is not None:
            made.grad.data = applied
        else:
            made.grad = applied.requires_grad_(grad.requires_grad)

    def apply(self, fn: Callable[[Any], Any]) -> Self:
        """Call ``fn(module)`` for all modules below, and then for this one: to initialise them, say."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move parameters and buffers to a device, and those with fractions to a dtype.

        ``to(device=None, dtype=None, non_blocking=False)``, ``to(dtype, non_blocking=False)``,
        ``to(tensor, non_blocking=False)``, of which device and dtype are taken, or
        ``to(memory_format=format)``, for parameters and buffers of 4 or 5 dimensions. TypeError for other
        arguments, and for dtypes that are neither floating-point nor complex.
        """
        device, dtype, non_blocking, memory_format = parse_to(args, kwargs)
        if dtype is not None:
            _check_dtype(dtype)

        def convert(tensor: Any) -> Any:
            fitting = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            options: dict[str, Any] = {}
            if memory_format is not None and tensor.dim() in (4, 5):
                options["memory_format"] = memory_format
            try:
                return tensor.to(device, fitting, non_blocking, **options)
            except NotImplementedError as error:
                if str(error) != "Cannot copy out of meta tensor; no data!":
                    raise
                raise NotImplementedError(
                    f"{error} Please use tengen.nn.Module.to_empty() instead of tengen.nn.Module.to() when "
                    "moving module from meta to a different device."
                ) from None

        return self._apply(convert)

    def to_empty(self, *, device: Place, recurse: builtins.bool = True) -> Self:
        """Move parameters and buffers to a device without their elements, which are not set there."""
        return self._apply(lambda t: empty_like(t, device=device), recurse=recurse)

    def cpu(self) -> Self:
        """Move parameters and buffers to the CPU."""
        return self._apply(lambda t: t.cpu())

    def cuda(self, device: Place | builtins.int | None = None) -> Self:
        """Move parameters and buffers to a CUDA device. AssertionError where there is none."""
        return self._apply(lambda t: t.cuda(device))

    def xpu(self, device: Place | builtins.int | None = None) -> Self:
        """AssertionError for a module with parameters or buffers: no backend has Intel's devices."""
        return self._apply(lambda t: t.xpu(device))

    def type(self, dst_type: DType | str) -> Self:
        """Cast all parameters and buffers to a dtype."""
        return self._apply(lambda t: t.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point parameters and buffers to float32."""
        return self._apply(lambda t: t.float() if t.is_floating_point() else t)

    def double(self) -> Self:
        """Cast floating-point parameters and buffers to float64."""
        return self._apply(lambda t: t.double() if t.is_floating_point() else t)

    def half(self) -> Self:
        """Cast floating-point parameters and buffers to float16."""
        return self._apply(lambda t: t.half() if t.is_floating_point() else t)

    def bfloat16(self) -> Self:
        """Cast floating-point parameters and buffers to bfloat16."""
        return self._apply(lambda t: t.bfloat16() if t.is_floating_point() else t)

    def share_memory(self) -> Self:
        """The module itself: memory is not shared with other processes here."""
        return self


def _takes_place(tensor: Any, applied: Any) -> bool:
    """Whether a tensor's data can become ``applied``. TypeError where that is no tensor."""
    if not isinstance(applied, Tensor):
        raise TypeError(f"a parameter can become a Tensor, but got {type(applied).__name__}")
    same: bool = tensor._type.backend is applied._type.backend
    return same


def _check_dtype(dtype: DType) -> None:
    if not (dtype.is_floating_point or dtype.is_complex):
        raise TypeError(
            f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
        )
    if dtype.is_complex:
        warnings.warn(
            "Complex modules are a new feature under active development whose design may change, and some "
            "modules might not work as expected when using complex tensors as parameters or buffers.",
            stacklevel=program_stacklevel(),
        )
