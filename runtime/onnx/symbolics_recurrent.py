"""Symbolics of recurrent layers: ONNX's RNN, GRU and LSTM, in one direction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.scalar_type import int32
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .symbolics import int_vector
from .symbolics_shape import filled, reshaped

#: Of each mode ONNX's operator, and which of PyTorch's gates each of its gates is.
_OPERATORS: dict[str, tuple[str, tuple[int, ...]]] = {
    "RNN_TANH": ("RNN", (0,)),
    "RNN_RELU": ("RNN", (0,)),
    "GRU": ("GRU", (1, 0, 2)),  # update, reset, new
    "LSTM": ("LSTM", (0, 3, 1, 2)),  # input, output, forget, cell
}


def rnn_layer_symbolic(
    input: Ref,
    hx: Ref,
    cx: Ref | None,
    w_ih: Ref,
    w_hh: Ref,
    b_ih: Ref | None,
    b_hh: Ref | None,
    w_hr: Ref | None,
    batch_sizes: Sequence[int],
    mode: str,
    reverse: bool,
    result: Any,
) -> tuple[Ref, ...]:
    """``_rnn_layer``: the outputs and the last states; for what gradients need there are zeros.

    Raises Unsupported for projections, which ONNX does not have.
    """
    if w_hr is not None:
        raise Unsupported("ONNX has no LSTM with a projection")
    operator, gates = _OPERATORS[mode]
    steps, batch, size = len(batch_sizes), batch_sizes[0], w_hh.shape[1]
    ragged = any([n != batch for n in batch_sizes])
    rows = onnx.Gather(input, constant(_padded(batch_sizes)), axis=0) if ragged else input
    options: dict[str, Any] = {"hidden_size": size, "direction": "reverse" if reverse else "forward"}
    if operator == "GRU":
        options["linear_before_reset"] = 1
    elif operator == "RNN":
        options["activations"] = [mode.removeprefix("RNN_").capitalize()]
    given = [
        reshaped(rows, [steps, batch, w_ih.shape[1]]),
        onnx.Unsqueeze(_in_order(w_ih, gates), [0]),
        onnx.Unsqueeze(_in_order(w_hh, gates), [0]),
        _biases(w_hh, (b_ih, b_hh), gates),
        constant(_lengths(batch_sizes), int32) if ragged else None,
        onnx.Unsqueeze(hx, [0]),
        *([] if cx is None else [onnx.Unsqueeze(cx, [0])]),
    ]
    out, *ends = getattr(onnx, operator)(*given, outputs=2 if cx is None else 3, **options)
    out = reshaped(out, [steps * batch, size])
    if ragged:
        places = [t * batch + b for t, n in enumerate(batch_sizes) for b in range(n)]
        out = onnx.Gather(out, int_vector(places), axis=0)
    hy, *cells = [onnx.Squeeze(end, [0]) for end in ends]
    return out, hy, *cells, *[filled(r.shape, 0, r.dtype) for r in result[2 + len(cells) :]]


def _in_order(weight: Ref, gates: Sequence[int]) -> Ref:
    """The rows of a weight with ONNX's gates one after the other."""
    if len(gates) == 1:
        return weight
    size = weight.shape[0] // len(gates)
    parts = onnx.Split(weight, int_vector([size] * len(gates)), axis=0, outputs=len(gates))
    made: Ref = onnx.Concat(*[parts[g] for g in gates], axis=0)
    return made


def _biases(w_hh: Ref, biases: Sequence[Ref | None], gates: Sequence[int]) -> Ref | None:
    """Both biases in one row, if there is one of them."""
    if all([b is None for b in biases]):
        return None
    parts = [filled([w_hh.shape[0]], 0, w_hh.dtype) if b is None else _in_order(b, gates) for b in biases]
    made: Ref = onnx.Unsqueeze(onnx.Concat(*parts, axis=0), [0])
    return made


def _padded(batch_sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    """Which packed row is that of each step and sequence; any where the sequence has ended."""
    starts = np.cumsum([0, *batch_sizes[:-1]])
    found = [
        start + min(b, n - 1)
        for start, n in zip(starts, batch_sizes, strict=True)
        for b in range(batch_sizes[0])
    ]
    return np.asarray(found, np.int64)


def _lengths(batch_sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    """How many steps each sequence has."""
    return np.asarray([sum([n > b for n in batch_sizes]) for b in range(batch_sizes[0])], np.int32)
