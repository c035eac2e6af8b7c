"""Floors of kernels.py: the operators on 128x512, and their gradients, into buffers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from libraries import Floor

from .workload import Rival, data, integers

ROWS, COLUMNS, PICKED = 128, 512, 256


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

    def numbers(self) -> Any:
        """The indices of gather and scatter_add as places in the flat array."""
        return np.add(self.i, self.offsets, out=self.flat)


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
    o.place = o.x.argmax()  # type: ignore[attr-defined]
    return o.x.ravel()[o.place]  # type: ignore[attr-defined]


def _max_backward(o: Operands, seed: Any) -> Any:
    o.grad.fill(0)
    o.grad.ravel()[o.place] = seed  # type: ignore[attr-defined]
    return o.grad


def _max_rows(o: Operands) -> Any:
    o.places = o.x.argmax(1) + o.offsets[:, 0]  # type: ignore[attr-defined]
    return o.x.ravel().take(o.places, out=o.row[:, 0], mode="clip")  # type: ignore[attr-defined]


def _max_rows_backward(o: Operands, seed: Any) -> Any:
    o.grad.fill(0)
    o.grad.ravel()[o.places] = seed  # type: ignore[attr-defined]
    return o.grad


def _centred(o: Operands) -> Any:
    """x less its mean in each row, and the sum of its squares, in o.row."""
    np.add.reduce(o.x, 1, None, o.row, True)
    np.multiply(o.row, np.float32(1 / COLUMNS), out=o.row)
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
    """exp(x - max) in o.out, its sums in o.row, the maxima in o.row2."""
    np.maximum.reduce(o.x, 1, None, o.row2, True)
    np.subtract(o.x, o.row2, out=o.out)
    np.exp(o.out, out=o.out)
    np.add.reduce(o.out, 1, None, o.row, True)


def _softmax(o: Operands) -> Any:
    _exponentials(o)
    return np.multiply(o.out, np.reciprocal(o.row, out=o.row), out=o.out)


def _softmax_backward(o: Operands, seed: Any) -> Any:
    np.multiply(seed, o.out, out=o.work)
    np.add.reduce(o.work, 1, None, o.row, True)
    np.subtract(seed, o.row, out=o.grad)
    return np.multiply(o.grad, o.out, out=o.grad)


def _logsumexp(o: Operands) -> Any:
    _exponentials(o)
    np.log(o.row, out=o.row)
    return np.add(o.row, o.row2, out=o.row)[:, 0]


def _logsumexp_backward(o: Operands, seed: Any) -> Any:
    np.subtract(o.row2, o.row, out=o.row)  # the maximum less the result: exp(x - result) from o.out
    np.exp(o.row, out=o.row)
    np.multiply(o.row, seed[:, None], out=o.row)
    return np.multiply(o.out, o.row, out=o.grad)


def _log_softmax(o: Operands) -> Any:
    np.maximum.reduce(o.x, 1, None, o.row2, True)
    np.subtract(o.x, o.row2, out=o.out)
    np.exp(o.out, out=o.work)
    np.add.reduce(o.work, 1, None, o.row, True)
    np.log(o.row, out=o.row2)
    return np.subtract(o.out, o.row2, out=o.out)


def _log_softmax_backward(o: Operands, seed: Any) -> Any:
    np.add.reduce(seed, 1, None, o.row2, True)
    np.divide(o.row2, o.row, out=o.row2)
    np.multiply(o.work, o.row2, out=o.work)
    return np.subtract(seed, o.work, out=o.grad)


def _cross_entropy(o: Operands) -> Any:
    _log_softmax(o)
    return -o.out[np.arange(ROWS), o.i[:, 0]].mean()


def _cross_entropy_backward(o: Operands, seed: Any) -> Any:
    scale = np.float32(seed / ROWS)
    np.divide(scale, o.row, out=o.row)
    np.multiply(o.work, o.row, out=o.grad)
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
    np.add.reduce(seed, 1, None, o.row2, True)
    np.multiply(o.row2, scale, out=o.row2)
    np.add(o.grad, seed, out=o.grad)
    np.add(o.grad, o.row2, out=o.grad)
    return np.multiply(o.grad, o.row, out=o.grad)


# -- orders ----------------------------------------------------------------------------------------


def _sort(o: Operands) -> Any:
    o.order = np.add(np.argsort(o.x, 1), o.offsets, out=o.flat)  # type: ignore[attr-defined]
    return o.x.ravel().take(o.flat, out=o.out, mode="clip")


def _sort_backward(o: Operands, seed: Any) -> Any:
    o.grad.ravel()[o.flat] = seed
    return o.grad


def _topk(o: Operands) -> Any:
    few = np.argpartition(o.x, COLUMNS - 10, 1)[:, : COLUMNS - 11 : -1] + o.offsets
    found = o.x.ravel().take(few)
    order = np.argsort(-found, 1)
    o.few = np.take_along_axis(few, order, 1)  # type: ignore[attr-defined]
    return np.take_along_axis(found, order, 1)


def _topk_backward(o: Operands, seed: Any) -> Any:
    o.grad.fill(0)
    o.grad.ravel()[o.few] = seed  # type: ignore[attr-defined]
    return o.grad


# -- indices ---------------------------------------------------------------------------------------


def _gather(o: Operands) -> Any:
    return o.x.ravel().take(o.numbers(), out=o.out, mode="clip")


def _counted(o: Operands, found: Any, out: Any) -> Any:
    sums = np.bincount(o.flat.ravel(), found.ravel(), ROWS * COLUMNS)
    np.copyto(out, sums.reshape(out.shape), casting="same_kind")
    return out


def _scatter_add(o: Operands) -> Any:
    o.numbers()
    return _counted(o, o.x, o.out)


def _pick(o: Operands) -> Any:
    return o.x.take(o.r, 0, out=o.picked, mode="clip")


def _sum_rows(o: Operands, rows: Any, found: Any, out: Any) -> Any:
    """The rows of ``found`` added to the rows of ``out`` that ``rows`` says: runs of equal ones at once."""
    order = np.argsort(rows, kind="stable")
    ordered = rows[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    out.fill(0)
    out[ordered[starts]] = np.add.reduceat(found.take(order, 0), starts, 0)
    return out


def _index_add(o: Operands) -> Any:
    return _sum_rows(o, o.r[:ROWS], o.x, o.out)


_PICK = Pair(_pick, lambda o, seed: _sum_rows(o, o.r, seed, o.grad))

KERNELS: dict[str, Pair] = {
    "sum": Pair(lambda o: np.add.reduce(o.x, None), _spread),
    "sum(1)": Pair(lambda o: np.add.reduce(o.x, 1, None, o.row[:, 0]), _spread_rows),
    "sum(0)": Pair(lambda o: np.add.reduce(o.x, 0, None, o.column), _spread),
    "max": Pair(_max, _max_backward),
    "max(1)": Pair(_max_rows, _max_rows_backward),
    "var(1)": Pair(_var, _var_backward),
    "softmax": Pair(_softmax, _softmax_backward),
    "log_softmax": Pair(_log_softmax, _log_softmax_backward),
    "logsumexp": Pair(_logsumexp, _logsumexp_backward),
    "cumsum": Pair(
        lambda o: np.add.accumulate(o.x, 1, None, o.out),
        lambda o, seed: np.add.accumulate(seed[:, ::-1], 1, None, o.grad[:, ::-1])[:, ::-1],
    ),
    "cumsum(0)": Pair(
        lambda o: np.add.accumulate(o.x, 0, None, o.out),
        lambda o, seed: np.add.accumulate(seed[::-1], 0, None, o.grad[::-1])[::-1],
    ),
    "sort": Pair(_sort, _sort_backward),
    "topk": Pair(_topk, _topk_backward),
    "layer_norm": Pair(_layer_norm, _layer_norm_backward),
    "cross_entropy": Pair(_cross_entropy, _cross_entropy_backward),
    "gather": Pair(_gather, lambda o, seed: _counted(o, seed, o.grad)),
    "scatter_add": Pair(
        _scatter_add, lambda o, seed: seed.ravel().take(o.flat, out=o.grad, mode="clip")
    ),
    "index_select": _PICK,
    "index_add": Pair(_index_add, lambda o, seed: seed.take(o.r[:ROWS], 0, out=o.grad, mode="clip")),
    "x[r]": _PICK,
    "embedding": _PICK,
}
