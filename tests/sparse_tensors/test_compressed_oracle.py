"""What PyTorch does with the same calls of tensors in compressed layouts, and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from near import Near
from sparse_calls import outcome

import tengen

pytestmark = pytest.mark.oracle

LAYOUTS = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")
METHODS = """
    abs sgn asin asinh atan ceil erf expm1 floor frac isnan log1p rad2deg deg2rad round relu sin sinh sqrt tan
    tanh trunc sign signbit isinf isposinf isneginf neg angle conj conj_physical positive sum t clone detach
    to_dense double half int bool cos exp
    log numel dim sparse_dim dense_dim _nnz values crow_indices col_indices ccol_indices row_indices indices
    to_sparse to_sparse_csr to_sparse_csc is_coalesced coalesce mean any max trace flip element_size
    item tolist numpy norm unbind square
"""


def converted(lib: Any, dense: Any, layout: str, **options: Any) -> Any:
    """A strided tensor in a layout; itself where that is strided."""
    if layout == "strided":
        return dense
    blocksize = (2, 2) if layout in ("sparse_bsr", "sparse_bsc") else None
    return dense.to_sparse(layout=getattr(lib, layout), blocksize=blocksize, **options)


def program(lib: Any, layout: str) -> dict[str, Callable[[], Any]]:
    """Calls by name, with one library's functions."""
    d = lib.tensor(
        [[0.0, 0.5, 0, 0, 0, 0.25], [0, -0.75, 0, 0, 1.0, 0], [0, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, -0.5]]
    )
    e = lib.tensor(
        [[1.0, 0.5, 0, 0, 0, 0], [0, 0, 0, 0, 1.0, 0], [0, 0, 2.0, 0, 0, 0], [0.5, 0, 0, 0, 0, -0.5]]
    )
    square = lib.tensor([[0.0, 0.5, 0, 0], [0, -0.75, 0, 0], [0, 0, 0, 1.0], [0.5, 0, 0, 0]])

    def of(dense: Any, **options: Any) -> Any:
        return converted(lib, dense, layout, **options)

    s, o, q, batch = of(d), of(e), of(square), of(lib.stack([d, 2 * d]))
    m, v = lib.arange(12.0).reshape(6, 2), lib.arange(6.0)
    three = lib.ones(4, 6, 3)
    return {
        **{name: getattr(s, name) for name in METHODS.split()},
        "mul number": lambda: s * 2,
        "mul 0-d": lambda: s * lib.tensor(2.0),
        "mul": lambda: s * o,
        "mul itself": lambda: s * s,
        "mul strided": lambda: s * d,
        "strided mul": lambda: d * s,
        "add": lambda: s + o,
        "add itself": lambda: s + s,
        "add alpha": lambda: s.add(o, alpha=3),
        "add strided": lambda: s + e,
        "strided add": lambda: e + s,
        "sub": lambda: s - o,
        "div": lambda: s / 2,
        "add shapes": lambda: s + q,
        "mul in place": lambda: s.clone().mul_(2),
        "add in place": lambda: s.clone().add_(s),
        "copy in place": lambda: s.clone().copy_(o),
        "zero_": lambda: s.clone().zero_(),
        "copy strided": lambda: s.clone().copy_(d),
        "sum 0": lambda: s.sum(0),
        "sum 0 kept": lambda: s.sum(0, keepdim=True),
        "sum 1 kept": lambda: s.sum(1, keepdim=True),
        "sum both kept": lambda: s.sum((0, 1), keepdim=True),
        "sum float64": lambda: s.sum(dtype=lib.float64),
        "mm": lambda: s.mm(m),
        "matmul": lambda: s @ m,
        "strided mm": lambda: m.t() @ s.t(),
        "mm sparse": lambda: q.mm(q),
        "mm transpose": lambda: s.mm(s.t()),
        "mm sizes": lambda: s.mm(d),
        "matmul vector": lambda: s @ v,
        "mv": lambda: s.mv(v),
        "addmm": lambda: lib.addmm(lib.ones(4, 2), s, m, beta=2, alpha=3),
        "sparse.mm": lambda: lib.sparse.mm(s, m),
        "sparse.addmm": lambda: lib.sparse.addmm(lib.ones(4, 2), s, m, beta=2),
        "linear": lambda: lib.nn.functional.linear(v[None], s, lib.ones(4)),
        "sampled_addmm sizes": lambda: lib.sparse.sampled_addmm(s, lib.ones(4, 3), lib.ones(2, 6)),
        "transpose": lambda: s.transpose(0, 1),
        "transpose batch": lambda: batch.transpose(1, 2),
        "transpose kinds": lambda: batch.transpose(0, 1),
        "select": lambda: s.select(0, 1),
        "select 1": lambda: s.select(1, -1),
        "select out": lambda: s.select(0, 7),
        "element": lambda: s[0, 1],
        "select batch": lambda: batch[1],
        "sum of batch": lambda: batch.sum(),
        "batch to_dense": lambda: batch.to_dense(),
        "batch to_sparse": lambda: batch.to_sparse(),
        "batch abs": lambda: batch.abs(),
        "batch add": lambda: batch + batch,
        "uneven batch": lambda: of(lib.stack([d, e * 0])),
        "hybrid": lambda: of(three * d[:, :, None], dense_dim=1),
        "hybrid values": lambda: of(three * d[:, :, None], dense_dim=1).values(),
        "dense_dim": lambda: of(d, dense_dim=1),
        "mask": lambda: e.sparse_mask(s),
        "mask itself": lambda: s.sparse_mask(s),
        "zeros_like": lambda: lib.zeros_like(s),
        "zeros_like int32": lambda: lib.zeros_like(s, dtype=lib.int32),
        "ones_like": lambda: lib.ones_like(s),
        "full_like": lambda: lib.full_like(s, 3.0),
        "fill_": lambda: s.clone().fill_(2),
        "to bsr": lambda: s.to_sparse_bsr((2, 3)),
        "to bsc": lambda: s.to_sparse_bsc((2, 3)),
        "to bsr 3": lambda: s.to_sparse_bsr((3, 3)),
        "from coo": lambda: converted(lib, d.to_sparse(), layout),
        "from coo of 3": lambda: converted(lib, lib.stack([d, d]).to_sparse(), layout),
        "from bool": lambda: of(d != 0),
        "to_sparse 1": lambda: s.to_sparse(1),
        "to_sparse 2": lambda: s.to_sparse(2),
        "view": lambda: s.view(24),
        "cat": lambda: lib.cat([s, s]),
        "flags": lambda: (s.is_sparse, s.is_sparse_csr),
        "csr of vector": lambda: v.to_sparse_csr(),
        "blocksize of csr": lambda: d.to_sparse(layout=lib.sparse_csr, blocksize=(1, 1)),
        "no blocksize": lambda: d.to_sparse(layout=lib.sparse_bsr),
        "repr": lambda: repr(s).replace("tengen", "torch"),
        "repr of batch": lambda: repr(batch.double()).replace("tengen", "torch"),
        "repr of nothing": lambda: repr(lib.zeros_like(s)).replace("tengen", "torch"),
        **constructors(lib, layout),
        **some(lib, layout, s, q),
    }


