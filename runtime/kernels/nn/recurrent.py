"""Recurrent layers in one direction, over all steps at once, and their gradients.

A layer reads packed sequences: the rows of the first step of all sequences, those of the second step of all
that are as long, and so on. ``batch_sizes`` has the number of rows of each step, which never rises, so that
the state of a sequence keeps its row. What the input contributes to the gates is one product for all steps;
a step adds what the state contributes and computes in place. On the way back a step multiplies what the
chain rule needs, which was computed for all steps at once, with the gradient of its state.

Of LSTM and GRU all that a step does but its product is one native kernel, where there is one. What both ways
save for the gradients is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np

from ..contractions import is_few_rows, linear
from ..native_kernels import kernel_of_floats
from ..sums import sum_floats
from .common import Array, Shape

Blocks = Sequence[tuple[int, int]]  # the rows of each step, in the order in which the steps are computed
Optional = Array | None
Gradients = tuple[Optional, ...]
#: The copy of a weight takes as long as two or three products.
_STEPS_WORTH_A_COPY = 4


class Weights(NamedTuple):
    """Those of the input and of the state, their biases, and the projection of the output."""

    w_ih: Array
    w_hh: Array
    b_ih: Optional
    b_hh: Optional
    w_hr: Optional


class Saved(NamedTuple):
    """What the forward pass knows: the outputs, the gates, and what else a mode needs, by rows."""

    output: Array
    gates: Array
    inner: Array


class Forward(NamedTuple):
    """What the layer returns: the outputs, the last states, and what the gradients need."""

    output: Array
    hy: Array
    cy: Array
    gates: Array
    inner: Array


class Backward(NamedTuple):
    """The gradients of what input and state contribute to the gates, of the states and of the projection."""

    of_input: Array
    of_state: Array
    hx: Array
    cx: Optional
    w_hr: Optional


def gate_count(mode: str) -> int:
    """How many gates a unit has; RuntimeError for no mode."""
    found = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}.get(mode)
    if found is None:
        raise RuntimeError(f"mode must be RNN_TANH, RNN_RELU, GRU or LSTM, but got {mode}")
    return found


def rnn_layer_shapes(
    input: Any, hx: Any, cx: Any, weights: Weights, batch_sizes: Sequence[int], mode: str
) -> tuple[int, int, int]:
    """The numbers of rows, of hidden units and of outputs; Meta shares it.

    Raises RuntimeError for sizes that are not each other's.
    """
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    sizes = list(batch_sizes)
    if not sizes or sizes != sorted(sizes, reverse=True) or sizes[-1] < 0:
        raise RuntimeError(f"batch_sizes must be one or more numbers that do not increase, but got {sizes}")
    if w_ih.ndim != 2 or w_hh.ndim != 2 or w_ih.shape[0] != w_hh.shape[0] or w_hh.shape[0] % gate_count(mode):
        raise RuntimeError(
            f"the weights of {mode} must be matrices of as many rows, {gate_count(mode)} for each unit, but "
            f"got {list(w_ih.shape)} and {list(w_hh.shape)}"
        )
    rows, hidden = sum(sizes), w_hh.shape[0] // gate_count(mode)
    out = hidden if w_hr is None else w_hr.shape[0]
    expected: list[tuple[str, Any, Shape]] = [
        ("input", input, (rows, w_ih.shape[1])),
        ("hx", hx, (sizes[0], out)),
        ("w_hh", w_hh, (w_hh.shape[0], out)),
    ]
    expected += [(name, b, w_ih.shape[:1]) for name, b in (("b_ih", b_ih), ("b_hh", b_hh)) if b is not None]
    if w_hr is not None:
        expected.append(("w_hr", w_hr, (out, hidden)))
    if (cx is None) != (mode != "LSTM") or (w_hr is not None and cx is None):
        raise RuntimeError(f"LSTM alone has a cell state and a projection, but the mode is {mode}")
    if cx is not None:
        expected.append(("cx", cx, (sizes[0], hidden)))
    for name, array, shape in expected:
        if array.shape != shape:
            raise RuntimeError(f"Expected {name} of size {list(shape)}, but got {list(array.shape)}")
    return rows, hidden, out


def _blocks(batch_sizes: Sequence[int], reverse: bool) -> Blocks:
    ends = list(accumulate(batch_sizes))
    found = [(end - size, end) for end, size in zip(ends, batch_sizes, strict=True)]
    return found[::-1] if reverse else found


def _steps(arrays: Sequence[Array], blocks: Blocks) -> Iterator[tuple[Array, ...]]:
    """The rows of each step, of all arrays."""
    (begin, end), count = blocks[0], len(blocks)
    size = end - begin
    if size * count != len(arrays[0]) or size != blocks[-1][1] - blocks[-1][0]:
        return (tuple([a[begin:end] for a in arrays]) for begin, end in blocks)
    order = slice(None) if begin == 0 else slice(None, None, -1)
    return zip(*[a.reshape(count, size, *a.shape[1:])[order] for a in arrays], strict=True)


def _followed(state: Array, rows: Array) -> Array:
    """The state after a step that computed the first rows; the others have ended, or not begun."""
    return rows if len(rows) == len(state) else np.concatenate([rows, state[len(rows) :]])


def _before(state: Array, rows: Array, blocks: Blocks) -> Array:
    """The state before each step, from the first one and those after each step."""
    size = len(state)
    if len(rows) == size * len(blocks):
        parts = (rows[size:], state) if blocks[0][0] else (state, rows[: len(rows) - size])
        return np.concatenate(parts)
    found = np.empty_like(rows)
    for begin, end in blocks:
        found[begin:end] = state[: end - begin]
        state = _followed(state, rows[begin:end])
    return found


def _by_gate(rows: Array, order: Sequence[int]) -> Array:
    """A weight as ``(gates, in, hidden)``, or a bias as ``(gates, hidden)``."""
    table = rows.reshape(len(order), -1, *rows.shape[1:])[list(order)]
    return table if rows.ndim == 1 else table.swapaxes(1, 2)


def _of_input(input: Array, weights: Weights, order: Sequence[int], squashed: int) -> tuple[Array, Array]:
    """What the input adds to the gates, ``(gates, rows, hidden)``, and the weights of the state by gate.

    Of the first gates, of which there will be the sigmoid, all is negated. The biases are in it, but not what
    a further gate adds to the state.
    """
    gates = np.matmul(input, _by_gate(weights.w_ih, order))
    for bias, count in (
        (weights.b_ih, len(order)),
        (weights.b_hh, squashed if len(order) == 3 else len(order)),
    ):
        if bias is not None:
            np.add(gates[:count], _by_gate(bias, order)[:count, None], out=gates[:count])
    by_state = np.ascontiguousarray(_by_gate(weights.w_hh, order))
    for part in (gates[:squashed], by_state[:squashed]):
        np.negative(part, out=part)
    return gates, by_state


def _sigmoid(negated: Array, one: Array, out: Array) -> None:
    """As the operator computes it, of the negated numbers; these are lost."""
    np.exp(negated, out=negated)
    np.add(negated, one, out=negated)
    np.reciprocal(negated, out=out)


def _by_state(weight: Array, blocks: Blocks) -> Array:
    """The transposed weight: a copy where the products of all steps are faster by more than it costs."""
    rows = max([end - begin for begin, end in blocks])
    worth = len(blocks) > _STEPS_WORTH_A_COPY and is_few_rows(rows, weight)
    return np.ascontiguousarray(weight.T) if worth else weight.T


def _in_torch_order(input: Array, weights: Weights, gates: int, with_state: int) -> Array:
    """What the input adds to the gates, ``(rows, gates, hidden)``, and to the first ones the state's bias."""
    hidden = len(weights.w_ih) // gates
    b_ih, b_hh = weights.b_ih, weights.b_hh
    if with_state == gates and b_ih is not None and b_hh is not None:  # one pass less
        b_ih, b_hh = b_ih + b_hh, None
    found = linear(input, weights.w_ih, b_ih).reshape(len(input), gates, hidden)
    if b_hh is not None:
        part = found[:, :with_state]
        np.add(part, b_hh.reshape(gates, hidden)[:with_state], out=part)
    return found


