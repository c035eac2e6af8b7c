"""Tensors in coordinate format against strided ones with the same elements, and SciPy's matrices."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import tengen
from tengen import Tensor

INDICES = [[0, 1, 1, 0, 2], [2, 0, 2, 2, 1]]
VALUES = [3.0, 4.0, 5.0, 1.0, -2.0]


def made(dtype: Any = tengen.float64, coalesced: bool = False, requires_grad: bool = False) -> Tensor:
    """A 3 x 4 matrix, in which one index occurs twice."""
    s = tengen.sparse_coo_tensor(INDICES, VALUES, (3, 4), dtype=dtype)
    s = s.coalesce() if coalesced else s
    return s.requires_grad_() if requires_grad else s


def hybrid() -> Tensor:
    """A 3 x 2 tensor with one indexed dimension."""
    return tengen.sparse_coo_tensor([[2, 0, 2]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], (3, 2))


def in_order(found: Tensor) -> bool:
    """Whether a tensor in coordinate format has each index once, in C's order."""
    rows = np.array(found._indices().tolist(), np.int64).reshape(found.sparse_dim(), -1)
    flat = np.ravel_multi_index(tuple(rows), tuple(found.shape[: len(rows)]))
    return bool((np.diff(flat) > 0).all())


def check_equal(found: Any, expected: Any) -> None:
    """The same elements, shape and dtype, whatever the layouts; what is called coalesced is so."""
    assert found.shape == expected.shape
    assert found.dtype is expected.dtype
    if found.is_sparse and found.is_coalesced():
        assert in_order(found)
    np.testing.assert_allclose(
        found.detach().to_dense().numpy(), expected.detach().to_dense().numpy(), rtol=1e-12, atol=1e-12
    )


ONE: dict[str, Callable[[Tensor], Any]] = {
    "neg": lambda s: -s,
    "abs": lambda s: s.abs(),
    "sin": lambda s: s.sin(),
    "tanh": lambda s: s.tanh(),
    "expm1": lambda s: s.expm1(),
    "erf": lambda s: s.erf(),
    "relu": lambda s: s.relu(),
    "sign": lambda s: s.sign(),
    "square": lambda s: s.square(),
    "pow": lambda s: s.pow(3),
    "scaled": lambda s: 2.5 * s,
    "by 0-d": lambda s: s * tengen.tensor(2.0, dtype=s.dtype),
    "divided": lambda s: s / 4,
    "floor": lambda s: s // 2,
    "twice": lambda s: s + s,
    "less": lambda s: s - s,
    "alpha": lambda s: s.add(s, alpha=3),
    "product": lambda s: s * s,
    "sum": lambda s: s.sum(),
    "sum 0": lambda s: s.sum(0),
    "sum 1": lambda s: s.sum(1),
    "sum -1 kept": lambda s: s.sum(-1, keepdim=True),
    "sum both": lambda s: s.sum((0, 1)),
    "norm": lambda s: s.norm(),
    "select": lambda s: s[1],
    "element": lambda s: s[0, 2],
    "slice": lambda s: s[0:2],
    "columns": lambda s: s[:, 1:4:2],
    "narrow": lambda s: s.narrow(0, 1, 2),
    "index_select": lambda s: s.index_select(0, tengen.tensor([2, 0, 0])),
    "unsqueeze": lambda s: s.unsqueeze(1),
    "cat 0": lambda s: tengen.cat([s, s]),
    "cat 1": lambda s: tengen.cat([s, s], 1),
    "stack": lambda s: tengen.stack([s, s]),
    "clone": lambda s: s.clone(),
    "cast": lambda s: s.to(tengen.float32),
    "int": lambda s: s.to(tengen.int64).sum(1),
    "expand": lambda s: s.expand(2, *s.shape),
    "expand rows": lambda s: s.sum(0, keepdim=True).expand(3, -1),
    "expand columns": lambda s: s.sum(1, keepdim=True).expand(-1, 3),
    "zeros_like": lambda s: tengen.zeros_like(s),
    "any": lambda s: s.any(),
}
MATRIX: dict[str, Callable[[Tensor], Any]] = {
    "t": lambda s: s.t(),
    "transpose": lambda s: s.transpose(0, 1),
    "permute": lambda s: s.permute(1, 0),
    "mm": lambda s: s.mm(tengen.arange(8.0, dtype=s.dtype).reshape(4, 2)),
    "matmul": lambda s: s @ tengen.arange(8.0, dtype=s.dtype).reshape(4, 2),
    "mm of two": lambda s: s.mm(s.t()),
    "strided first": lambda s: tengen.arange(6.0, dtype=s.dtype).reshape(2, 3) @ s,
    "mv": lambda s: s.mv(tengen.arange(4.0, dtype=s.dtype)),
    "addmm": lambda s: tengen.addmm(
        tengen.ones(3, 2, dtype=s.dtype), s, tengen.arange(8.0, dtype=s.dtype).reshape(4, 2), beta=2, alpha=3
    ),
    "addmm of three": lambda s: tengen.addmm(s.mm(s.t()), s, s.t(), beta=2, alpha=3),
    "bmm": lambda s: tengen.stack([s, 0 * s, s, -s]).bmm(tengen.arange(32.0, dtype=s.dtype).reshape(4, 4, 2)),
}


