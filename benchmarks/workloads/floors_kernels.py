"""Floors of kernels.py: the operators on 128x512, and their gradients, into buffers.

Sums are products with ones, where BLAS is faster than NumPy's loops; what is added at indices is added by
SciPy's sparse matrices with one element in each column.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from libraries import Floor
from scipy import sparse

from .workload import Rival, data, integers

ROWS, COLUMNS, PICKED = 128, 512, 256
#: So many elements are summed up, one after the other, by a product with a triangle.
SHORT = 32


class Operands:
    """What an operator works on, and the buffers it writes into."""

    def __init__(self) -> None:
        self.x = data(ROWS, COLUMNS, seed=1)
        self.i = integers(COLUMNS, ROWS, COLUMNS, seed=2)
        self.r = integers(ROWS, PICKED, seed=3)
        self.row, self.row2 = (np.empty((ROWS, 1), "float32") for _ in range(2))
        self.column = np.empty(COLUMNS, "float32")
        self.out, self.work, self.grad = (np.empty((ROWS, COLUMNS), "float32") for _ in range(3))
        self.flat = np.empty((ROWS, COLUMNS), "int64")
        self.offsets = np.arange(0, ROWS * COLUMNS, COLUMNS)[:, None]
        self.picked = np.empty((PICKED, COLUMNS), "float32")
        self.ones = np.ones((COLUMNS, 1), "float32")
        self.triangle = np.triu(np.ones((SHORT, SHORT), "float32"))
        self.places: Any = None

    def numbers(self) -> Any:
        """The indices of gather and scatter_add as places in the flat array."""
        return np.add(self.i, self.offsets, out=self.flat)

    def sums(self, table: np.ndarray, out: np.ndarray) -> np.ndarray:
        """The sums of the rows."""
        return np.dot(table, self.ones, out=out)


Forward = Callable[[Operands], Any]
Backward = Callable[[Operands, Any], Any]


@dataclass(frozen=True)
class Pair:
    """An operator, and what writes its gradient, from that of its result and what ``forward`` left."""

    forward: Forward
    backward: Backward


def kernel(name: str, backward: bool) -> Callable[[Floor], Rival]:
    """An operator of kernels.py by its name there, forward or both ways."""

    def floor(library: Floor) -> Rival:
        o, pair = Operands(), KERNELS[name]
        if not backward:
            return lambda: pair.forward(o)
        shape = np.shape(pair.forward(o))
        seed = data(*shape, seed=4) if shape else data(1, seed=4)[0]

        def run() -> Any:
            pair.forward(o)
            return pair.backward(o, seed)

        return run

    return floor


# -- reductions ------------------------------------------------------------------------------------


def _spread(o: Operands, seed: Any) -> Any:
    np.copyto(o.grad, seed)
    return o.grad


def _spread_rows(o: Operands, seed: Any) -> Any:
    return _spread(o, seed[:, None])


def _max(o: Operands) -> Any:
    o.places = o.x.argmax()
    return o.x.ravel()[o.places]


def _max_rows(o: Operands) -> Any:
    o.places = o.x.argmax(1) + o.offsets[:, 0]
    return o.x.ravel().take(o.places, out=o.row[:, 0], mode="wrap")


def _at_places(o: Operands, seed: Any) -> Any:
    o.grad.fill(0)
    o.grad.ravel()[o.places] = seed
    return o.grad


def _centred(o: Operands) -> Any:
    """x less its mean in each row, and the sum of its squares, in o.row."""
    np.multiply(o.sums(o.x, o.row), np.float32(1 / COLUMNS), out=o.row)
    np.subtract(o.x, o.row, out=o.work)
    np.matmul(o.work[:, None, :], o.work[:, :, None], out=o.row[:, :, None])
    return o.work


def _var(o: Operands) -> Any:
    _centred(o)
    return np.multiply(o.row, np.float32(1 / (COLUMNS - 1)), out=o.row)[:, 0]


def _var_backward(o: Operands, seed: Any) -> Any:
    np.multiply(seed[:, None], np.float32(2 / (COLUMNS - 1)), out=o.row2)
    return np.multiply(o.work, o.row2, out=o.grad)


# -- softmax and its kin ---------------------------------------------------------------------------


def _exponentials(o: Operands) -> None:
    """exp(x) in o.out, its sums in o.row. No element is so large that a maximum has to be taken away."""
    assert np.maximum.reduce(o.x, None) < 80
    np.exp(o.x, out=o.out)
    o.sums(o.out, o.row)


def _softmax(o: Operands) -> Any:
    _exponentials(o)
    return np.multiply(o.out, np.reciprocal(o.row, out=o.row), out=o.out)


def _softmax_backward(o: Operands, seed: Any) -> Any:
    np.multiply(seed, o.out, out=o.work)
    o.sums(o.work, o.row)
    np.subtract(seed, o.row, out=o.grad)
    return np.multiply(o.grad, o.out, out=o.grad)


def _logsumexp(o: Operands) -> Any:
    _exponentials(o)
    return np.log(o.row, out=o.row2)[:, 0]


def _logsumexp_backward(o: Operands, seed: Any) -> Any:
    np.divide(seed[:, None], o.row, out=o.row)
    return np.multiply(o.out, o.row, out=o.grad)


def _log_softmax(o: Operands) -> Any:
    _exponentials(o)
    np.log(o.row, out=o.row2)
    return np.subtract(o.x, o.row2, out=o.work)


def _log_softmax_backward(o: Operands, seed: Any) -> Any:
    o.sums(seed, o.row2)
    np.divide(o.row2, o.row, out=o.row2)
    np.multiply(o.out, o.row2, out=o.grad)
    return np.subtract(seed, o.grad, out=o.grad)


def _cross_entropy(o: Operands) -> Any:
    _exponentials(o)
    np.log(o.row, out=o.row2)
    return o.row2.mean() - o.x[np.arange(ROWS), o.i[:, 0]].mean()


def _cross_entropy_backward(o: Operands, seed: Any) -> Any:
    scale = np.float32(seed / ROWS)
    np.divide(scale, o.row, out=o.row)
    np.multiply(o.out, o.row, out=o.grad)
    o.grad[np.arange(ROWS), o.i[:, 0]] -= scale
    return o.grad


def _layer_norm(o: Operands) -> Any:
    _centred(o)
    np.multiply(o.row, np.float32(1 / COLUMNS), out=o.row)
    np.add(o.row, np.float32(1e-5), out=o.row)
    np.sqrt(o.row, out=o.row)
    np.reciprocal(o.row, out=o.row)
    return np.multiply(o.work, o.row, out=o.out)


def _layer_norm_backward(o: Operands, seed: Any) -> Any:
    scale = np.float32(-1 / COLUMNS)
    np.matmul(o.out[:, None, :], seed[:, :, None], out=o.row2[:, :, None])
    np.multiply(o.row2, scale, out=o.row2)
    np.multiply(o.out, o.row2, out=o.grad)
    np.multiply(o.sums(seed, o.row2), scale, out=o.row2)
    np.add(o.grad, seed, out=o.grad)
    np.add(o.grad, o.row2, out=o.grad)
    return np.multiply(o.grad, o.row, out=o.grad)


# -- orders ----------------------------------------------------------------------------------------


def _sort(o: Operands) -> Any:
    np.add(np.argsort(o.x, 1), o.offsets, out=o.flat)
    return o.x.ravel().take(o.flat, out=o.out, mode="wrap")


def _sort_backward(o: Operands, seed: Any) -> Any:
    o.grad.ravel()[o.flat] = seed
    return o.grad


def _topk(o: Operands) -> Any:
    few = np.argpartition(o.x, COLUMNS - 10, 1)[:, : COLUMNS - 11 : -1] + o.offsets
    found = o.x.ravel().take(few)
    order = np.argsort(-found, 1)
    o.places = np.take_along_axis(few, order, 1)
    return np.take_along_axis(found, order, 1)


# -- indices ---------------------------------------------------------------------------------------


def _gather(o: Operands) -> Any:
    return o.x.ravel().take(o.numbers(), out=o.out, mode="wrap")


def _matrix(rows: int, columns: int) -> Any:
    """A matrix with one 1 in each column; in which row, its indices are to say."""
    ends = np.arange(columns + 1)
    made = sparse.csc_array((np.ones(columns, "float32"), ends[:-1] * 0, ends), shape=(rows, columns))
    made.indptr = ends  # the constructor takes shorter integers; indices come as int64
    return made


@functools.cache
def _scattering() -> Any:
    return _matrix(ROWS * COLUMNS, ROWS * COLUMNS)


@functools.cache
def _adding(count: int) -> Any:
    return _matrix(ROWS, count)


def _added(o: Operands, found: Any) -> Any:
    matrix = _scattering()
    matrix.indices = o.flat.ravel()
    return (matrix @ found.ravel()).reshape(ROWS, COLUMNS)


def _scatter_add(o: Operands) -> Any:
    o.numbers()
    return _added(o, o.x)


def _pick(o: Operands) -> Any:
    return o.x.take(o.r, 0, out=o.picked, mode="wrap")


def _sum_rows(rows: Any, found: Any) -> Any:
    """The rows of ``found`` added to those rows of zeros that ``rows`` says."""
    matrix = _adding(len(rows))
    matrix.indices = rows
    return matrix @ found


def _cumsum(table: Any, triangle: Any, out: Any, way: slice) -> Any:
    """The running sums of the rows: of short stretches by a product, then what stands before these."""
    np.matmul(table.reshape(-1, SHORT), triangle, out=out.reshape(-1, SHORT))
    parts = out.reshape(ROWS, -1, SHORT)[:, way]
    before = np.add.accumulate(parts[:, :-1, -1 if way.step is None else 0], 1)
    np.add(parts[:, 1:], before[..., None], out=parts[:, 1:])
    return out


def _cumsum_down(table: Any, out: Any) -> Any:
    out[0] = table[0]
    for i in range(1, len(table)):
        np.add(out[i - 1], table[i], out=out[i])
    return out


_PICK = Pair(_pick, lambda o, seed: _sum_rows(o.r, seed))

KERNELS: dict[str, Pair] = {
    "sum": Pair(lambda o: np.add.reduce(o.sums(o.x, o.row), None), _spread),
    "sum(1)": Pair(lambda o: o.sums(o.x, o.row)[:, 0], _spread_rows),
    "sum(0)": Pair(lambda o: np.add.reduce(o.x, 0, None, o.column), _spread),
    "max": Pair(_max, _at_places),
    "max(1)": Pair(_max_rows, _at_places),
    "var(1)": Pair(_var, _var_backward),
    "softmax": Pair(_softmax, _softmax_backward),
    "log_softmax": Pair(_log_softmax, _log_softmax_backward),
    "logsumexp": Pair(_logsumexp, _logsumexp_backward),
    "cumsum": Pair(
        lambda o: _cumsum(o.x, o.triangle, o.out, slice(None)),
        lambda o, seed: _cumsum(seed, o.triangle.T, o.grad, slice(None, None, -1)),
    ),
    "cumsum(0)": Pair(
        lambda o: _cumsum_down(o.x, o.out), lambda o, seed: _cumsum_down(seed[::-1], o.grad[::-1])[::-1]
    ),
    "sort": Pair(_sort, _sort_backward),
    "topk": Pair(_topk, _at_places),
    "layer_norm": Pair(_layer_norm, _layer_norm_backward),
    "cross_entropy": Pair(_cross_entropy, _cross_entropy_backward),
    "gather": Pair(_gather, lambda o, seed: _added(o, seed)),
    "scatter_add": Pair(_scatter_add, lambda o, seed: seed.ravel().take(o.flat, out=o.grad, mode="wrap")),
    "index_select": _PICK,
    "index_add": Pair(
        lambda o: _sum_rows(o.r[:ROWS], o.x),
        lambda o, seed: seed.take(o.r[:ROWS], 0, out=o.grad, mode="wrap"),
    ),
    "x[r]": _PICK,
    "embedding": _PICK,
}
