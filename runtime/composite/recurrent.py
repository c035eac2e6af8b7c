"""Recurrent layers: each layer and direction by one operator, or a cell made of operators after the other.

``_rnn_layer`` has all steps of a layer in one direction, where the backend has it: for real floating-point
tensors of one dtype. Everything else (complex numbers, integers, mixed dtypes, other libraries' arrays) takes
one step after the other. So do batches of ``vmap``, and derivatives of ``_rnn_layer`` beyond the first
(``formulas/recurrent.py``). A cell has what is between its products in one operator likewise.

What differs between the modes is a step: from what the input contributes to the gates, the state before it
and the weights of the state, the state after it. A state is a tuple of tensors whose first is the output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.error_notes import running_composite
from ..core.scalar_type import int64
from ..dispatch.absent import has_operator

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

State = tuple["Tensor", ...]
Weights = Sequence["Tensor | None"]  # of the input, of the state, their biases, of the projection
Step = Callable[["Tensor", State, "Tensor", "Tensor | None", "Tensor | None"], State]

_EMPTY = "Expected sequence length to be larger than 0 in RNN"


def _expect_dims(name: str, count: int, tensors: Sequence[Tensor]) -> None:
    """IndexError unless all have so many dims."""
    for tensor in tensors:
        if tensor.ndim != count:
            raise IndexError(f"{name} must have {count} dims, but got a tensor of shape {list(tensor.shape)}")


def _expect_fractions(gates: Tensor) -> None:
    """RuntimeError for integers: a gate is between 0 and 1."""
    if not (gates.is_floating_point() or gates.is_complex()):
        raise RuntimeError(f"gates must be of a floating-point or complex dtype, but got {gates.dtype}")


# -------------------------------------------------------------------------------- steps


def lstm_units(x: Tensor, h: Tensor, cell: Tensor) -> State:
    """Output and cell state, from what input and state add to the gates, and the cell state before."""
    _expect_fractions(x)
    i, f, g, o = (x + h).chunk(4, -1)
    cell = f.sigmoid() * cell + i.sigmoid() * g.tanh()
    return o.sigmoid() * cell.tanh(), cell


def gru_units(x: Tensor, h: Tensor, hidden: Tensor) -> State:
    """The state, from what input and state add to the gates, and the state before."""
    _expect_fractions(x)
    x_r, x_z, x_n = x.chunk(3, -1)
    h_r, h_z, h_n = h.chunk(3, -1)
    new = (x_n + (x_r + h_r).sigmoid() * h_n).tanh()
    return ((hidden - new) * (x_z + h_z).sigmoid() + new,)


def _step_tanh(x: Tensor, state: State, weight: Tensor, bias: Tensor | None, _: Tensor | None) -> State:
    return ((x + F.linear(state[0], weight, bias)).tanh(),)


def _step_relu(x: Tensor, state: State, weight: Tensor, bias: Tensor | None, _: Tensor | None) -> State:
    return ((x + F.linear(state[0], weight, bias)).relu(),)


def _step_lstm(
    x: Tensor, state: State, weight: Tensor, bias: Tensor | None, projection: Tensor | None
) -> State:
    out, cell = lstm_units(x, F.linear(state[0], weight, bias), state[1])
    return (out if projection is None else F.linear(out, projection)), cell


def _step_gru(x: Tensor, state: State, weight: Tensor, bias: Tensor | None, _: Tensor | None) -> State:
    return gru_units(x, F.linear(state[0], weight, bias), state[0])


#: The step of each mode, by PyTorch's names.
STEPS: dict[str, Step] = {
    "RNN_TANH": _step_tanh,
    "RNN_RELU": _step_relu,
    "GRU": _step_gru,
    "LSTM": _step_lstm,
}


# -------------------------------------------------------------------------------- cells


def _cell(
    step: Step,
    input: Tensor,
    state: State,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> State:
    """One step; RuntimeError unless the sizes of input and state are each other's and the weights'."""
    _expect_dims("input of a cell", 2, [input])
    _expect_dims("a state of a cell", 2, state)
    _expect_dims("a weight of a cell", 2, [w_ih, w_hh])
    if input.shape[1] != w_ih.shape[1]:
        raise RuntimeError(
            f"{running_composite()}: input has inconsistent input_size: got {input.shape[1]} expected "
            f"{w_ih.shape[1]}"
        )
    for i, hidden in enumerate(state):
        if hidden.shape[0] != input.shape[0]:
            raise RuntimeError(
                f"{running_composite()}: Input batch size {input.shape[0]} doesn't match hidden{i} batch "
                f"size {hidden.shape[0]}"
            )
        if hidden.shape[1] != w_hh.shape[1]:
            raise RuntimeError(
                f"{running_composite()}: hidden{i} has inconsistent hidden_size: got {hidden.shape[1]}, "
                f"expected {w_hh.shape[1]}"
            )
    return step(F.linear(input, w_ih, b_ih), state, w_hh, b_hh, None)


def _cell_step_gru(x: Tensor, state: State, weight: Tensor, bias: Tensor | None, _: Tensor | None) -> State:
    """As ``_step_gru``, by the operator that has what is between the products, where there is one.

    It keeps the state, which PyTorch keeps for the gradient of the weight alone: programs may write to it
    otherwise.
    """
    hidden, h = state[0], F.linear(state[0], weight, bias)
    kept = weight.requires_grad or not (x.requires_grad or h.requires_grad or hidden.requires_grad)
    if kept and _has("_fused_gru_cell", (x, h, hidden)):
        return F._fused_gru_cell(x, h, hidden)[:1]
    return gru_units(x, h, hidden)


def _cell_step_lstm(x: Tensor, state: State, weight: Tensor, bias: Tensor | None, _: Tensor | None) -> State:
    """The same of ``_step_lstm``; PyTorch keeps the cell state for the gradients of gates."""
    cell, h = state[1], F.linear(state[0], weight, bias)
    kept = x.requires_grad or h.requires_grad or not cell.requires_grad
    if kept and _has("_fused_lstm_cell", (x, h, cell)):
        return F._fused_lstm_cell(x, h, cell)[:2]
    return lstm_units(x, h, cell)


def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """The next state of a layer with tanh."""
    return _cell(_step_tanh, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """The next state of a layer with relu."""
    return _cell(_step_relu, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None, b_hh: Tensor | None
) -> Tensor:
    """The next state of gated recurrent units."""
    return _cell(_cell_step_gru, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None,
    b_hh: Tensor | None,
) -> State:
    """The next output and cell state of long short-term memory. RuntimeError unless ``hx`` has both."""
    if len(hx) != 2:
        raise RuntimeError(f"lstm_cell expects two hidden states, but got {len(hx)}")
    return _cell(_cell_step_lstm, input, tuple(hx), w_ih, w_hh, b_ih, b_hh)


# --------------------------------------------------------------------------------- layers


def _over_steps(
    step: Step, input: Tensor, state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State]:
    """A layer in one direction over an input of shape (time, ...)."""
    w_ih, w_hh, b_ih, b_hh, projection = weights
    assert w_ih is not None and w_hh is not None
    if not input.shape[0]:
        raise RuntimeError(_EMPTY)
    expected = state[0].shape
    outputs = []
    steps = F.linear(input, w_ih, b_ih).unbind(0)
    for x in reversed(steps) if reverse else steps:
        state = step(x, state, w_hh, b_hh, projection)
        outputs.append(state[0])
    if outputs[0].shape != expected:
        raise RuntimeError(f"Expected hidden size {list(outputs[0].shape)}, but got {list(expected)}")
    return F.stack(outputs[::-1] if reverse else outputs), state


def over_packed(
    step: Step, data: Tensor, sizes: Sequence[int], state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State]:
    """The same where of each step ``data`` has only the rows of sequences that are as long."""
    w_ih, w_hh, b_ih, b_hh, projection = weights
    assert w_ih is not None and w_hh is not None
    steps = F.linear(data, w_ih, b_ih).split(list(sizes))
    outputs: list[Tensor] = []
    if reverse:
        # Sequences begin at their own ends: rows of the first state join.
        initial, now = state, sizes[-1]
        state = tuple([s.narrow(0, 0, now) for s in initial])
        for x, size in zip(reversed(steps), reversed(sizes), strict=True):
            if size > now:
                joined = [s.narrow(0, now, size - now) for s in initial]
                state = tuple([F.cat(pair) for pair in zip(state, joined, strict=True)])
                now = size
            state = step(x, state, w_hh, b_hh, projection)
            outputs.append(state[0])
        return F.cat(outputs[::-1]), state
    ended: list[State] = []  # the rows of the shortest sequences first
    now = sizes[0]
    for x, size in zip(steps, sizes, strict=True):
        if size < now:
            ended.append(tuple([s.narrow(0, size, now - size) for s in state]))
            state = tuple([s.narrow(0, 0, size) for s in state])
            now = size
        state = step(x, state, w_hh, b_hh, projection)
        outputs.append(state[0])
    if ended:
        ended.append(state)
        state = tuple([F.cat(parts[::-1]) for parts in zip(*ended, strict=True)])
    return F.cat(outputs), state


def _has(operator: str, tensors: Sequence[Tensor | None]) -> bool:
    """Whether an operator that takes one dtype takes the tensors."""
    dtypes = {t.dtype for t in tensors if t is not None}
    return len(dtypes) == 1 and all([t is None or has_operator(t._type, operator) for t in tensors])


def _layer(
    mode: str, input: Tensor, sizes: Sequence[int] | None, state: State, weights: Weights, reverse: bool
) -> tuple[Tensor, State]:
    """A layer in one direction, of packed sequences, or, without ``sizes``, of (time, batch, features)."""
    if not _has("_rnn_layer", (input, *state, *weights)):
        if sizes is None:
            return _over_steps(STEPS[mode], input, state, weights, reverse)
        return over_packed(STEPS[mode], input, sizes, state, weights, reverse)
    hx, cx = (state[0], None) if len(state) == 1 else state
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    assert w_ih is not None and w_hh is not None
    rows, counts = input, sizes
    if counts is None:
        steps, batch, features = input.shape
        if not steps:
            raise RuntimeError(_EMPTY)
        rows, counts = input.reshape(steps * batch, features), [batch] * steps
    out, hy, cy, _, _ = F._rnn_layer(rows, hx, cx, w_ih, w_hh, b_ih, b_hh, w_hr, counts, mode, reverse)
    if sizes is None:
        out = out.view(*input.shape[:2], out.shape[1])
    return out, (hy,) if cx is None else (hy, cy)


def _weights(params: Sequence[Tensor], has_biases: bool, projected: bool) -> list[Weights]:
    """The weights of each layer and direction."""
    count = 2 + 2 * has_biases + projected
    if len(params) % count:
        raise RuntimeError(
            f"got an incorrect number of RNN parameters: {len(params)}, which is no multiple of {count}"
        )
    found: list[Weights] = []
    for i in range(0, len(params), count):
        own = params[i : i + count]
        _expect_dims("a weight", 2, own[:2])
        biases = own[2:4] if has_biases else (None, None)
        found.append((*own[:2], *biases, own[-1] if projected else None))
    return found


def _stacked(
    mode: str,
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    sizes: Sequence[int] | None,
) -> tuple[Tensor, ...]:
    """All layers: the output of the last, and each part of the states of all directions, stacked."""
    if num_layers < 1:
        raise RuntimeError(f"num_layers must be 1 or more, but got {num_layers}")
    _expect_dims("a hidden state", 3, hx)
    # Outputs that are smaller than cell states are projections.
    weights = _weights(params, has_biases, hx[0].shape[2] != hx[-1].shape[2])
    states = list(zip(*[h.unbind(0) for h in hx], strict=True))
    directions = 2 if bidirectional else 1
    for name, found in (("hidden states", len(states)), ("weights", len(weights))):
        if found % directions:
            raise RuntimeError("Odd number of params or hiddens given to a bidirectional RNN")
        if found != num_layers * directions:
            raise RuntimeError(
                f"Expected more {name} in stacked_rnn: {num_layers * directions} of them, but got {found}"
                if found < num_layers * directions
                else f"Expected fewer {name} in stacked_rnn: {num_layers * directions}, but got {found}"
            )
    ends: list[State] = []
    for layer in range(num_layers):
        outputs = []
        for direction in range(directions):
            i = layer * directions + direction
            out, end = _layer(mode, input, sizes, states[i], weights[i], direction == 1)
            outputs.append(out)
            ends.append(end)
        input = F.cat(outputs, -1) if bidirectional else outputs[0]
        if dropout and train and layer < num_layers - 1:
            input = F.dropout(input, dropout, True)
    return (input, *[F.stack(parts) for parts in zip(*ends, strict=True)])


def _of_input(
    mode: str,
    input: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    _expect_dims("input", 3, [input])
    if batch_first:
        input = input.transpose(0, 1)
    out, *ends = _stacked(
        mode, input, hx, params, has_biases, num_layers, dropout, train, bidirectional, None
    )
    return (out.transpose(0, 1) if batch_first else out, *ends)


def _of_data(
    mode: str,
    data: Tensor,
    batch_sizes: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Tensor],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[Tensor, ...]:
    sizes = _lengths(batch_sizes, "batch_sizes")
    _expect_dims("data", 2, [data])
    data = _rows(data, sizes)
    for h in hx:
        if h.shape[1:2] != (sizes[0],):
            raise RuntimeError(
                f"{running_composite()}: Expected a hidden state of {sizes[0]} sequences, but got one of "
                f"size {list(h.shape)}"
            )
    return _stacked(mode, data, hx, params, has_biases, num_layers, dropout, train, bidirectional, sizes)


def rnn_tanh(input: Tensor, hx: Tensor, *rest: object) -> tuple[Tensor, ...]:
    """Layers with tanh."""
    return _of_input("RNN_TANH", input, (hx,), *rest)  # type: ignore[arg-type]


def rnn_tanh_data(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: object) -> tuple[Tensor, ...]:
    """Layers with tanh, of packed sequences."""
    return _of_data("RNN_TANH", data, batch_sizes, (hx,), *rest)  # type: ignore[arg-type]


def rnn_relu(input: Tensor, hx: Tensor, *rest: object) -> tuple[Tensor, ...]:
    """Layers with relu."""
    return _of_input("RNN_RELU", input, (hx,), *rest)  # type: ignore[arg-type]


def rnn_relu_data(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: object) -> tuple[Tensor, ...]:
    """Layers with relu, of packed sequences."""
    return _of_data("RNN_RELU", data, batch_sizes, (hx,), *rest)  # type: ignore[arg-type]


def gru(input: Tensor, hx: Tensor, *rest: object) -> tuple[Tensor, ...]:
    """Layers of gated recurrent units."""
    return _of_input("GRU", input, (hx,), *rest)  # type: ignore[arg-type]


def gru_data(data: Tensor, batch_sizes: Tensor, hx: Tensor, *rest: object) -> tuple[Tensor, ...]:
    """Layers of gated recurrent units, of packed sequences."""
    return _of_data("GRU", data, batch_sizes, (hx,), *rest)  # type: ignore[arg-type]


def _expect_pair(hx: Sequence[Tensor]) -> None:
    """RuntimeError unless there are an output and a cell state."""
    if len(hx) != 2:
        raise RuntimeError(f"lstm expects two hidden states, but got {len(hx)}")


def lstm(input: Tensor, hx: Sequence[Tensor], *rest: object) -> tuple[Tensor, ...]:
    """Layers of long short-term memory."""
    _expect_pair(hx)
    return _of_input("LSTM", input, hx, *rest)  # type: ignore[arg-type]


def lstm_data(data: Tensor, batch_sizes: Tensor, hx: Sequence[Tensor], *rest: object) -> tuple[Tensor, ...]:
    """Layers of long short-term memory, of packed sequences."""
    _expect_pair(hx)
    return _of_data("LSTM", data, batch_sizes, hx, *rest)  # type: ignore[arg-type]


# ------------------------------------------------------------------------ packed sequences


def _lengths(sizes: Tensor, name: str) -> list[int]:
    """The numbers; RuntimeError unless they are a vector of int64."""
    if sizes.ndim != 1 or sizes.dtype != int64:
        raise RuntimeError(
            f"{running_composite()}: '{name}' argument should be a 1D CPU int64 tensor, but got "
            f"{sizes.ndim}D {sizes.dtype} tensor"
        )
    found: list[int] = sizes.tolist()
    return found


def _rows(data: Tensor, sizes: Sequence[int]) -> Tensor:
    """As many rows as there are; RuntimeError where they are too few, or a later size is the greater."""
    if any([a < b for a, b in pairwise(sizes)]) or not sizes:
        raise RuntimeError(
            f"{running_composite()}: batch_sizes must be one or more numbers that do not increase, but "
            f"got {sizes}"
        )
    if not data.ndim or sum(sizes) > data.shape[0]:
        raise RuntimeError(
            f"{running_composite()}: batch_sizes {sizes} need {sum(sizes)} rows of data, but got "
            f"{list(data.shape)}"
        )
    return data.narrow(0, 0, sum(sizes))


def _places(sizes: Sequence[int], steps: int, batch: int, batch_first: bool) -> list[int]:
    """Where in the flattened dims of time and batch the packed rows are."""
    by_time, by_row = (1, steps) if batch_first else (batch, 1)
    return [t * by_time + b * by_row for t, size in enumerate(sizes) for b in range(size)]


def pack_padded_sequence(input: Tensor, lengths: Tensor, batch_first: bool) -> tuple[Tensor, Tensor]:
    """The rows that sequences have, by time, and how many there are at each time. IndexError for less than
    two dimensions; RuntimeError for lengths that are not one for each row of the batch, from 1 to the number
    of steps, in descending order."""
    if input.ndim < 2:
        raise IndexError(f"pack_padded_sequence: input must have 2 or more dims, but it has {input.ndim}")
    counts = _lengths(lengths, "lengths")
    if not input.numel():
        raise RuntimeError("pack_padded_sequence: Cannot pack empty tensors.")
    batch, steps = input.shape[:2] if batch_first else (input.shape[1], input.shape[0])
    if len(counts) != batch:
        raise RuntimeError(
            f"pack_padded_sequence: Expected `len(lengths)` to be equal to batch_size, but got {len(counts)} "
            f"(batch_size={batch})"
        )
    if any([n <= 0 for n in counts]):
        raise RuntimeError(
            "pack_padded_sequence: Length of all samples has to be greater than 0, but found an element in "
            "'lengths' that is <= 0"
        )
    if any([a < b for a, b in pairwise(counts)]):
        raise RuntimeError(
            "lengths must be sorted in decreasing order when `enforce_sorted` is True; with "
            "`enforce_sorted=False` pack_padded_sequence and pack_sequence sort them"
        )
    if counts[0] > steps:
        raise RuntimeError(
            f"pack_padded_sequence: a length of {counts[0]} exceeds the {steps} steps of input"
        )
    sizes = [sum([n > t for n in counts]) for t in range(counts[0])]
    places = lengths.new_tensor(_places(sizes, steps, batch, batch_first))
    return input.flatten(0, 1).index_select(0, places), lengths.new_tensor(sizes)


def pad_packed_sequence(
    data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: float, total_length: int
) -> tuple[Tensor, Tensor]:
    """The sequences side by side, filled up with ``padding_value``, and their lengths. RuntimeError for a
    ``total_length`` below the longest, unless it is 0 or less, which asks for none."""
    sizes = _lengths(batch_sizes, "batch_sizes")
    data = _rows(data, sizes)
    steps, batch = len(sizes), sizes[0]
    if total_length > 0:
        if total_length < steps:
            raise RuntimeError(
                "Expected total_length to be at least the length of the longest sequence in input, but got "
                f"total_length={total_length} and max sequence length being {steps}"
            )
        steps = total_length
    places = batch_sizes.new_tensor(_places(sizes, steps, batch, False))
    flat = data.new_full((steps * batch, *data.shape[1:]), padding_value).index_copy(0, places, data)
    padded = flat.reshape(steps, batch, *data.shape[1:])
    lengths = [sum([size > row for size in sizes]) for row in range(batch)]
    return padded.transpose(0, 1) if batch_first else padded, batch_sizes.new_tensor(lengths)