def some(lib: Any, layout: str, s: Any, q: Any) -> dict[str, Callable[[], Any]]:
    """Calls that PyTorch has for one layout only, or of which it has another result for one."""
    first, second = lib.ones(4, 3), lib.ones(3, 6)
    found = {}
    if layout == "sparse_csr":
        found["sampled_addmm"] = lambda: lib.sparse.sampled_addmm(s, first, second, beta=2, alpha=3)
    if layout != "sparse_csc":  # a matrix of zeros
        found["sparse.mm sparse"] = lambda: lib.sparse.mm(q, q)
    return found


def constructors(lib: Any, layout: str) -> dict[str, Callable[[], Any]]:
    """Calls of the function that makes such a tensor of indices and values, checked."""
    if layout == "strided":
        return {}

    def make(ends: Any, others: Any, count: int, size: Any = None, **options: Any) -> Any:
        block = (2, 2) if layout in ("sparse_bsr", "sparse_bsc") else ()
        values = lib.arange(float(count * (4 if block else 1))).reshape(count, *block) + 1
        given = () if size is None else (size,)
        function = getattr(lib, f"{layout}_tensor")
        return function(ends, others, values, *given, check_invariants=True, **options)

    return {
        "made": lambda: make([0, 1, 2], [0, 1], 2),
        "made of int32": lambda: make(*(lib.tensor(n, dtype=lib.int32) for n in ([0, 1], [0])), 1).values(),
        "made as float64": lambda: make([0, 1, 2], [0, 1], 2, dtype=lib.float64),
        "index too large": lambda: make([0, 1, 2], [0, 5], 2, (4, 4)),
        "index negative": lambda: make([0, 1, 2], [0, -1], 2, (4, 4)),
        "not from 0": lambda: make([1, 1, 2], [0, 1], 2, (4, 4)),
        "not to nnz": lambda: make([0, 1, 1], [0, 1], 2, (4, 4)),
        "falling": lambda: make([0, 3, 2], [0, 1], 2, (4, 4)),
        "twice": lambda: make([0, 2, 2], [1, 1], 2, (4, 4)),
        "not in order": lambda: make([0, 2, 2], [1, 0], 2, (4, 4)),
        "few values": lambda: make([0, 2, 2], [1, 0], 1, (4, 4)),
        "few rows": lambda: make([0, 2, 2], [0, 1], 2, (16, 16)),
        "two dtypes": lambda: make([0, 1, 2], lib.tensor([0, 1], dtype=lib.int32), 2),
        "floats": lambda: make(lib.tensor([0.0, 1, 2]), lib.tensor([0.0, 1]), 2),
        "two ranks": lambda: make([[0, 2, 2]], [0, 1], 2),
        "one size": lambda: make([0, 2, 2], [0, 1], 2, (4,)),
        "compressed": lambda: lib.sparse_compressed_tensor([0, 1], [0], [1.0], layout=lib.strided),
        "zeros": lambda: lib.zeros(4, 6, layout=getattr(lib, layout)),
        "zeros of 1": lambda: lib.zeros(4, layout=getattr(lib, layout)),
    }