# ------------------------------------------------------------------------------ tanh and relu


def _rnn_forward(activation: Any, input: Array, hx: Array, weights: Weights, blocks: Blocks) -> Forward:
    output = linear(input, weights.w_ih, weights.b_ih)
    if weights.b_hh is not None:
        np.add(output, weights.b_hh, out=output)
    h, by_state = hx, np.ascontiguousarray(weights.w_hh.T)
    for begin, end in blocks:
        now = output[begin:end]
        np.add(now, h[: end - begin].dot(by_state), out=now)
        activation(now, now)
        h = _followed(h, now)
    nothing = [np.empty(0, output.dtype) for _ in range(3)]
    return Forward(output, h, *nothing)


def _tanh(x: Array, out: Array) -> None:
    np.tanh(x, out=out)


def _relu(x: Array, out: Array) -> None:
    np.maximum(x, 0, out=out)


def _tanh_backward(grad: Array, out: Array, result: Array) -> None:
    np.multiply(out, out, out=result)
    np.subtract(1, result, out=result)
    np.multiply(result, grad, out=result)


def _relu_backward(grad: Array, out: Array, result: Array) -> None:
    np.copyto(result, grad)
    np.putmask(result, out <= 0, 0)


def _rnn_backward(
    activation: Any, grads: tuple[Array, ...], weights: Weights, saved: Saved, blocks: Blocks
) -> Backward:
    grad_output, grad_h = grads[0], grads[1].copy()
    found = np.empty_like(saved.output)
    for begin, end in reversed(blocks):
        grad, now = grad_h[: end - begin], found[begin:end]
        np.add(grad, grad_output[begin:end], out=grad)
        activation(grad, saved.output[begin:end], now)
        np.dot(now, weights.w_hh, out=grad)
    return Backward(found, found, grad_h, None, None)


