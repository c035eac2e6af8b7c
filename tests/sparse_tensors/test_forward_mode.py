"""Forward mode and vmap on sparse tensors, beside the same functions of strided ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.autograd import forward_ad
from tengen.func import jvp, vmap

LAYOUTS = ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"]

#: Functions of a matrix of any layout that have the same numbers for a strided one.
FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "to_dense": lambda s: s.to_dense(),
    "to_sparse_coo": lambda s: s.to_sparse(),
    "to_sparse_csr": lambda s: s.to_sparse_csr(),
    "sum": lambda s: s.sum(),
    "neg": lambda s: -s,
    "abs": lambda s: s.abs(),
    "relu": lambda s: s.relu(),
    "add": lambda s: s + s,
    "mul": lambda s: s * s,
    "mul by a number": lambda s: s * 3,
    "div by a number": lambda s: s / 2,
    "matmul": lambda s: s @ tengen.arange(6.0, dtype=tengen.float64).view(3, 2),
    "transpose": lambda s: s.transpose(0, 1),
    "select": lambda s: s[1],
}


def matrix(layout: str) -> Any:
    dense = tengen.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, -4.0]], dtype=tengen.float64)
    blocks = (1, 1) if "bs" in layout else None
    return dense.to_sparse(layout=getattr(tengen, layout), blocksize=blocks)


def dense(t: Any) -> Any:
    return t if t.layout is tengen.strided else t.to_dense()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_tangents_are_those_of_strided_tensors(name: str, layout: str) -> None:
    function, s = FUNCTIONS[name], matrix(layout)
    tangent = s * 5
    found = jvp(function, (s,), (tangent,))
    expected = jvp(function, (s.to_dense(),), (tangent.to_dense(),))
    assert found[1].layout is found[0].layout
    for mine, its in zip(found, expected, strict=True):
        tengen.testing.assert_close(dense(mine), dense(its), rtol=0, atol=0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tangents_of_values_reach_the_sparse_tensor(layout: str) -> None:
    s = matrix(layout)
    rebuild = {
        "sparse_coo": lambda v: tengen.sparse_coo_tensor(s.indices(), v, s.shape),
        "sparse_csr": lambda v: tengen.sparse_csr_tensor(s.crow_indices(), s.col_indices(), v, s.shape),
        "sparse_csc": lambda v: tengen.sparse_csc_tensor(s.ccol_indices(), s.row_indices(), v, s.shape),
        "sparse_bsr": lambda v: tengen.sparse_bsr_tensor(s.crow_indices(), s.col_indices(), v, s.shape),
        "sparse_bsc": lambda v: tengen.sparse_bsc_tensor(s.ccol_indices(), s.row_indices(), v, s.shape),
    }[layout]
    made, tangent = jvp(lambda v: rebuild(v).to_dense(), (s.values(),), (s.values() * 2,))
    assert made.equal(s.to_dense())
    assert tangent.equal(2 * s.to_dense())


def test_a_dual_tensor_is_unpacked_in_its_layout() -> None:
    s = matrix("sparse_coo")
    with forward_ad.dual_level():
        primal, tangent = forward_ad.unpack_dual(forward_ad.make_dual(s, s * 2) * 3)
    assert primal.to_dense().equal(3 * s.to_dense())
    assert tangent.to_dense().equal(6 * s.to_dense())


def test_forward_mode_says_what_has_none() -> None:
    s = matrix("sparse_coo")
    with pytest.raises(NotImplementedError, match=r"forward AD with sparse\.softmax"):
        jvp(lambda a: tengen.sparse.softmax(a, 1), (s,), (s,))
    with pytest.raises(RuntimeError, match="different size"):
        jvp(lambda a: a * 2, (s,), (s.transpose(0, 1),))


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
def test_vmap_over_dense_vectors_uses_a_sparse_matrix(layout: str) -> None:
    s = matrix(layout)
    vectors = tengen.arange(12.0, dtype=tengen.float64).view(4, 3)
    assert vmap(lambda v: s @ v)(vectors).equal(vectors @ s.to_dense().T)


def test_vmap_over_rows_of_coordinates() -> None:
    s = matrix("sparse_coo")
    assert vmap(lambda row: row.sum())(s).to_dense().equal(s.to_dense().sum(1))
    assert vmap(lambda row: row * 2)(s).to_dense().equal(s.to_dense() * 2)
