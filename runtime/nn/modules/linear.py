"""Linear and bilinear maps, and the identity."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tengen.generated.functions import bilinear
from tengen.generated.nn_functions import linear

from ...autograd.grad_mode import no_grad
from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import init
from ..parameter import UninitializedParameter
from .base import Registered, new_parameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


def __dir__() -> list[str]:
    return sorted(__all__)


class Identity(Module):
    """Returns its input. Arguments are allowed, so that it can stand for any module, and ignored."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        """The input as it is."""
        return input


def reset_weight_and_bias(weight: Tensor, bias: Tensor | None) -> None:
    """Draw weight (outputs, ...) and bias anew: uniform within the root of 1 / fan-in."""
    init.kaiming_uniform_(weight, a=math.sqrt(5))
    if bias is not None:
        fan_in = math.prod(weight.shape[1:])
        bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
        init.uniform_(bias, -bound, bound)


class Linear(Module):
    """``x @ weight.T + bias``, of the last dimension of the input.

    ``weight`` has the shape (out_features, in_features), ``bias`` (out_features,), or is None without
    ``bias``. Both are uniform within ``1 / sqrt(in_features)`` of 0 at first.
    """

    __constants__: ClassVar[list[str]] = ["in_features", "out_features"]
    in_features: int
    out_features: int
    weight: Any = Registered()
    bias: Any = Registered()

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = new_parameter((out_features, in_features), device, dtype)
        self.register_parameter("bias", new_parameter(out_features, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        reset_weight_and_bias(self.weight, self.bias)

    def forward(self, input: Tensor) -> Tensor:
        """The input, of the shape (..., in_features), as one of the shape (..., out_features)."""
        return linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"
        )


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear that attention has for its last one; PyTorch quantises others only."""


class Bilinear(Module):
    """``x1 @ weight[k] @ x2 + bias[k]`` for each output k.

    ``weight`` has the shape (out_features, in1_features, in2_features), ``bias`` (out_features,), or is None
    without ``bias``. Both are uniform within ``1 / sqrt(in1_features)`` of 0 at first. ValueError for
    ``in1_features`` that are not positive.
    """

    __constants__: ClassVar[list[str]] = ["in1_features", "in2_features", "out_features"]
    in1_features: int
    in2_features: int
    out_features: int
    weight: Any = Registered()
    bias: Any = Registered()

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = new_parameter(shape, device, dtype)
        self.register_parameter("bias", new_parameter(out_features, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        """Inputs of the shapes (..., in1_features) and (..., in2_features) as one of (..., out_features)."""
        return bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        """Sizes, and whether there is a bias."""
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear whose ``in_features`` are those of its first input; then it is a Linear."""

    cls_to_become = Linear

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(0, 0, False)  # the parameters are made below
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, if they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Give weight and bias the shapes that fit the input. AssertionError where loaded ones do not."""
        found = input.shape[-1]
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = found
                self.weight.materialize((self.out_features, found))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if found != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {found} is not equal to in_features from "
                    f"self.weight: {self.weight.shape[-1]}"
                )
            self.in_features = found
