"""One step of recurrent layers."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from tengen.generated.functions import gru_cell, lstm_cell, rnn_relu_cell, rnn_tanh_cell, zeros

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import init
from .base import Registered, new_parameter
from .module import Module

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


def __dir__() -> list[str]:
    return sorted(__all__)


class RNNCellBase(Module):
    """What cells have in common: ``weight_ih`` (gates * hidden_size, input_size), ``weight_hh``, biases.

    All are uniform within 1 / sqrt(hidden_size) of 0 at first.
    """

    __constants__: ClassVar[list[str]] = ["input_size", "hidden_size", "bias"]
    weight_ih: Any = Registered()
    weight_hh: Any = Registered()
    bias_ih: Any = Registered()
    bias_hh: Any = Registered()

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = new_parameter((rows, input_size), device, dtype)
        self.weight_hh = new_parameter((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, new_parameter(rows, device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        """Sizes, and what is not as by default."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        if self.bias is not True:
            parts.append(f"bias={self.bias}")
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return ", ".join(parts if nonlinearity == "tanh" else [*parts, f"nonlinearity={nonlinearity}"])

    def _check_dims(self, what: str, value: Tensor) -> None:
        if value.dim() not in (1, 2):
            name = self._get_name()
            raise ValueError(f"{name}: Expected {what} to be 1D or 2D, got {value.dim()}D instead")

    def _weights(self) -> tuple[Any, Any, Any, Any]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _zeros(self, input: Tensor) -> Tensor:
        return zeros((input.size(0), self.hidden_size), dtype=input.dtype, device=input.device)


class _OneState(RNNCellBase):
    """A cell whose state is one tensor."""

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state (B, hidden_size) of an input (B, input_size), or without B; ``hx`` is the last one.

        ValueError for other numbers of dimensions.
        """
        self._check_dims("input", input)
        if hx is not None:
            self._check_dims("hidden", hx)
        if input.dim() == 2:
            return self._step(input, self._zeros(input) if hx is None else hx)
        alone = input.unsqueeze(0)
        return self._step(alone, self._zeros(alone) if hx is None else hx.unsqueeze(0)).squeeze(0)

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        raise NotImplementedError


class RNNCell(_OneState):
    """``tanh(W_ih x + b_ih + W_hh h + b_hh)``, or ``relu`` of it. RuntimeError at a call for another word."""

    __constants__: ClassVar[list[str]] = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        cell = rnn_tanh_cell if self.nonlinearity == "tanh" else rnn_relu_cell
        return cell(input, hx, *self._weights())


class GRUCell(_OneState):
    """A gated recurrent unit; the weights of its three gates are one below the other."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def _step(self, input: Tensor, hx: Tensor) -> Tensor:
        return gru_cell(input, hx, *self._weights())


class LSTMCell(RNNCellBase):
    """A unit of long short-term memory; the weights of its four gates are one below the other."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next hidden and cell state (B, hidden_size) of (B, input_size), or without B, after ``hx``.

        ValueError for other numbers of dimensions.
        """
        self._check_dims("input", input)
        for number, state in enumerate(hx or ()):
            self._check_dims(f"hx[{number}]", state)
        if input.dim() == 2:
            return self._step(input, hx)
        alone = None if hx is None else (hx[0].unsqueeze(0), hx[1].unsqueeze(0))
        hidden, cell = self._step(input.unsqueeze(0), alone)
        return hidden.squeeze(0), cell.squeeze(0)

    def _step(self, input: Tensor, hx: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        zero = self._zeros(input) if hx is None else None
        states: Any = (zero, zero) if hx is None else hx
        hidden, cell = lstm_cell(input, states, *self._weights())
        return hidden, cell