# -------------------------------------------------------------------------------------- GRU


def _gru_forward(input: Array, hx: Array, weights: Weights, blocks: Blocks) -> Forward:
    """Gates r, z and n; beside them what the state contributes to n."""
    if (cell := kernel_of_floats("gru_cell", input.dtype)) is not None:
        return _gru_forward_native(cell, input, hx, weights, blocks)
    gates, by_state = _of_input(input, weights, (0, 1, 2), 2)
    batch, hidden = hx.shape
    output, inner = (np.empty((len(input), hidden), gates.dtype) for _ in range(2))
    one, b_n = np.ones((), gates.dtype), 0 if weights.b_hh is None else weights.b_hh[2 * hidden :]
    h, space = hx, np.empty((3, batch, hidden), gates.dtype)
    for begin, end in blocks:
        size = end - begin
        now, before, out, of_n = gates[:, begin:end], h[:size], output[begin:end], inner[begin:end]
        of_state = space if size == batch else space[:, :size]
        np.matmul(before, by_state, out=of_state)
        np.add(of_state[2], b_n, out=of_n)
        squashed = of_state[:2]
        np.add(squashed, now[:2], out=squashed)
        _sigmoid(squashed, one, now[:2])
        r, z, n = now
        np.multiply(r, of_n, out=out)
        np.add(n, out, out=n)
        np.tanh(n, out=n)
        np.subtract(before, n, out=out)
        np.multiply(out, z, out=out)
        np.add(out, n, out=out)
        h = _followed(h, out)
    return Forward(output, h, np.empty(0, gates.dtype), gates, inner)


def _gru_forward_native(cell: Any, input: Array, hx: Array, weights: Weights, blocks: Blocks) -> Forward:
    batch, hidden = hx.shape
    dtype = input.dtype
    of_input = _in_torch_order(input, weights, 3, 2)
    gates, output, inner = (np.empty((*n, len(input), hidden), dtype) for n in ((3,), (), ()))
    bias = np.zeros(hidden, dtype) if weights.b_hh is None else weights.b_hh[2 * hidden :]
    h, by_state, space = hx, _by_state(weights.w_hh, blocks), np.empty((batch, 3 * hidden), dtype)
    table = space.reshape(batch, 3, hidden)
    for rows, *results in _steps((of_input, *gates, inner, output), blocks):
        size = len(rows)
        before = h[:size]
        before.dot(by_state, space[:size])
        cell(rows, table[:size], before, bias, out=tuple(results))
        h = _followed(h, results[4])
    return Forward(output, h, np.empty(0, dtype), gates, inner)


