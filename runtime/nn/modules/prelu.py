"""The activation whose slope is learned."""

from __future__ import annotations

from typing import Any, ClassVar

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F
from ..init import constant_
from .base import Registered, new_parameter
from .module import Module

__all__ = ["PReLU"]


def __dir__() -> list[str]:
    return sorted(__all__)


class PReLU(Module):
    """``x`` where positive, else ``weight * x``.

    ``weight`` has ``num_parameters`` elements, one, or one for each channel.
    """

    __constants__: ClassVar[list[str]] = ["num_parameters"]
    weight: Any = Registered()

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = new_parameter(num_parameters, device, dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Every slope ``init``."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """The input (N, ...) or (N, num_parameters, ...), activated."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """How many slopes there are."""
        return f"num_parameters={self.num_parameters}"
