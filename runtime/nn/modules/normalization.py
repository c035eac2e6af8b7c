"""Normalisation over channels, groups and the last dims."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, ClassVar

from tengen.generated.normalization_modules import *  # noqa: F403
from tengen.generated.normalization_modules import __all__ as _generated

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F, init
from .base import Registered, new_parameter
from .module import Module

__all__ = [*_generated, "CrossMapLRN2d", "GroupNorm", "LayerNorm", "RMSNorm"]


def __dir__() -> list[str]:
    return sorted(__all__)


def _shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    try:
        return (operator.index(normalized_shape),)  # type: ignore[arg-type]
    except TypeError:
        return tuple(normalized_shape)  # type: ignore[arg-type]


class _Affine(Module):
    """A normalisation with weight and bias, which are 1 and 0 at first; either may be None."""

    weight: Any = Registered()

    def _register(self, shape: Any, weight: bool, bias: bool | None, device: Any, dtype: Any) -> None:
        self.register_parameter("weight", new_parameter(shape, device, dtype) if weight else None)
        if bias is not None:
            self.register_parameter("bias", new_parameter(shape, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Weight 1, bias 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self._parameters.get("bias") is not None:
            init.zeros_(self._parameters["bias"])


class LayerNorm(_Affine):
    """The normalisation over the last dims, whose sizes are ``normalized_shape``.

    With ``elementwise_affine`` times ``weight`` plus ``bias``, of that shape; ``bias=False`` leaves out the
    bias.
    """

    __constants__: ClassVar[list[str]] = ["normalized_shape", "eps", "elementwise_affine"]
    bias: Any = Registered()

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        affine = elementwise_affine
        self._register(self.normalized_shape, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The input (..., *normalized_shape), normalised."""
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """What it was made with."""
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(_Affine):
    """The division by the root mean square over the last dims, whose sizes are ``normalized_shape``.

    With ``elementwise_affine`` times ``weight``, of that shape. Without ``eps`` the dtype's.
    """

    __constants__: ClassVar[list[str]] = ["normalized_shape", "eps", "elementwise_affine"]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._register(self.normalized_shape, elementwise_affine, None, device, dtype)

    def forward(self, x: Tensor) -> Tensor:
        """The input (..., *normalized_shape), normalised."""
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        """What it was made with."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """The normalisation over each of ``num_groups`` groups of channels of each sample of (N, C, ...).

    With ``affine`` times ``weight`` plus ``bias``, of the shape (num_channels,). ValueError for channels
    that the groups do not divide.
    """

    __constants__: ClassVar[list[str]] = ["num_groups", "num_channels", "eps", "affine"]
    bias: Any = Registered()

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._register(num_channels, affine, affine and bias, device, dtype)

    def forward(self, input: Tensor) -> Tensor:
        """The input (N, num_channels, ...), normalised."""
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        """What it was made with."""
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class CrossMapLRN2d(Module):
    """``input / (k + alpha * mean)^beta`` of (N, C, H, W), the mean over ``size`` channels of the squares."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        """The input (N, C, H, W), divided. ValueError for inputs of another number of dimensions."""
        if input.ndim != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
        reach, squares = (self.size - 1) // 2, input.square()
        padded = F.pad(squares, (0, 0, 0, 0, reach, reach))
        sums = padded.unfold(1, 2 * reach + 1, 1).sum(-1)
        # As in PyTorch, whose sums keep the first channel when the window has passed it.
        kept = squares[:, :1].expand(-1, max(input.shape[1] - reach - 1, 0), -1, -1)
        sums = sums + F.pad(kept, (0, 0, 0, 0, min(reach + 1, input.shape[1]), 0))
        return input * (sums * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        """What it was made with."""
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
