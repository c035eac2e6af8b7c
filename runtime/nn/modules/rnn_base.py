"""What recurrent layers have in common: the weights of layers and directions, and checks of inputs."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from .. import init
from .base import new_parameter
from .module import Module

__all__ = ["RNNBase"]

#: By mode, how many rows of a weight are those of one unit.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def __dir__() -> list[str]:
    return sorted(__all__)


def permuted(state: Tensor, order: Tensor | None) -> Tensor:
    """A state (layers, B, ...) with its sequences in another order."""
    return state if order is None else state.index_select(1, order)


class RNNBase(Module):
    """What RNN, LSTM and GRU have in common.

    Of each layer and direction the weights are ``weight_ih_l0`` (gates * hidden_size, input_size),
    ``weight_hh_l0`` (gates * hidden_size, hidden_size), ``bias_ih_l0`` and ``bias_hh_l0`` (gates *
    hidden_size,), and with ``proj_size`` ``weight_hr_l0`` (proj_size, hidden_size), of the other direction
    with ``_reverse`` behind. All are uniform within 1 / sqrt(hidden_size) of 0 at first. TypeError and
    ValueError for arguments that cannot be.
    """

    __constants__: ClassVar[list[str]] = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    _all_weights: list[list[str]]

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        _check(mode, input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._all_weights = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                shapes = self._shapes(layer)
                self._all_weights.append([f"{name}_l{layer}{suffix}" for name in shapes])
                for name, shape in zip(self._all_weights[-1], shapes.values(), strict=True):
                    setattr(self, name, new_parameter(shape, device, dtype))
        self.reset_parameters()

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The weights of a layer in one direction."""
        rows, out = _GATES[self.mode] * self.hidden_size, self.proj_size or self.hidden_size
        columns = self.input_size if layer == 0 else out * self._directions
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, columns), "weight_hh": (rows, out)}
        if self.bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        if self.proj_size:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: weights lie in memory as they are."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The weights by layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Any]:
        """The weights as functions take them; where an attribute took a parameter's place, that."""
        parameters = self._parameters
        return [
            parameters[name] if name in parameters else getattr(self, name)
            for names in self._all_weights
            for name in names
        ]

    # -- inputs

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """ValueError for another dtype than the weights', RuntimeError for a shape that does not fit."""
        weight = getattr(self, self._all_weights[0][0])
        if input.dtype != weight.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({weight.dtype}). Convert "
                f"input: input.to({weight.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, "
                f"got {input.size(-1)}"
            )

    def _state_size(self, input: Tensor, batch_sizes: Tensor | None, width: int) -> tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions, batch, width

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the hidden state of such an input has."""
        return self._state_size(input, batch_sizes, self.proj_size or self.hidden_size)

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        """RuntimeError for a state of another shape."""
        if tuple(hx.size()) != expected_hidden_size:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """ValueError and RuntimeError for inputs and states that do not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The state with its sequences in another order."""
        return permuted(hx, permutation)

    def _first(self, input: Tensor, batch_sizes: Tensor | None) -> Any:
        """The states where none are given: zeros."""
        raise NotImplementedError

    def _start(
        self, input: Tensor, hx: Any, batch_sizes: Tensor | None = None, order: Tensor | None = None
    ) -> Any:
        """The states to begin with, in the order of the packed sequences, checked with the input."""
        if input.is_nested:
            raise NotImplementedError(
                f"{self._get_name()}: a nested input is not supported: pack it by nn.utils.rnn.pack_sequence("
                "input.unbind(), enforce_sorted=False)"
            )
        state = self._first(input, batch_sizes) if hx is None else self.permute_hidden(hx, order)
        self.check_forward_args(input, state, batch_sizes)
        return state

    def _run(
        self, layers: Callable[..., Any], input: Tensor, hx: Any, batch_sizes: Tensor | None
    ) -> tuple[Tensor, ...]:
        """The layers, over padded or packed sequences."""
        rest = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training)
        if batch_sizes is None:
            found: tuple[Tensor, ...] = layers(input, hx, *rest, self.bidirectional, self.batch_first)
        else:
            found = layers(input, batch_sizes, hx, *rest, self.bidirectional)
        return found

    def extra_repr(self) -> str:
        """Sizes, and what is not as by default."""
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


def _check(
    mode: str,
    input_size: Any,
    hidden_size: Any,
    num_layers: int,
    bias: Any,
    batch_first: Any,
    dropout: Any,
    proj_size: int,
) -> None:
    number = isinstance(dropout, (int, float)) and not isinstance(dropout, bool)
    if not number or not 0 <= dropout <= 1:
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being "
            "zeroed"
        )
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects "
            f"num_layers greater than 1, but got dropout={dropout} and num_layers={num_layers}",
            stacklevel=program_stacklevel(),
        )
    kinds = (("bias", bias, bool), ("batch_first", batch_first, bool))
    for name, value, kind in (*kinds, ("input_size", input_size, int), ("hidden_size", hidden_size, int)):
        if not isinstance(value, kind):
            raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if mode not in _GATES:
        raise ValueError(f"Unrecognized RNN mode: {mode}")
