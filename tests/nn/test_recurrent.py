"""Recurrent layers: beside loops over NumPy arrays, beside PyTorch, and packed beside padded sequences."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.generated import functions as F

GATES = {"rnn_tanh": 1, "rnn_relu": 1, "gru": 3, "lstm": 4}
STEPS, BATCH, INPUT, HIDDEN, PROJECTED = 4, 3, 5, 2, 1
LENGTHS = [4, 2, 1]
SIZES = [3, 2, 1, 1]


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def step(name: str, x: Any, h: Any, c: Any, own: list[Any]) -> tuple[Any, Any]:
    """The next output and cell state, as the definitions of the layers read."""
    w_ih, w_hh, b_ih, b_hh, *projection = own
    of_input, of_state = x @ w_ih.T + b_ih, h @ w_hh.T + b_hh
    if name == "rnn_tanh":
        return np.tanh(of_input + of_state), c
    if name == "rnn_relu":
        return np.maximum(of_input + of_state, 0), c
    if name == "gru":
        (r, z, n), (hr, hz, hn) = np.split(of_input, 3, -1), np.split(of_state, 3, -1)
        n = np.tanh(n + sigmoid(r + hr) * hn)
        z = sigmoid(z + hz)
        return (1 - z) * n + z * h, c
    i, f, g, o = np.split(of_input + of_state, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    out = sigmoid(o) * np.tanh(c)
    return (out @ projection[0].T if projection else out), c


def arrays(
    name: str, layers: int, directions: int, biases: bool, projected: bool
) -> tuple[Any, list[Any], list[Any]]:
    """An input, the first states, and the weights of all layers."""
    rng = np.random.default_rng(3)
    out = PROJECTED if projected else HIDDEN
    weights = []
    for layer, _ in product(range(layers), range(directions)):
        rows = GATES[name] * HIDDEN
        shapes = [(rows, out * directions if layer else INPUT), (rows, out)]
        shapes += [(rows,), (rows,)] if biases else []
        shapes += [(out, HIDDEN)] if projected else []
        weights += [rng.standard_normal(s) for s in shapes]
    states = [rng.standard_normal((layers * directions, BATCH, out))]
    if name == "lstm":
        states.append(rng.standard_normal((layers * directions, BATCH, HIDDEN)))
    return rng.standard_normal((STEPS, BATCH, INPUT)), states, weights


def made(*case: Any) -> tuple[Any, ...]:
    """The input, states and weights as arrays, and the states and weights as tensors."""
    x, states, weights = arrays(*case)
    return x, states, weights, *([tengen.from_numpy(a) for a in some] for some in (states, weights))


def expected(name: str, x: Any, states: list[Any], weights: list[Any], directions: int, lengths: Any) -> Any:
    """Each sequence by itself: outputs, zeros where it has ended, and the last states."""
    per = len(weights) // len(states[0])
    ends = [s.copy() for s in states]
    for place in range(0, len(states[0]), directions):
        outs = [np.zeros((STEPS, BATCH, states[0].shape[-1])) for _ in range(directions)]
        for direction, row in product(range(directions), range(BATCH)):
            index = place + direction
            own = weights[index * per : (index + 1) * per]
            if per == 2 or (per == 3 and own[2].ndim == 2):
                own = [*own[:2], 0, 0, *own[2:]]
            h, c = states[0][index, row], states[-1][index, row]
            times = range(lengths[row])
            for t in reversed(times) if direction else times:
                h, c = step(name, x[t, row], h, c, own)
                outs[direction][t, row] = h
            if name == "lstm":
                ends[1][index, row] = c
            ends[0][index, row] = h
        x = np.concatenate(outs, -1)
    return [x, *ends]


CASES = [
    (name, layers, directions, biases, projected)
    for name, layers, directions, biases, projected in product(
        GATES, (1, 2), (1, 2), (True, False), (False, True)
    )
    if name == "lstm" or not projected
]


def call(
    library: Any, name: str, data: Any, sizes: Any, states: Any, weights: Any, case: Any, *last: bool
) -> Any:
    _, layers, directions, biases, _ = case
    first = [data] if sizes is None else [data, sizes]
    hx = states if name == "lstm" else states[0]
    return getattr(library, name)(*first, hx, weights, biases, layers, 0.0, False, directions == 2, *last)


@pytest.mark.parametrize("batched", [True, False])
@pytest.mark.parametrize(
    ("name", "kind", "options"),
    [
        ("rnn_tanh", "RNNCell", {}),
        ("rnn_relu", "RNNCell", {"nonlinearity": "relu"}),
        ("gru", "GRUCell", {}),
        ("lstm", "LSTMCell", {}),
    ],
)
def test_cells(name: str, kind: str, options: Any, batched: bool) -> None:
    """With a batch and without one; a state that is not zero is the one that it is given for."""
    tengen.manual_seed(0)
    cell = getattr(tengen.nn, kind)(INPUT, HIDDEN, dtype=tengen.float64, **options)
    shape = (BATCH,) if batched else ()
    x, *states = [tengen.randn(*shape, n, dtype=tengen.float64) for n in (INPUT, HIDDEN, HIDDEN)]
    states = states if name == "lstm" else states[:1]
    for given in (None, states):
        start = [tengen.zeros_like(s) for s in states] if given is None else given
        hx = None if given is None else tuple(given) if name == "lstm" else given[0]
        found = cell(x, hx)
        own = [p.detach().numpy() for p in cell.parameters()]
        wanted = step(name, x.numpy(), start[0].numpy(), start[-1].numpy(), own)
        for a, b in zip(found if name == "lstm" else [found], wanted, strict=name == "lstm"):
            tengen.testing.assert_close(a.detach(), tengen.from_numpy(b))


@pytest.mark.parametrize("case", CASES)
def test_layers(case: Any) -> None:
    name, _, directions, *_ = case
    x, states, weights, t_states, t_weights = made(*case)
    wanted = expected(name, x, states, weights, directions, [STEPS] * BATCH)
    for first in (False, True):
        given = tengen.from_numpy(x)
        out, *ends = call(
            tengen, name, given.transpose(0, 1) if first else given, None, t_states, t_weights, case, first
        )
        for a, b in zip([out.transpose(0, 1) if first else out, *ends], wanted, strict=True):
            np.testing.assert_allclose(a.numpy(), b, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("case", CASES)
def test_packed_layers(case: Any) -> None:
    name, _, directions, *_ = case
    x, states, weights, t_states, t_weights = made(*case)
    data, sizes = F._pack_padded_sequence(tengen.from_numpy(x), tengen.tensor(LENGTHS), False)
    assert sizes.tolist() == SIZES
    out, *ends = call(tengen, name, data, sizes, t_states, t_weights, case)
    padded, lengths = F._pad_packed_sequence(out, sizes, False, 0.0, -1)
    assert lengths.tolist() == LENGTHS
    wanted = expected(name, x, states, weights, directions, LENGTHS)
    for a, b in zip([padded, *ends], wanted, strict=True):
        np.testing.assert_allclose(a.numpy(), b, rtol=1e-12, atol=1e-13)


def test_what_is_padded() -> None:
    data, sizes = tengen.arange(7.0), tengen.tensor(SIZES)
    padded, _ = F._pad_packed_sequence(data, sizes, True, -1.0, 5)
    assert padded.tolist() == [[0, 3, 5, 6, -1], [1, 4, -1, -1, -1], [2, -1, -1, -1, -1]]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", [c for c in CASES if c[1:4] == (2, 2, True)])
def test_gradients(case: Any, packed: bool) -> None:
    """First and second derivatives, and those of forward mode, of input, states and weights."""
    x, states, weights = arrays(*case)
    inputs = [tengen.from_numpy(a).requires_grad_() for a in (x, *states, *weights)]
    count = len(states)

    def run(x: Any, *rest: Any) -> Any:
        data, sizes = F._pack_padded_sequence(x, tengen.tensor(LENGTHS), False) if packed else (x, None)
        last = () if packed else (False,)
        return call(tengen, case[0], data, sizes, list(rest[:count]), list(rest[count:]), case, *last)

    assert tengen.autograd.gradcheck(run, inputs, check_forward_ad=True, fast_mode=True)
    assert tengen.autograd.gradgradcheck(run, inputs, fast_mode=True)


@pytest.mark.parametrize("name", GATES)
def test_there_is_a_layer(name: str) -> None:
    states = [tengen.zeros(0, 2, 2)] * (2 if name == "lstm" else 1)
    with pytest.raises(RuntimeError, match="num_layers must be 1 or more, but got 0"):
        call(tengen, name, tengen.ones(4, 2, 3), None, states, [], (name, 0, 1, True, False), False)


@pytest.mark.parametrize("name", GATES)
def test_dropout_is_between_layers(name: str) -> None:
    """All of the first layer's output dropped: the second sees zeros. The last layer's is never dropped."""
    x, states, weights = arrays(name, 2, 1, True, False)
    given = [[tengen.from_numpy(a) for a in some] for some in (states, weights)]
    hx = given[0] if name == "lstm" else given[0][0]
    rest = (tengen.from_numpy(x), hx, given[1], True, 2, 1.0)
    dropped = getattr(tengen, name)(*rest, True, False, False)[0]
    kept = getattr(tengen, name)(*rest, False, False, False)[0]
    assert not tengen.allclose(dropped, kept)
    second = [s[1:] for s in states]
    wanted = expected(name, np.zeros((STEPS, BATCH, HIDDEN)), second, weights[4:], 1, [STEPS] * BATCH)
    np.testing.assert_allclose(dropped.numpy(), wanted[0], rtol=1e-12, atol=1e-13)


@pytest.mark.oracle
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("kind", ["float64", "float32"])
@pytest.mark.parametrize("case", CASES)
def test_as_torch(torch: Any, case: Any, kind: str, packed: bool) -> None:
    """Results, dtypes, strides, and the gradients of everything."""
    name = case[0]
    if kind == "float32" and (case[4] or not case[3]):
        pytest.skip("as in float64")
    x, states, weights = arrays(*case)
    found = []
    for library in (torch, tengen):
        leaves = [library.from_numpy(a).to(getattr(library, kind)) for a in (x, *states, *weights)]
        for leaf in leaves:
            leaf.requires_grad_()
        data, sizes, last = leaves[0], None, (False,)
        if packed:
            pack = (torch if library is torch else F)._pack_padded_sequence
            data, sizes = pack(leaves[0], library.tensor(LENGTHS), False)
            last = ()  # type: ignore[assignment]
        hx, own = leaves[1 : 1 + len(states)], leaves[1 + len(states) :]
        results = call(library, name, data, sizes, hx, own, case, *last)
        sum([(r * r).sum() for r in results]).backward()
        found.append([*[r.detach() for r in results], *[leaf.grad for leaf in leaves]])
    bound = 1e-12 if kind == "float64" else 2e-5
    for a, b in zip(*found, strict=True):
        assert (str(b.dtype).split(".")[1], tuple(b.shape)) == (str(a.dtype).split(".")[1], tuple(a.shape))
        np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=bound, atol=bound)


@pytest.mark.parametrize("mode", ["LSTM", "GRU"])
@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("sizes", [[3, 3, 3], [3, 2, 1], [0, 0]])
def test_both_forms_of_a_layer_agree(
    mode: str, projected: bool, sizes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Results and gradients by native kernels and by NumPy's forms, with special numbers and any layout."""
    from tengen import machine_code
    from tengen.kernels.nn import recurrent

    if not machine_code.is_available():
        pytest.skip("there is no machine code here: llvmlite is not installed, or TENGEN_NATIVE=0")
    if projected and mode == "GRU":
        pytest.skip("LSTM alone has a projection")
    rng, gates, hidden = np.random.default_rng(0), GATES[mode.lower()], 4
    out, rows, batch = 2 if projected else hidden, sum(sizes), sizes[0]
    x = rng.standard_normal((rows, 3)).astype("float32")
    x[:1] = np.nan
    x[1:2] = np.inf
    cx = rng.standard_normal((batch, hidden)).astype("float32") if mode == "LSTM" else None
    given = (x, rng.standard_normal((batch, out)).astype("float32"), cx)
    shapes = [(gates * hidden, 3), (gates * hidden, out), (gates * hidden,), (gates * hidden,)]
    weights = [rng.standard_normal(s).astype("float32") for s in shapes]
    w_hr = rng.standard_normal((out, hidden)).astype("float32") if projected else None
    of_out = rng.standard_normal((out, rows)).astype("float32").T
    of_h, of_c = (np.broadcast_to(np.float32(0.5), (batch, n)) for n in (out, hidden))
    found = []
    for there in (True, False):
        if not there:
            monkeypatch.setattr(recurrent, "kernel_of_floats", lambda name, dtype: None)
        both = []
        for reverse in (False, True):
            with np.errstate(all="ignore"):
                layer = (*given, *weights, w_hr, sizes, mode, reverse)
                o, hy, cy, acts, inner = recurrent.rnn_layer(*layer)
                grads = recurrent.rnn_layer_backward(of_out, of_h, of_c, *layer, o, acts, inner, [True] * 8)
            both += [o, hy, cy, acts, inner, *[g for g in grads if g is not None]]
        found.append(both)
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