def _gru_backward(
    grads: tuple[Array, ...], hx: Array, weights: Weights, saved: Saved, blocks: Blocks
) -> Backward:
    if (cell := kernel_of_floats("gru_cell_backward", hx.dtype)) is not None:
        return _gru_backward_native(cell, grads, hx, weights, saved, blocks)
    grad_output, grad_h = grads[0], grads[1].copy()
    rows, hidden = saved.output.shape
    r, z, n = saved.gates
    # Of a unit of the state's gradient: r, z and n for the state, n for the input.
    found = np.empty((4, rows, hidden), r.dtype)
    np.multiply(1 - z, 1 - n * n, out=found[3])
    np.multiply(found[3], r, out=found[2])
    np.multiply(found[2] * saved.inner, 1 - r, out=found[0])
    np.multiply(_before(hx, saved.output, blocks) - n, z * (1 - z), out=found[1])
    of_state = np.empty((rows, 3 * hidden), r.dtype)
    for begin, end in reversed(blocks):
        grad, now, through = grad_h[: end - begin], found[:, begin:end], of_state[begin:end]
        np.add(grad, grad_output[begin:end], out=grad)
        np.multiply(now, grad, out=now)
        np.concatenate((now[0], now[1], now[2]), 1, out=through)
        np.multiply(grad, z[begin:end], out=grad)
        np.add(grad, through.dot(weights.w_hh), out=grad)
    of_input = np.concatenate((found[0], found[1], found[3]), 1)
    return Backward(of_input, of_state, grad_h, None, None)


def _gru_backward_native(
    cell: Any, grads: tuple[Array, ...], hx: Array, weights: Weights, saved: Saved, blocks: Blocks
) -> Backward:
    grad_output, grad_h = grads[0], grads[1].copy()
    rows, hidden = saved.output.shape
    of_state, of_input = (np.empty((rows, 3, hidden), hx.dtype) for _ in range(2))
    products, befores = of_state.reshape(rows, 3 * hidden), _before(hx, saved.output, blocks)
    of_before = np.empty_like(grad_h)
    # The arrays from which a step takes its rows, and those into which it gives them.
    given = (grad_output, *saved.gates, saved.inner, befores)
    taken = (of_state[:, 0], of_state[:, 1], of_state[:, 2], of_input[:, 2])
    for product, outside, *parts in _steps((products, *given, *taken), blocks[::-1]):
        grad, through = grad_h[: len(product)], of_before[: len(product)]
        cell(outside, grad, *parts[:5], out=(*parts[5:], through))
        product.dot(weights.w_hh, grad)
        np.add(grad, through, out=grad)
    of_input[:, :2] = of_state[:, :2]
    return Backward(of_input.reshape(products.shape), products, grad_h, None, None)


# ------------------------------------------------------------------------------------- LSTM


def _lstm_forward(input: Array, hx: Array, cx: Array, weights: Weights, blocks: Blocks) -> Forward:
    """Gates i, f, o and g; beside them the cell states, and these after tanh."""
    if (cell := kernel_of_floats("lstm_cell", input.dtype)) is not None:
        return _lstm_forward_native(cell, input, hx, cx, weights, blocks)
    gates, by_state = _of_input(input, weights, (0, 1, 3, 2), 3)
    batch, hidden = cx.shape
    output = np.empty((len(input), hx.shape[1]), gates.dtype)
    inner = np.empty((2, len(input), hidden), gates.dtype)
    one, projection = np.ones((), gates.dtype), None if weights.w_hr is None else weights.w_hr.T
    h, c, space = hx, cx, np.empty((4, batch, hidden), gates.dtype)
    for begin, end in blocks:
        size, now, (cell, shown) = end - begin, gates[:, begin:end], inner[:, begin:end]
        sums = space if size == batch else space[:, :size]
        np.matmul(h[:size], by_state, out=sums)
        np.add(sums, now, out=sums)
        i, f, o, g = now
        np.tanh(sums[3], out=g)
        _sigmoid(sums[:3], one, now[:3])
        product = sums[3]
        np.multiply(i, g, out=product)
        np.multiply(f, c[:size], out=cell)
        np.add(cell, product, out=cell)
        np.tanh(cell, out=shown)
        if projection is None:
            np.multiply(o, shown, out=output[begin:end])
        else:
            np.dot(np.multiply(o, shown), projection, out=output[begin:end])
        h, c = _followed(h, output[begin:end]), _followed(c, cell)
    return Forward(output, h, c, gates, inner)


