"""Recurrent layers."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import gru, lstm, rnn_relu, rnn_tanh, zeros

from ...tensors.tensor import Tensor
from ..utils.rnn import PackedSequence
from .rnn_base import RNNBase as RNNBase, permuted
from .rnn_cells import (
    GRUCell as GRUCell,
    LSTMCell as LSTMCell,
    RNNCell as RNNCell,
    RNNCellBase as RNNCellBase,
)

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_NO_PROJECTION = "proj_size argument is only supported for LSTM, not RNN or GRU"


def __dir__() -> list[str]:
    return sorted(__all__)


class _OneState(RNNBase):
    """A layer whose state is one tensor."""

    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        """The outputs of the last layer, and the last state of each layer and direction.

        ``input`` has the shape (T, B, input_size), with ``batch_first`` (B, T, input_size), or (T,
        input_size), or is packed; ``hx``, the first states, (layers * directions, B, hidden_size).
        ValueError and RuntimeError for what does not fit.
        """
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._start(data, hx, batch_sizes, order)
            out, last = self._run(self._layers(), data, state, batch_sizes)
            return PackedSequence(out, batch_sizes, order, back), self.permute_hidden(last, back)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        dim = 0 if self.batch_first else 1
        if input.dim() == 3:
            if hx is not None and hx.dim() != 3:
                raise RuntimeError(
                    f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor"
                )
            return self._padded(input, hx)
        if hx is not None and hx.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
        out, last = self._padded(input.unsqueeze(dim), None if hx is None else hx.unsqueeze(1))
        return out.squeeze(dim), last.squeeze(1)

    def _padded(self, input: Tensor, hx: Tensor | None) -> tuple[Tensor, Tensor]:
        state = self._start(input, hx)
        out, last = self._run(self._layers(), input, state, None)
        return out, last

    def _first(self, input: Tensor, batch_sizes: Tensor | None) -> Tensor:
        size = self.get_expected_hidden_size(input, batch_sizes)
        return zeros(size, dtype=input.dtype, device=input.device)

    def _layers(self) -> Any:
        raise NotImplementedError


class RNN(_OneState):
    """Layers of ``tanh(W_ih x + b_ih + W_hh h + b_hh)``, or of ``relu`` with ``nonlinearity='relu'``.

    The arguments and weights are those of RNNBase, with ``nonlinearity`` after ``num_layers``. ValueError
    for others.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError(_NO_PROJECTION)
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity

    def _layers(self) -> Any:
        return rnn_tanh if self.mode == "RNN_TANH" else rnn_relu


class GRU(_OneState):
    """Layers of gated recurrent units. The arguments and weights are those of RNNBase.

    ValueError for projections.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError(_NO_PROJECTION)
        super().__init__("GRU", *args, **kwargs)

    def _layers(self) -> Any:
        return gru


class LSTM(RNNBase):
    """Layers of long short-term memory. The arguments and weights are those of RNNBase."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape that the cell state of such an input has."""
        return self._state_size(input, batch_sizes, self.hidden_size)

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """ValueError and RuntimeError for inputs and states that do not fit."""
        self.check_input(input, batch_sizes)
        sizes = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        for number, size in enumerate(sizes):
            text = f"Expected hidden[{number}] size {{}}, got {{}}"
            self.check_hidden_size(hidden[number], size, text)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """The states with their sequences in another order."""
        return hx if permutation is None else tuple(permuted(state, permutation) for state in hx)

    def forward(
        self, input: Any, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Any, tuple[Tensor, Tensor]]:
        """The outputs of the last layer, and the last hidden and cell state of each layer and direction.

        ``input`` has the shape (T, B, input_size), with ``batch_first`` (B, T, input_size), or (T,
        input_size), or is packed; ``hx`` has the first states, (layers * directions, B, proj_size or
        hidden_size) and (layers * directions, B, hidden_size). ValueError and RuntimeError for what does
        not fit.
        """
        if isinstance(input, PackedSequence):
            data, batch_sizes, order, back = input
            state = self._start(data, hx, batch_sizes, order)
            out, *last = self._run(lstm, data, state, batch_sizes)
            return PackedSequence(out, batch_sizes, order, back), self.permute_hidden(tuple(last), back)
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if hx is not None and any(state.dim() != input.dim() for state in hx):
            kind = "For batched 3-D input" if batched else "For unbatched 2-D input"
            raise RuntimeError(
                f"{kind}, hx and cx should also be {input.dim()}-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        if batched:
            return self._padded(input, hx)
        dim = 0 if self.batch_first else 1
        alone = None if hx is None else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        out, (hidden, cell) = self._padded(input.unsqueeze(dim), alone)
        return out.squeeze(dim), (hidden.squeeze(1), cell.squeeze(1))

    def _padded(self, input: Tensor, hx: Any) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        state = self._start(input, hx)
        out, hidden, cell = self._run(lstm, input, state, None)
        return out, (hidden, cell)

    def _first(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[Tensor, Tensor]:
        hidden = self.get_expected_hidden_size(input, batch_sizes)
        cell = self.get_expected_cell_size(input, batch_sizes)
        dtype, device = input.dtype, input.device
        return zeros(hidden, dtype=dtype, device=device), zeros(cell, dtype=dtype, device=device)