def facts(found: Any) -> Any:
    if not hasattr(found, "layout"):
        return found
    layout = str(found.layout).rpartition(".")[2]
    values = Near(found.to_dense().tolist(), 1e-5)
    described = [layout, tuple(found.shape), str(found.dtype).rpartition(".")[2], values]
    return described if layout == "strided" else [*described, found._nnz()]


def elements(facts: Any) -> Any:
    """Shapes, dtypes and values only."""
    if isinstance(facts, list) and facts and isinstance(facts[0], str):
        return facts[1:4]
    return [elements(one) for one in facts] if isinstance(facts, list) else facts


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_are_pytorchs(layout: str) -> None:
    """Where PyTorch has none, there is an error here too, or what a strided tensor gives."""
    import torch

    ours, theirs = program(tengen, layout), program(torch, layout)
    strided = program(torch, "strided")
    different = {}
    for name, call in theirs.items():
        expected, found = outcome(call, facts), outcome(ours[name], facts)
        if isinstance(expected, Exception):
            if isinstance(found, Exception) or name not in strided:
                agree = isinstance(found, Exception)
            else:
                agree = elements(found) == elements(outcome(strided[name], facts))
        else:
            agree = expected == found
        if not agree:
            different[name] = (expected, found)
    assert not different, "\n".join(f"{n}: {e!r}\n    {f!r}" for n, (e, f) in different.items())