@pytest.mark.parametrize("name", [*ONE, *MATRIX])
@pytest.mark.parametrize("coalesced", [False, True], ids=["uncoalesced", "coalesced"])
def test_as_strided_tensors(name: str, coalesced: bool) -> None:
    function = {**ONE, **MATRIX}[name]
    s = made(coalesced=coalesced)
    check_equal(function(s), function(s.to_dense()))


@pytest.mark.parametrize("name", [n for n in ONE if n not in ("columns", "element")])
def test_hybrid_tensors(name: str) -> None:
    function = ONE[name]
    check_equal(function(hybrid().double()), function(hybrid().double().to_dense()))


@pytest.mark.parametrize(
    "dtype", ["int32", "int64", "float16", "bfloat16", "float32", "complex64", "complex128"]
)
@pytest.mark.parametrize("name", ["neg", "scaled", "twice", "product", "sum", "sum 0", "t", "mm of two"])
def test_dtypes(dtype: str, name: str) -> None:
    function, s = {**ONE, **MATRIX}[name], made(getattr(tengen, dtype))
    found, expected = function(s), function(s.to_dense())
    assert found.dtype is expected.dtype
    np.testing.assert_array_equal(  # all are small integers, or halves of them
        found.to_dense().to(tengen.complex128).numpy(), expected.to(tengen.complex128).numpy()
    )


@pytest.mark.parametrize("indices", [[[1, 1], [2, 2]], [[1, 1], [2, 0]], [[2, 0], [1, 3]], [[0, 0], [1, 2]]])
def test_two_values_are_coalesced_as_any_others(indices: list[list[int]]) -> None:
    """They may stand at one place, or in another order than C's."""
    s = tengen.sparse_coo_tensor(indices, [3.0, 5.0], (3, 4))
    assert not s.is_coalesced()
    c = s.coalesce()
    assert c.is_coalesced() and in_order(c)
    assert c._nnz() == len(set(zip(*indices, strict=True)))
    assert c.to_dense().equal(s.to_dense())


@pytest.mark.parametrize("alpha", [1, 3])
@pytest.mark.parametrize("beta", [1, 2])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64"])
def test_products_that_store_rows(dtype: str, beta: int, alpha: int) -> None:
    """hspmm and sspaddmm store the rows of the first factor that have something in them, and no others."""
    s = tengen.sparse_coo_tensor([[3, 0, 3], [0, 1, 0]], [1, 2, 4], (5, 2), dtype=getattr(tengen, dtype))
    m = tengen.arange(6).reshape(2, 3).to(s.dtype)
    own = tengen.sparse_coo_tensor([[4, 0], [2, 1]], [7, 9], (5, 3), dtype=s.dtype)
    product = s.to_dense() @ m
    rows = tengen.hspmm(s, m)
    assert rows._indices().tolist() == [[0, 3]] and rows.to_dense().equal(product)
    both = tengen.sspaddmm(own, s, m, beta=beta, alpha=alpha)
    assert both._nnz() == own._nnz() + 2 * 3 and both.dtype is s.dtype
    assert both.to_dense().equal(beta * own.to_dense() + alpha * product)


def test_scipy_agrees() -> None:
    s = made()
    theirs = scipy.sparse.coo_matrix((VALUES, INDICES), (3, 4)).tocsr()
    np.testing.assert_allclose(s.to_dense().numpy(), theirs.toarray())
    np.testing.assert_allclose(s.mm(s.t()).to_dense().numpy(), (theirs @ theirs.T).toarray())
    np.testing.assert_allclose(s.coalesce().values().numpy(), theirs.data)


def test_parts_and_flags() -> None:
    s = made()
    assert (s.layout, s.is_sparse, s.is_sparse_csr) == (tengen.sparse_coo, True, False)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz(), s.is_coalesced()) == (2, 0, 5, False)
    assert s._indices().tolist() == INDICES
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c
    assert c.indices().tolist() == [[0, 1, 1, 2], [2, 0, 2, 1]]
    assert c.values().tolist() == [4.0, 4.0, 5.0, -2.0]
    assert hybrid().sparse_dim() == hybrid().dense_dim() == 1
    assert tengen.ones(2).layout is tengen.strided and not tengen.ones(2).is_sparse
    assert s.type() == "tengen.sparse.DoubleTensor"
    assert type(s._type).__name__ == "VariableSparseCPUDoubleType"


def test_made_of_strided_tensors() -> None:
    d = tengen.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, 3.0]])
    s = d.to_sparse()
    assert s.is_coalesced() and s.indices().tolist() == [[0, 1], [1, 2]]
    assert s.values().tolist() == [2.0, 3.0]
    assert d.to_sparse(1).values().shape == (2, 3)
    check_equal(s, d)
    assert d.to_dense() is d


