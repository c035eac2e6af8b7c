"""What recurrent cells do between their products: from what input and state add to the gates, the new state.

A cell has all at once, by a native kernel where there is one. ``workspace`` is what the gradients need.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..cpu import copy
from ..native_kernels import kernel_of_floats
from .common import Array

Table = Sequence[Array]


def expect_gates(count: int, input_gates: Any, hidden_gates: Any, state: Any) -> None:
    """RuntimeError unless both have ``count`` gates for each unit of a state (batch, units)."""
    if state.ndim != 2:
        raise RuntimeError(f"a state of a cell must have 2 dims, but is of size {list(state.shape)}")
    expected = (state.shape[0], count * state.shape[1])
    for name, gates in (("input_gates", input_gates), ("hidden_gates", hidden_gates)):
        if gates.shape != expected:
            raise RuntimeError(f"Expected {name} of size {list(expected)}, but got {list(gates.shape)}")


def _parts(array: Array, count: int) -> Array:
    """The gates of each row, (batch, count, units)."""
    rows, columns = array.shape
    return array.reshape(rows, count, columns // count)


def _columns(array: Array, count: int) -> Table:
    """The gates, (batch, units) each."""
    units = array.shape[1] // count
    return [array[:, i * units : (i + 1) * units] for i in range(count)]


def _sigmoid(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.reciprocal(out, out=out)


# ------------------------------------------------------------------------------------- LSTM


def fused_lstm_cell(input_gates: Array, hidden_gates: Array, cx: Array) -> tuple[Array, Array, Array]:
    """The output, the cell state, and the gates i, f, o and g with tanh of the cell state beside them."""
    expect_gates(4, input_gates, hidden_gates, cx)
    hy, cy = (np.empty(cx.shape, cx.dtype) for _ in range(2))
    workspace = np.empty((len(cx), 5 * cx.shape[1]), cx.dtype)
    i, f, o, g, shown = _columns(workspace, 5)
    if (kernel := kernel_of_floats("lstm_cell", cx.dtype)) is not None:
        kernel(_parts(input_gates, 4), _parts(hidden_gates, 4), cx, out=(i, f, o, g, cy, shown, hy))
        return hy, cy, workspace
    sums = _columns(np.add(input_gates, hidden_gates), 4)
    for gate, of in ((i, 0), (f, 1), (o, 3)):
        _sigmoid(sums[of], gate)
    np.tanh(sums[2], out=g)
    np.multiply(f, cx, out=cy)
    np.add(cy, np.multiply(i, g), out=cy)
    np.tanh(cy, out=shown)
    np.multiply(o, shown, out=hy)
    return hy, cy, workspace


def fused_lstm_cell_backward(
    grad_hy: Array, grad_cy: Array, input_gates: Array, hidden_gates: Array, cx: Array, workspace: Array
) -> tuple[Array, Array, Array]:
    """The gradients of what input and state add to the gates, and of the cell state."""
    grads, of_cx = np.empty(input_gates.shape, cx.dtype), np.empty(cx.shape, cx.dtype)
    i, f, o, g, shown = _columns(workspace, 5)
    of_i, of_f, of_g, of_o = _columns(grads, 4)
    if (kernel := kernel_of_floats("lstm_cell_backward", cx.dtype)) is not None:
        gates = _parts(workspace, 5)[:, :4]
        nothing = np.zeros(cx.shape[1], cx.dtype)
        kernel(grad_hy, nothing, grad_cy, gates, cx, shown, out=(of_i, of_f, of_g, of_o, of_cx))
    else:
        through = grad_cy + grad_hy * ((1 - shown * shown) * o)
        np.multiply(through, g * (i * (1 - i)), out=of_i)
        np.multiply(through, cx * (f * (1 - f)), out=of_f)
        np.multiply(through, i * (1 - g * g), out=of_g)
        np.multiply(grad_hy, shown * (o * (1 - o)), out=of_o)
        np.multiply(through, f, out=of_cx)
    return grads, grads.copy(), of_cx


# -------------------------------------------------------------------------------------- GRU


def fused_gru_cell(input_gates: Array, hidden_gates: Array, hx: Array) -> tuple[Array, Array]:
    """The state, and the gates r, z and n with what the state adds to n beside them."""
    expect_gates(3, input_gates, hidden_gates, hx)
    hy = np.empty(hx.shape, hx.dtype) if hx.flags.c_contiguous else copy(hx)  # in memory as hx is
    workspace = np.empty((len(hx), 4 * hx.shape[1]), hx.dtype)
    r, z, n, inner = _columns(workspace, 4)
    if (kernel := kernel_of_floats("gru_cell", hx.dtype)) is not None:
        nothing = np.zeros(hx.shape[1], hx.dtype)
        kernel(_parts(input_gates, 3), _parts(hidden_gates, 3), hx, nothing, out=(r, z, n, inner, hy))
        return hy, workspace
    x, h = _columns(input_gates, 3), _columns(hidden_gates, 3)
    for gate, of in ((r, 0), (z, 1)):
        _sigmoid(np.add(x[of], h[of]), gate)
    np.copyto(inner, h[2])
    np.add(x[2], np.multiply(r, inner), out=n)
    np.tanh(n, out=n)
    np.subtract(hx, n, out=hy)
    np.multiply(hy, z, out=hy)
    np.add(hy, n, out=hy)
    return hy, workspace


def fused_gru_cell_backward(
    grad_hy: Array, input_gates: Array, hidden_gates: Array, hx: Array, workspace: Array
) -> tuple[Array, Array, Array]:
    """The gradients of what input and state add to the gates, and of the state."""
    of_input, of_hidden = (np.empty(input_gates.shape, hx.dtype) for _ in range(2))
    of_hx, units = np.empty(hx.shape, hx.dtype), hx.shape[1]
    r, z, n, inner = _columns(workspace, 4)
    (of_r, of_z, of_inner), of_new = _columns(of_hidden, 3), of_input[:, 2 * units :]
    if (kernel := kernel_of_floats("gru_cell_backward", hx.dtype)) is not None:
        nothing, results = np.zeros(units, hx.dtype), (of_r, of_z, of_inner, of_new, of_hx)
        kernel(grad_hy, nothing, r, z, n, inner, hx, out=results)
    else:
        np.multiply(grad_hy, (1 - z) * (1 - n * n), out=of_new)
        np.multiply(of_new, r, out=of_inner)
        np.multiply(of_new, inner * (r * (1 - r)), out=of_r)
        np.multiply(grad_hy, (hx - n) * (z * (1 - z)), out=of_z)
        np.multiply(grad_hy, z, out=of_hx)
    of_input[:, : 2 * units] = of_hidden[:, : 2 * units]
    return of_input, of_hidden, of_hx