def _lstm_forward_native(
    kernel: Any, input: Array, hx: Array, cx: Array, weights: Weights, blocks: Blocks
) -> Forward:
    (batch, hidden), dtype = cx.shape, input.dtype
    of_input = _in_torch_order(input, weights, 4, 4)
    gates, inner = (np.empty((n, len(input), hidden), dtype) for n in (4, 2))
    output = np.empty((len(input), hx.shape[1]), dtype)
    w_hr = weights.w_hr
    shown = output if w_hr is None else np.empty((len(input), hidden), dtype)
    h, c, by_state, space = hx, cx, _by_state(weights.w_hh, blocks), np.empty((batch, 4 * hidden), dtype)
    table = space.reshape(batch, 4, hidden)
    for rows, out, *results in _steps((of_input, output, *gates, *inner, shown), blocks):
        size = len(rows)
        h[:size].dot(by_state, space[:size])
        kernel(rows, table[:size], c[:size], out=tuple(results))
        if w_hr is not None:
            results[6].dot(w_hr.T, out)
        h, c = _followed(h, out), _followed(c, results[4])
    return Forward(output, h, c, gates, inner)


def _lstm_backward(
    grads: tuple[Array, ...], cx: Array, weights: Weights, saved: Saved, blocks: Blocks
) -> Backward:
    if (kernel := kernel_of_floats("lstm_cell_backward", cx.dtype)) is not None:
        return _lstm_backward_native(kernel, grads, cx, weights, saved, blocks)
    grad_output, grad_h, grad_c = grads[0], grads[1].copy(), grads[2].copy()
    (cells, shown), (i, f, o, g), w_hr = saved.inner, saved.gates, weights.w_hr
    rows, hidden = cells.shape
    # Of a unit of the cell's gradient: i, f and g; of one of the output's: o, and the cell.
    found = np.empty((4, rows, hidden), cells.dtype)
    np.multiply(g, i * (1 - i), out=found[0])
    np.multiply(_before(cx, cells, blocks), f * (1 - f), out=found[1])
    np.multiply(i, 1 - g * g, out=found[2])
    np.multiply(shown, o * (1 - o), out=found[3])
    of_cell = (1 - shown * shown) * o
    of_gates = np.empty((rows, 4 * hidden), cells.dtype)
    of_output = None if w_hr is None else np.empty_like(saved.output)
    for begin, end in reversed(blocks):
        grad, cell, step = grad_h[: end - begin], grad_c[: end - begin], of_cell[begin:end]
        np.add(grad, grad_output[begin:end], out=grad)
        inside = grad
        if of_output is not None:
            of_output[begin:end] = grad
            inside = grad.dot(w_hr)
        np.multiply(step, inside, out=step)
        np.add(cell, step, out=cell)
        now, through = found[:, begin:end], of_gates[begin:end]
        by_cell = now[:3]
        np.multiply(by_cell, cell, out=by_cell)
        np.multiply(now[3], inside, out=now[3])
        np.concatenate((now[0], now[1], now[2], now[3]), 1, out=through)
        np.multiply(cell, f[begin:end], out=cell)
        np.dot(through, weights.w_hh, out=grad)
    projected = None if of_output is None else of_output.T.dot(o * shown)
    return Backward(of_gates, of_gates, grad_h, grad_c, projected)


