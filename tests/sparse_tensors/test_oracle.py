"""What PyTorch does with the same calls: layouts, sizes, dtypes, values, whether coalesced, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sparse_calls
from near import Near

import tengen

pytestmark = pytest.mark.oracle

INDICES, VALUES = [[0, 1, 1, 0], [2, 0, 2, 2]], [3.0, 4.0, 5.0, 1.0]

METHODS = """
    abs sgn asinh atan ceil erf expm1 floor frac isnan log1p rad2deg deg2rad round relu sin
    sinh sqrt tan tanh trunc sign signbit isinf neg conj square sum t clone detach coalesce
    to_dense double half int cos exp log numel dim sparse_dim dense_dim _nnz is_coalesced
    _indices _values indices values mean nonzero cumsum any norm numpy stride is_contiguous
    max trace flip element_size item unbind
"""


def program(lib: Any, coalesced: bool) -> dict[str, Callable[[], Any]]:
    """Calls by name, with one library's functions."""
    s = lib.sparse_coo_tensor(INDICES, VALUES, (2, 3))
    s = s.coalesce() if coalesced else s
    h = lib.sparse_coo_tensor([[2, 0, 2]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))
    d = lib.arange(6.0).reshape(2, 3) - 2
    m = lib.arange(12.0).reshape(3, 4)
    return {
        **{name: getattr(s, name) for name in METHODS.split()},
        "mul number": lambda: s * 2,
        "mul sparse": lambda: s * s,
        "mul strided": lambda: s * d,
        "strided mul": lambda: d * s,
        "mul row": lambda: s * d[0],
        "mul 0-d": lambda: s * lib.tensor(2.0),
        "mul hybrid": lambda: s * h,
        "div": lambda: s / 2,
        "div strided": lambda: s / d,
        "floor div": lambda: s // 2,
        "trunc div": lambda: lib.div(s, 2, rounding_mode="trunc"),
        "add": lambda: s + s,
        "add alpha": lambda: s.add(s, alpha=2),
        "strided add": lambda: d + s,
        "add strided": lambda: s + d,
        "add number": lambda: s + 1,
        "add row": lambda: d[0] + s,
        "add hybrid": lambda: s + h,
        "add float64": lambda: s.double() + s,
        "strided float64 add": lambda: d.double() + s,
        "sub": lambda: s - s,
        "strided sub": lambda: d - s,
        "sum 0": lambda: s.sum(0),
        "sum -1": lambda: s.sum(-1),
        "sum float64": lambda: s.sum(0, dtype=lib.float64),
        "sum all": lambda: s.sum((0, 1)),
        "sum no dim": lambda: s.sum(4),
        "hybrid sum 0": lambda: h.sum(0),
        "hybrid sum 1": lambda: h.sum(1),
        "sparse.sum": lambda: lib.sparse.sum(s),
        "sparse.sum 0": lambda: lib.sparse.sum(s, 0),
        "sparse.sum strided": lambda: lib.sparse.sum(d),
        "transpose": lambda: s.transpose(0, 1),
        "permute": lambda: s.permute(1, 0),
        "hybrid t": lambda: h.t(),
        "mm": lambda: s.mm(m),
        "mm sparse": lambda: s.mm(s.t()),
        "strided mm": lambda: d.t() @ s,
        "mm sizes": lambda: s.mm(d),
        "mm dtypes": lambda: s.mm(m.double()),
        "matmul vector": lambda: s @ m[:, 0],
        "mv": lambda: s.mv(m[:, 0]),
        "addmm": lambda: lib.addmm(lib.ones(2, 4), s, m, beta=2, alpha=3),
        "sparse.mm": lambda: lib.sparse.mm(s, m),
        "sparse.mm sparse": lambda: lib.sparse.mm(s, s.t()),
        "sparse.mm strided": lambda: lib.sparse.mm(d.t(), s),
        "sparse.addmm": lambda: lib.sparse.addmm(lib.ones(2, 4), s, m, beta=2),
        "hspmm": lambda: lib.hspmm(s, m),
        "cat": lambda: lib.cat([s, s]),
        "cat 1": lambda: lib.cat([s, s], 1),
        "cat dtypes": lambda: lib.cat([s, s.double()]),
        "cat strided": lambda: lib.cat([s, d]),
        "stack": lambda: lib.stack([s, s]),
        "index_select": lambda: s.index_select(0, lib.tensor([1, 0, 1])),
        "index_select 1": lambda: s.index_select(1, lib.tensor([2, 2])),
        "index_select out": lambda: s.index_select(0, lib.tensor([5])),
        "select": lambda: s.select(0, 1),
        "index": lambda: s[1],
        "element": lambda: s[0, 2],
        "new axis": lambda: s[:, None],
        "select out": lambda: s.select(0, 5),
        "unsqueeze": lambda: s.unsqueeze(0),
        "sparse_mask": lambda: d.sparse_mask(s),
        "sparse_mask sparse": lambda: s.sparse_mask(s.coalesce()),
        "zeros_like": lambda: lib.zeros_like(s),
        "zeros_like hybrid": lambda: lib.zeros_like(h),
        "empty_like": lambda: lib.empty_like(s),
        "zeros": lambda: lib.zeros(2, 3, layout=lib.sparse_coo),
        "zeros_like strided": lambda: lib.zeros_like(s, layout=lib.strided),
        "to_sparse": lambda: d.to_sparse(),
        "to_sparse 1": lambda: d.to_sparse(1),
        "to_sparse dense_dim": lambda: d.to_sparse(dense_dim=1),
        "pow": lambda: s.pow(2),
        "pow 0": lambda: s.pow(0),
        "where": lambda: lib.where(d > 0, s, s),
        "view": lambda: s.view(6),
        "in place": lambda: s.clone().mul_(2).coalesce(),
        "in place add": lambda: d.clone().add_(s),
        "in place sparse": lambda: s.clone().add_(s),
        "zero_": lambda: s.clone().zero_(),
        "copy_": lambda: s.clone().copy_(s),
        "copy_ strided": lambda: s.clone().copy_(d),
        "sizes": lambda: lib.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]]),
        "wrong sizes": lambda: lib.sparse_coo_tensor([[0, 1]], [[1.0, 2.0], [3.0, 4.0]], (2, 3)),
        "wrong nnz": lambda: lib.sparse_coo_tensor([[0, 1]], [1.0]),
        "ints": lambda: lib.sparse_coo_tensor([[0, 1]], [1, 2]),
        "dtype": lambda: lib.sparse_coo_tensor([[0, 1]], [1, 2], dtype=lib.float64),
        "size alone": lambda: lib.sparse_coo_tensor((2, 3)),
        "number": lambda: lib.sparse_coo_tensor([[0]], 5.0, (2,)),
        "0-d": lambda: lib.tensor(3.0).to_sparse(),
        "type": lambda: s.type().replace("tengen", "torch"),
        "repr": lambda: repr(s).replace("tengen", "torch"),
        "repr of hybrid": lambda: repr(h.double()).replace("tengen", "torch"),
    }


def outcome(call: Callable[[], Any]) -> Any:
    """The facts of a result, or the class of an error: NotImplementedError is a RuntimeError."""
    found = sparse_calls.outcome(call, facts)
    if not isinstance(found, Exception):
        return found
    return next(c.__name__ for c in (RuntimeError, IndexError, TypeError, ValueError) if isinstance(found, c))


def facts(found: Any) -> Any:
    if not hasattr(found, "layout"):
        return found
    layout = str(found.layout).rpartition(".")[2]
    values = Near(found.to_dense().tolist(), 1e-5)
    described = [layout, tuple(found.shape), str(found.dtype).rpartition(".")[2], values]
    if layout == "sparse_coo":
        described += [found.is_coalesced(), found._nnz(), found.sparse_dim(), found.dense_dim()]
    return described


@pytest.mark.parametrize("coalesced", [False, True], ids=["uncoalesced", "coalesced"])
def test_results_are_pytorchs(coalesced: bool) -> None:
    import torch

    ours, theirs = program(tengen, coalesced), program(torch, coalesced)
    different = {}
    for name, call in theirs.items():
        expected, found = outcome(call), outcome(ours[name])
        if expected != found:
            different[name] = (expected, found)
    assert not different
