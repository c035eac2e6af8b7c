"""Convolutions whose ``in_channels`` are those of their first input."""

from __future__ import annotations

from typing import Any

from ...autograd.grad_mode import no_grad
from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from ..parameter import UninitializedParameter
from .conv_nd import (
    Conv1d,
    Conv2d,
    Conv3d,
    ConvNd,
    ConvTranspose1d,
    ConvTranspose2d,
    ConvTranspose3d,
    Sizes,
)
from .lazy import LazyModuleMixin

__all__ = [
    "LazyConv1d",
    "LazyConv2d",
    "LazyConv3d",
    "LazyConvTranspose1d",
    "LazyConvTranspose2d",
    "LazyConvTranspose3d",
]


def __dir__() -> list[str]:
    return sorted(__all__)


class _LazyConv(LazyModuleMixin, ConvNd):
    """A convolution without ``in_channels``."""

    def _set_up(self, out_channels: int, bias: bool, device: Any, dtype: Any) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, if they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor, *args: Any, **kwargs: Any) -> None:
        """Give weight and bias the shapes that fit the input.

        RuntimeError for an input of another number of dimensions, ValueError for channels that groups do not
        divide.
        """
        if not self.has_uninitialized_params():
            return
        if input.ndim not in (self.dims + 1, self.dims + 2):
            raise RuntimeError(
                f"Expected {self.dims + 1}D (unbatched) or {self.dims + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        found = input.shape[-self.dims - 1]
        if found % self.groups:
            raise ValueError("in_channels must be divisible by groups")
        self.in_channels = found
        channels = (found, self.out_channels) if self.transposed else (self.out_channels, found)
        with no_grad():
            self.weight.materialize((channels[0], channels[1] // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()


class _LazyPlain(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: str | Sizes = 0,
        dilation: Sizes = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        start: Any = super().__init__  # of Conv1d and the like
        start(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._set_up(out_channels, bias, device, dtype)


class _LazyTransposed(_LazyConv):
    def __init__(
        self,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes = 1,
        padding: Sizes = 0,
        output_padding: Sizes = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Sizes = 1,
        padding_mode: str = "zeros",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        start: Any = super().__init__  # of ConvTranspose1d and the like
        rest = (output_padding, groups, False, dilation, padding_mode, device, dtype)
        start(0, 0, kernel_size, stride, padding, *rest)
        self._set_up(out_channels, bias, device, dtype)


class LazyConv1d(_LazyPlain, Conv1d):
    """A Conv1d whose ``in_channels`` are those of its first input; then it is a Conv1d."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyPlain, Conv2d):
    """A Conv2d whose ``in_channels`` are those of its first input; then it is a Conv2d."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyPlain, Conv3d):
    """A Conv3d whose ``in_channels`` are those of its first input; then it is a Conv3d."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyTransposed, ConvTranspose1d):
    """A ConvTranspose1d whose ``in_channels`` are those of its first input; then it is one."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyTransposed, ConvTranspose2d):
    """A ConvTranspose2d whose ``in_channels`` are those of its first input; then it is one."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyTransposed, ConvTranspose3d):
    """A ConvTranspose3d whose ``in_channels`` are those of its first input; then it is one."""

    cls_to_become = ConvTranspose3d