def test_sizes_are_inferred_and_nothing_may_be_stored() -> None:
    assert tengen.sparse_coo_tensor([[0, 4]], [1.0, 2.0]).shape == (5,)
    assert tengen.sparse_coo_tensor((2, 3)).shape == (2, 3)
    assert tengen.sparse_coo_tensor((2, 3), dtype=tengen.int32).dtype is tengen.int32
    assert tengen.zeros(2, 3, layout=tengen.sparse_coo)._nnz() == 0
    assert tengen.zeros_like(tengen.ones(2), layout=tengen.sparse_coo).is_sparse


@pytest.mark.parametrize(
    "call, error, text",
    [
        (lambda: tengen.sparse_coo_tensor([[5]], [1.0], (2,)), RuntimeError, "size is 2 but found index 5"),
        (lambda: tengen.sparse_coo_tensor([[-1]], [1.0], (2,)), RuntimeError, "found negative index -1"),
        (lambda: tengen.sparse_coo_tensor([[0, 1]], [1.0], (2,)), RuntimeError, "same nnz"),
        (lambda: tengen.sparse_coo_tensor([0], [1.0]), RuntimeError, "sparse_dim x nnz"),
        (lambda: tengen.sparse_coo_tensor([[0]], [[1.0]], (2, 3)), RuntimeError, "incorrect size"),
        (lambda: tengen.sparse_coo_tensor([[0]], [1.0], (2, 3)), RuntimeError, "len.size."),
        (lambda: made().indices(), RuntimeError, "indices: .*uncoalesced"),
        (lambda: made().values(), RuntimeError, "values: .*uncoalesced"),
        (lambda: tengen.ones(2).coalesce(), RuntimeError, "coalesce expected sparse coordinate"),
        (lambda: made() + tengen.ones(3, 4).double(), RuntimeError, "sparse, dense"),
        (lambda: made() + 1, RuntimeError, "sparse, dense"),
        (lambda: tengen.ones(4).double() + made(), RuntimeError, "same size"),
        (lambda: made() + hybrid(), RuntimeError, "sizes"),
        (lambda: made() / tengen.ones(3, 4).double(), RuntimeError, "zero-dim"),
        (lambda: made() * hybrid(), RuntimeError, "mul: expects"),
        (lambda: made().pow(0), RuntimeError, "pow: .*zeroth power"),
        (lambda: made().cos(), NotImplementedError, "cos.*SparseCPU"),
        (lambda: made().exp(), NotImplementedError, "exp.*SparseCPU"),
        (lambda: tengen.where(tengen.ones(3, 4) > 0, made(), made()), NotImplementedError, "where"),
        (lambda: tengen.cat([made(), tengen.ones(3, 4).double()]), NotImplementedError, "cat: .*layouts"),
        (lambda: made().mm(tengen.ones(3, 2).double()), RuntimeError, "mm: "),
        (lambda: made().mm(tengen.ones(4, 2)), RuntimeError, "dtype"),
        (lambda: made().select(0, 5), IndexError, "index 5 out of range"),
        (lambda: made().index_select(0, tengen.tensor([7])), IndexError, "out of range"),
        (lambda: made().sum(4), IndexError, "out of range"),
        (lambda: made().numpy(), TypeError, "to_dense"),
        (lambda: made().untyped_storage(), NotImplementedError, "storage"),
        (lambda: made().nbytes, RuntimeError, "nbytes"),
        (lambda: made().copy_(tengen.ones(3, 4).double()), RuntimeError, "copy"),
        (lambda: tengen.ones(3, 4).double().sparse_mask(tengen.ones(3, 4)), RuntimeError, "mask"),
        (lambda: made().sparse_mask(hybrid()), RuntimeError, "sizes"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_writes() -> None:
    s = made()
    kept = s
    s *= 2
    s.add_(made())
    s.neg_()
    assert s is kept
    check_equal(s, -3 * made().to_dense())
    d = tengen.ones(3, 4).double()
    check_equal(d.add_(made()), 1 + made().to_dense())
    assert s.zero_()._nnz() == 0
    s.copy_(made())
    check_equal(s, made())


def test_copies_and_pickles() -> None:
    s = made(requires_grad=True)
    for other in (copy.deepcopy(s), pickle.loads(pickle.dumps(s))):
        assert other.requires_grad and other.layout is s.layout and other.is_coalesced() is s.is_coalesced()
        check_equal(other, s)
        with tengen.no_grad():
            other.mul_(2)
    check_equal(s, made())
    assert copy.copy(s)._values().data_ptr() == s._values().data_ptr()


def test_printing() -> None:
    assert repr(made(tengen.float32, True, True)) == (
        "tensor(indices=tensor([[0, 1, 1, 2],\n"
        "                       [2, 0, 2, 1]]),\n"
        "       values=tensor([ 4.,  4.,  5., -2.]),\n"
        "       size=(3, 4), nnz=4, layout=tengen.sparse_coo, requires_grad=True)"
    )
    assert "dtype=tengen.float64" in repr(made())
    assert "size=(2, 0)" in repr(tengen.sparse_coo_tensor((2, 3)))