def _lstm_backward_native(
    kernel: Any, grads: tuple[Array, ...], cx: Array, weights: Weights, saved: Saved, blocks: Blocks
) -> Backward:
    (grad_output, last_h, grad_c), w_hr, gates = grads, weights.w_hr, saved.gates
    grad_h, (cells, shown) = last_h.copy(), saved.inner
    rows, hidden = cells.shape
    of_gates = np.empty((rows, 4, hidden), cells.dtype)
    products, befores = of_gates.reshape(rows, 4 * hidden), _before(cx, cells, blocks)
    taken = [of_gates[:, gate] for gate in range(4)]
    by_row, spare = gates.swapaxes(0, 1), [np.empty_like(grad_c) for _ in range(2)]
    of_output = None if w_hr is None else np.empty_like(saved.output)
    projects = grad_output if of_output is None else of_output
    given = (products, projects, grad_output, by_row, befores, shown)
    for product, projected, outside, gate, before, tanh, *results in _steps((*given, *taken), blocks[::-1]):
        size = len(product)
        inside, through = grad_h[:size], spare[0][:size]
        if of_output is not None:
            np.add(outside, inside, out=projected)
            outside, inside = np.zeros((1, hidden), cells.dtype), projected.dot(w_hr)
        kernel(outside, inside, grad_c[:size], gate, before, tanh, out=(*results, through))
        product.dot(weights.w_hh, grad_h[:size])
        grad_c = _followed(grad_c, through)
        spare.reverse()
    of_projection = None if of_output is None else of_output.T.dot(gates[2] * shown)
    return Backward(products, products, grad_h, grad_c, of_projection)


# ------------------------------------------------------------------------------------ kernels


def rnn_layer(
    input: Array,
    hx: Array,
    cx: Optional,
    w_ih: Array,
    w_hh: Array,
    b_ih: Optional,
    b_hh: Optional,
    w_hr: Optional,
    batch_sizes: Sequence[int],
    mode: str,
    reverse: bool,
) -> Forward:
    """Outputs (rows, out), the last output and cell states, the gates, and what else the gradients need."""
    weights = Weights(w_ih, w_hh, b_ih, b_hh, w_hr)
    rnn_layer_shapes(input, hx, cx, weights, batch_sizes, mode)
    blocks = _blocks(batch_sizes, reverse)
    if mode == "LSTM":
        found = _lstm_forward(input, hx, cx, weights, blocks)
    elif mode == "GRU":
        found = _gru_forward(input, hx, weights, blocks)
    else:
        found = _rnn_forward(_tanh if mode == "RNN_TANH" else _relu, input, hx, weights, blocks)
    # The last states have memory of their own.
    cy = found.cy.copy() if mode == "LSTM" else found.cy
    return found._replace(hy=found.hy.copy(), cy=cy)


def rnn_layer_backward(
    grad_output: Array,
    grad_hy: Array,
    grad_cy: Array,
    input: Array,
    hx: Array,
    cx: Optional,
    w_ih: Array,
    w_hh: Array,
    b_ih: Optional,
    b_hh: Optional,
    w_hr: Optional,
    batch_sizes: Sequence[int],
    mode: str,
    reverse: bool,
    output: Array,
    gates: Array,
    inner: Array,
    output_mask: Sequence[bool],
) -> Gradients:
    """The gradients of input, states, weights, biases and projection; None where the mask asks for none."""
    weights, saved = Weights(w_ih, w_hh, b_ih, b_hh, w_hr), Saved(output, gates, inner)
    blocks = _blocks(batch_sizes, reverse)
    grads = (grad_output, grad_hy, grad_cy)
    if mode == "LSTM":
        found = _lstm_backward(grads, cx, weights, saved, blocks)
    elif mode == "GRU":
        found = _gru_backward(grads, hx, weights, saved, blocks)
    else:
        activation = _tanh_backward if mode == "RNN_TANH" else _relu_backward
        found = _rnn_backward(activation, grads, weights, saved, blocks)
    of_input, of_state = found.of_input, found.of_state
    b_ih = sum_floats(of_input, (0,), False) if output_mask[5] else None

    def of_state_bias() -> Array:
        return b_ih.copy() if of_state is of_input and b_ih is not None else sum_floats(of_state, (0,), False)

    made: tuple[Callable[[], Optional], ...] = (
        lambda: of_input.dot(w_ih),
        lambda: found.hx,
        lambda: found.cx,
        lambda: of_input.T.dot(input),
        lambda: of_state.T.dot(_before(hx, output, blocks)),
        lambda: b_ih,
        of_state_bias,
        lambda: found.w_hr,
    )
    return tuple([make() if wanted else None for make, wanted in zip(made, output_mask, strict=True)])
