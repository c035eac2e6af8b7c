"""Convolutions, and transposed ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F
from .arguments import ntuple
from .base import Registered, new_parameter
from .linear import reset_weight_and_bias
from .module import Module

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

Sizes = int | Sequence[int]
_PADDINGS = {"same", "valid"}
_MODES = {"zeros", "reflect", "replicate", "circular"}


def __dir__() -> list[str]:
    return sorted(__all__)


class ConvNd(Module):
    """What convolutions have in common: ``weight``, ``bias``, and how they are set up.

    ValueError for channels that groups do not divide, for words that mean no padding, and for
    ``padding='same'`` with strides.
    """

    __constants__: ClassVar[list[str]] = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    dims: ClassVar[int]
    convolve: ClassVar[Callable[..., Tensor]]
    weight: Any = Registered()
    bias: Any = Registered()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes,
        stride: Sizes,
        padding: str | Sizes,
        dilation: Sizes,
        transposed: bool,
        output_padding: Sizes,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        dims = self.dims
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = ntuple(kernel_size, dims)
        self.stride = ntuple(stride, dims)
        self.padding = padding if isinstance(padding, str) else ntuple(padding, dims)
        self.dilation = ntuple(dilation, dims)
        self.transposed = transposed
        self.output_padding = ntuple(output_padding, dims)
        self.groups = groups
        self.padding_mode = padding_mode
        self._check()
        self._reversed_padding_repeated_twice = self._padded()
        channels = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (channels[0], channels[1] // groups, *self.kernel_size)
        self.weight = new_parameter(shape, device, dtype)
        self.register_parameter("bias", new_parameter(out_channels, device, dtype) if bias else None)
        self.reset_parameters()

    def _check(self) -> None:
        if self.groups <= 0:
            raise ValueError("groups must be a positive integer")
        for name in ("in_channels", "out_channels"):
            if getattr(self, name) % self.groups:
                raise ValueError(f"{name} must be divisible by groups")
        if isinstance(self.padding, str):
            if self.padding not in _PADDINGS:
                raise ValueError(
                    f"Invalid padding string {self.padding!r}, should be one of {sorted(_PADDINGS)}"
                )
            if self.padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if self.padding_mode not in _MODES:
            raise ValueError(
                f"padding_mode must be one of {sorted(_MODES)}, but got padding_mode='{self.padding_mode}'"
            )

    def _padded(self) -> list[int]:
        """What ``pad`` takes, of the last dim first, to pad as the convolution would."""
        if not isinstance(self.padding, str):
            return [n for n in reversed(self.padding) for _ in range(2)]
        found: list[int] = []
        for step, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
            total = step * (size - 1) if self.padding == "same" else 0
            found += [total // 2, total - total // 2]
        return found

    def reset_parameters(self) -> None:
        """Draw weight and bias anew: uniform within the root of 1 / fan-in."""
        reset_weight_and_bias(self.weight, self.bias)

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        cls = type(self)
        if self.padding_mode == "zeros":
            return cls.convolve(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return cls.convolve(padded, weight, bias, self.stride, (0,) * self.dims, self.dilation, self.groups)

    def extra_repr(self) -> str:
        """Channels and sizes, and what is not as by default."""
        zeros, ones = (0,) * self.dims, (1,) * self.dims
        parts = [f"{self.in_channels}, {self.out_channels}"]
        parts += [f"kernel_size={self.kernel_size}, stride={self.stride}"]
        for name, usual in (
            ("padding", zeros),
            ("dilation", ones),
            ("output_padding", zeros),
            ("groups", 1),
        ):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Conv(ConvNd):
    def __init__(
        self,
        in_channels: int,
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
        rest = (groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, False, 0, *rest)

    def forward(self, input: Tensor) -> Tensor:
        """The convolution of (N, in_channels, ...) or (in_channels, ...), with out_channels there."""
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """The convolution of (N, in_channels, L), as ``nn.functional.conv1d``.

    ``weight`` has the shape (out_channels, in_channels / groups, kernel_size), ``bias`` (out_channels,).
    """

    dims = 1
    convolve = staticmethod(F.conv1d)


class Conv2d(_Conv):
    """The convolution of (N, in_channels, H, W), as ``nn.functional.conv2d``.

    ``weight`` has the shape (out_channels, in_channels / groups, *kernel_size), ``bias`` (out_channels,).
    """

    dims = 2
    convolve = staticmethod(F.conv2d)


class Conv3d(_Conv):
    """The convolution of (N, in_channels, D, H, W), as ``nn.functional.conv3d``.

    ``weight`` has the shape (out_channels, in_channels / groups, *kernel_size), ``bias`` (out_channels,).
    """

    dims = 3
    convolve = staticmethod(F.conv3d)


class ConvTransposeNd(ConvNd):
    """What transposed convolutions have in common. ValueError for a padding mode that is not ``'zeros'``."""

    def __init__(
        self,
        in_channels: int,
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
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        rest = (output_padding, groups, bias, padding_mode, device, dtype)
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, True, *rest)

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        """The transposed convolution; of several possible sizes of the result ``output_size`` chooses."""
        padding = self._output_padding(input, output_size)
        rest = (self.stride, self.padding, padding, self.groups, self.dilation)
        return type(self).convolve(input, self.weight, self.bias, *rest)

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What is added to the size of the result. ValueError for a size that cannot be."""
        if output_size is None:
            return self.output_padding
        dims = self.dims
        batched = input.ndim == dims + 2
        other = dims + 2 if batched else dims + 1
        wanted = list(output_size)[other - dims :] if len(output_size) == other else list(output_size)
        if len(wanted) != dims:
            raise ValueError(
                f"ConvTranspose{dims}D: for {input.ndim}D input, output_size must have {dims} or {other} "
                f"elements (got {len(output_size)})"
            )
        given = zip(
            input.shape[-dims:], self.stride, self.padding, self.kernel_size, self.dilation, strict=True
        )
        least = [(n - 1) * step - 2 * pad + gap * (k - 1) + 1 for n, step, pad, k, gap in given]
        most = [n + step - 1 for n, step in zip(least, self.stride, strict=True)]
        if any(not low <= n <= high for n, low, high in zip(wanted, least, most, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {least} to {most} "
                f"(for an input of {input.size()[2:]})"
            )
        return tuple(n - low for n, low in zip(wanted, least, strict=True))


class ConvTranspose1d(ConvTransposeNd):
    """The transposed convolution of (N, in_channels, L), as ``nn.functional.conv_transpose1d``.

    ``weight`` has the shape (in_channels, out_channels / groups, kernel_size), ``bias`` (out_channels,).
    """

    dims = 1
    convolve = staticmethod(F.conv_transpose1d)


class ConvTranspose2d(ConvTransposeNd):
    """The transposed convolution of (N, in_channels, H, W), as ``nn.functional.conv_transpose2d``.

    ``weight`` has the shape (in_channels, out_channels / groups, *kernel_size), ``bias`` (out_channels,).
    """

    dims = 2
    convolve = staticmethod(F.conv_transpose2d)


class ConvTranspose3d(ConvTransposeNd):
    """The transposed convolution of (N, in_channels, D, H, W), as ``nn.functional.conv_transpose3d``.

    ``weight`` has the shape (in_channels, out_channels / groups, *kernel_size), ``bias`` (out_channels,).
    """

    dims = 3
    convolve = staticmethod(F.conv_transpose3d)
