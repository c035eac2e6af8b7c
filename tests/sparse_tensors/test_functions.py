"""Functions of tensors in coordinate format beside sums and products, and SparseAdam."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
import tengen.nn.functional as F

W = tengen.arange(12.0, dtype=tengen.float64).reshape(3, 4)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_softmax_is_that_of_what_is_stored(name: str, dim: int) -> None:
    """Values and gradients are those of a strided tensor with -inf where nothing is stored."""
    sparse = tengen.sparse_coo_tensor(
        [[0, 1, 1, 2], [2, 0, 2, 1]], [3.0, 4.0, 5.0, 1.0], (3, 4), dtype=tengen.float64
    )
    stored = sparse.to_dense() != 0
    leaf, dense = sparse.coalesce().requires_grad_(), sparse.to_dense().requires_grad_()
    result = getattr(tengen.sparse, name)(leaf, dim)
    hidden = dense.masked_fill(~stored, -float("inf"))
    expected = getattr(tengen, name)(hidden, dim)[stored]
    np.testing.assert_allclose(result.values().detach().numpy(), expected.detach().numpy(), rtol=1e-14)
    (result.to_dense() * W).sum().backward()
    (expected * W[stored]).sum().backward()
    assert leaf.grad is not None and dense.grad is not None
    np.testing.assert_allclose(leaf.grad.to_dense()[stored].numpy(), dense.grad[stored].numpy(), atol=1e-14)


@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("sparse_dim", [1, 2])
def test_softmax_of_what_has_no_exponential(name: str, dim: int, sparse_dim: int) -> None:
    """Of numbers beyond the range of exp, and -inf: of a tensor that stores all it is the strided one's."""
    dense = tengen.tensor([[1000.0, 1001.0, -1e30], [-2000.0, -2001.0, 3e38], [999.0, -float("inf"), 1.0]])
    found = getattr(tengen.sparse, name)(dense.to_sparse(sparse_dim), dim)
    tengen.testing.assert_close(found.to_dense(), getattr(tengen, name)(dense, dim))


#: A matrix in each of the layouts that a factor may have.
SIDES: dict[str, Any] = {
    "strided": lambda t: t,
    "coo": lambda t: t.to_sparse(),
    "csr": lambda t: t.to_sparse_csr(),
    "csc": lambda t: t.to_sparse_csc(),
}


def test_spdiags() -> None:
    """Rows stand on diagonals, by columns; gradients flow to them; what does not fit is an error."""
    rows = tengen.arange(9.0).reshape(3, 3).requires_grad_()
    made = tengen.sparse.spdiags(rows, tengen.tensor([0, -1, 2]), (3, 4))
    assert made.to_dense().tolist() == [[0, 0, 8, 0], [3, 1, 0, 0], [0, 4, 2, 0]]
    made.to_dense().sum().backward()
    assert rows.grad is not None and rows.grad.tolist() == [[1, 1, 1], [1, 1, 0], [0, 0, 1]]
    with pytest.raises(RuntimeError, match=r"duplicate"):
        tengen.sparse.spdiags(tengen.ones(2, 3), tengen.tensor([0, 0]), (3, 3))
    with pytest.raises(RuntimeError, match=r"offsets \[7\] lie outside"):
        tengen.sparse.spdiags(tengen.ones(1, 3), tengen.tensor([7]), (3, 3))


def test_sparse_adam_is_adam_of_the_rows_that_are_used() -> None:
    """All rows used it is Adam; rows that are not used stay as they are."""
    tables = [tengen.arange(10.0, dtype=tengen.float64).reshape(5, 2).requires_grad_() for _ in range(2)]
    options = {"lr": 0.1, "eps": 1e-30}  # which is added before the correction of the root, or after it
    optimisers = [tengen.optim.SparseAdam([tables[0]], **options), tengen.optim.Adam([tables[1]], **options)]
    for _ in range(3):
        for table, optimiser, sparse in zip(tables, optimisers, (True, False), strict=True):
            optimiser.zero_grad()
            F.embedding(tengen.arange(5), table, sparse=sparse).pow(2).sum().backward()
            optimiser.step()
    np.testing.assert_allclose(tables[0].detach().numpy(), tables[1].detach().numpy(), rtol=1e-12)
    before = tables[0].detach().clone()
    optimisers[0].zero_grad()
    F.embedding(tengen.tensor([1]), tables[0], sparse=True).sum().backward()
    optimisers[0].step()
    assert (tables[0].detach() != before).any(1).tolist() == [False, True, False, False, False]
    optimisers[0].zero_grad()
    tables[0].sum().backward()
    with pytest.raises(RuntimeError, match=r"does not support dense gradients"):
        optimisers[0].step()


def test_what_would_fill_all_elements() -> None:
    """ones_like and its relatives are an error that names the backend, unless the result is strided."""
    sparse = tengen.eye(2).to_sparse()
    for name in ("ones_like", "rand_like", "randn_like"):
        with pytest.raises(NotImplementedError, match=r"SparseCPU"):
            getattr(tengen, name)(sparse)
        assert getattr(tengen, name)(sparse, layout=tengen.strided).shape == (2, 2)
    assert tengen.zeros_like(sparse)._nnz() == tengen.empty_like(sparse)._nnz() == 0


def test_triangles_of_sparse_matrices() -> None:
    dense = tengen.tensor([[2.0, 1.0, 3.0], [4.0, 5.0, 0.0], [0.0, 7.0, 8.0]], dtype=tengen.float64)
    right = tengen.arange(6.0, dtype=tengen.float64).reshape(3, 2)
    layouts = [
        dense.to_sparse_csr(),
        dense.to_sparse_csc(),
        dense.to_sparse_bsr((3, 1)),
        dense.to_sparse_bsc((1, 1)),
    ]
    for matrix in layouts:
        for upper in (True, False):
            for options in ({}, {"unitriangular": True}, {"left": False}):
                b = right.t() if "left" in options else right
                found = tengen.linalg.solve_triangular(matrix, b, upper=upper, **options)
                expected = tengen.linalg.solve_triangular(dense, b, upper=upper, **options)
                tengen.testing.assert_close(found, expected)
    solution, copy = tengen.triangular_solve(right.expand(2, 3, 2), layouts[0], transpose=True)
    tengen.testing.assert_close(solution[1], tengen.triangular_solve(right, dense, transpose=True)[0])
    assert copy.shape == (0,)
    batch = tengen.stack([dense, dense.t()]).to_sparse_csr()
    solution = tengen.linalg.solve_triangular(batch, right, upper=True)
    tengen.testing.assert_close(solution, tengen.linalg.solve_triangular(batch.to_dense(), right, upper=True))
    singular = tengen.tensor([[0.0, 1.0], [0.0, 2.0]], dtype=tengen.float64)
    found = tengen.linalg.solve_triangular(singular.to_sparse_csr(), right[:2], upper=True)
    assert found.tolist() == tengen.linalg.solve_triangular(singular, right[:2], upper=True).tolist()


def test_gradients_of_triangles() -> None:
    dense = tengen.tensor([[2.0, 1.0], [4.0, 5.0]], dtype=tengen.float64)
    right = tengen.tensor([[1.0], [3.0]], dtype=tengen.float64, requires_grad=True)
    gradients = []
    for matrix in (dense.to_sparse_csr(), dense.clone()):
        given = matrix.requires_grad_(), right
        result = tengen.triangular_solve(right, matrix)[0].pow(2).sum()
        gradients.append([g.to_dense() for g in tengen.autograd.grad(result, given)])
    for found, expected in zip(*gradients, strict=True):
        tengen.testing.assert_close(found, expected)


def test_errors_name_the_function() -> None:
    square = tengen.eye(3).to_sparse()
    calls = {
        "sparse.softmax: Dimension out of range": lambda: tengen.sparse.softmax(square, 5),
        '"sparse.log_softmax" not implemented for': lambda: tengen.sparse.log_softmax(square.long(), 0),
        "sparse.mm: mat1 and mat2 shapes": lambda: tengen.sparse.mm(square, tengen.ones(2, 2)),
        "sparse.mm: expected self and mat1 to have the same dtype": lambda: tengen.sparse.mm(
            square, tengen.ones(3, 2, dtype=tengen.float64)
        ),
        "sparse.addmm: The expanded size": lambda: tengen.sparse.addmm(
            tengen.ones(2, 2), square, tengen.ones(3, 3)
        ),
        "sparse.sum: Dimension out of range": lambda: tengen.sparse.sum(square, 5),
        "to_sparse: tensor sparse size": lambda: tengen.ones(3, 3).to_sparse_bsr((2, 2)),
    }
    for text, call in calls.items():
        with pytest.raises((RuntimeError, IndexError, NotImplementedError)) as raised:
            call()
        assert str(raised.value).startswith(text)


def test_other_sizes() -> None:
    s = tengen.sparse_coo_tensor([[0, 1, 1], [2, 0, 2]], [3.0, 4.0, 5.0], (2, 3))
    refused = {
        "shrinking the size of sparse dimensions": ((1, 1), 2, 0),
        "changing the number of sparse dimensions": ((2, 3), 1, 1),
        "changing the number of dense dimensions": ((2, 3, 4), 2, 1),
        "'len.size. == sparse_dim . dense_dim' is not satisfied": ((2, 3), 3, 0),
        "sizes must be non-negative": ((-1, 3), 2, 0),
    }
    for text, given in refused.items():
        with pytest.raises(RuntimeError, match=text):
            s.sparse_resize_(*given)
    assert s.shape == (2, 3) and s._nnz() == 3
    rows = tengen.sparse_coo_tensor([[2, 0]], [[1.0, 2.0], [3.0, 4.0]], (3, 2))
    assert rows.sparse_resize_((4, 3), 1, 1)._values().tolist() == [[1.0, 2.0, 0.0], [3.0, 4.0, 0.0]]
    leaf = s.clone().requires_grad_()
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
        leaf.sparse_resize_((4, 5), 2, 0)
    resized = (leaf * 2).sparse_resize_((4, 5), 2, 0)
    with pytest.raises(RuntimeError, match="sparse_resize_"):
        resized.to_dense().sum().backward()
    for other in (s.to_sparse_csr(), tengen.ones(2, 3)):
        with pytest.raises(RuntimeError, match="resize_as_sparse_ expected sparse coordinate tensor layout"):
            other.resize_as_sparse_(s)
    with pytest.raises(NotImplementedError, match="resize_: not implemented for tensors of the layout"):
        s.resize_(4, 5)


def test_products_that_are_reduced() -> None:
    matrix = tengen.tensor([[2.0, 0.0, 3.0], [0.0, 0.0, 0.0], [0.0, 7.0, 0.0]], dtype=tengen.float64)
    other = tengen.arange(6.0, dtype=tengen.float64).reshape(3, 2) - 2
    expected = {
        "sum": [[2.0, 7.0], [0.0, 0.0], [0.0, 7.0]],
        "mean": [[1.0, 3.5], [0.0, 0.0], [0.0, 7.0]],
        "amax": [[6.0, 9.0], [0.0, 0.0], [0.0, 7.0]],
        "amin": [[-4.0, -2.0], [0.0, 0.0], [0.0, 7.0]],
    }
    for reduce, found in expected.items():
        assert tengen.sparse.mm(matrix.to_sparse_csr(), other, reduce).tolist() == found
        inputs = matrix.to_sparse_csr().requires_grad_(), other.clone().requires_grad_()
        product = lambda a, b, r=reduce: tengen.sparse.mm(a, b, r)  # noqa: E731
        assert tengen.autograd.gradcheck(product, inputs, masked=True)
    for wrong in ((matrix.to_sparse(), other, "sum"), (matrix.to_sparse_csr(), other, "prod")):
        with pytest.raises(RuntimeError, match=r"^sparse\.mm: "):
            tengen.sparse.mm(*wrong)


def test_what_is_made_like_a_sparse_tensor() -> None:
    matrix = tengen.eye(2)
    for layout in (tengen.sparse_coo, tengen.sparse_csr, tengen.sparse_csc):
        given = matrix.to_sparse(layout=layout)
        assert tengen.zeros_like(given, device="cpu").layout is layout
        assert tengen.empty_like(given, dtype=tengen.float64, device="cpu").layout is layout
        for wanted in (tengen.sparse_csr, tengen.sparse_csc, tengen.sparse_coo, tengen.strided):
            for like in (matrix, given):
                assert tengen.zeros_like(like, layout=wanted).layout is wanted
    hybrid = tengen.ones(2, 3, 4, 5).to_sparse_csr(1)
    for wanted, dims in (
        (tengen.sparse_coo, (3, 1)),
        (tengen.sparse_csc, (2, 1)),
        (tengen.sparse_csr, (2, 1)),
    ):
        found = tengen.zeros_like(hybrid, layout=wanted)
        assert (found.sparse_dim(), found.dense_dim()) == dims and found.shape == hybrid.shape
    with pytest.raises(RuntimeError, match="empty_like with different sparse layout is not supported"):
        tengen.ones_like(matrix.to_sparse_csr(), layout=tengen.sparse_csc)
    drawn = tengen.randn_like(matrix.to_sparse_csr())
    assert drawn.col_indices().tolist() == [0, 1] and drawn.values().unique().numel() == 2


def test_gradients_of_log1p_and_of_a_number() -> None:
    for sparse in (tengen.eye(2).double().to_sparse(), tengen.eye(2).double().to_sparse_csr()):
        leaf = sparse.requires_grad_()
        assert tengen.autograd.gradcheck(lambda s: tengen.log1p(s).to_dense(), leaf, masked=True)
    empty = tengen.zeros(1, 0, 3).to_sparse().requires_grad_()
    factor = tengen.tensor(2.0, requires_grad=True)
    (empty * factor).to_dense().sum().backward()
    assert factor.grad.item() == 0


def test_sums_of_bools_are_those_of_the_elements() -> None:
    """Of two values at a place the element is whether one is true; it counts once."""
    twice = tengen.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [True, True, True], (2, 2))
    assert twice.sum(0).to_dense().tolist() == twice.to_dense().sum(0).tolist() == [1, 1]
    assert tengen.sparse_coo_tensor([[], []], [], (2, 2), dtype=tengen.bool).to_dense().sum() == 0


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("index", [(0, 0), 0, slice(1, 2), tengen.tensor([0]), tengen.eye(3, dtype=bool)])
@pytest.mark.parametrize("recorded", [False, True])
def test_parts_cannot_be_assigned_to(layout: str, index: object, recorded: bool) -> None:
    s = tengen.eye(3).to_sparse(layout=getattr(tengen, layout)).requires_grad_(recorded) * 2
    with pytest.raises(TypeError, match=f"Cannot assign to a sparse tensor, which tengen.{layout} is"):
        s[index] = 1.0
    assert s.to_dense().equal(2 * tengen.eye(3))


def test_a_size_alone() -> None:
    for made in (tengen.sparse_coo_tensor((2, 3)), tengen.sparse_coo_tensor(size=(2, 3))):
        assert made.shape == (2, 3) and made._nnz() == 0 and made.dtype is tengen.float32
    for given in ({}, {"values": tengen.ones(2), "size": (2,)}):
        with pytest.raises(TypeError, match="takes indices and values, or a size"):
            tengen.sparse_coo_tensor(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("left", SIDES)
@pytest.mark.parametrize("right", SIDES)
def test_mm_of_every_pair_of_layouts(left: str, right: str) -> None:
    """Of matrices that are neither square nor symmetric: no side may be taken for the other."""
    a = tengen.tensor([[1.0, 0, 2], [0, -3, 5]], dtype=tengen.float64)
    b = tengen.tensor([[0.0, 7, 1, 0], [2, 0, 0, -1], [4, 0, 3, 6]], dtype=tengen.float64)
    if {left, right} in ({"strided"}, {"coo", "csr"}, {"coo", "csc"}):
        return  # nothing sparse, and what is refused by name
    found = tengen.sparse.mm(SIDES[left](a), SIDES[right](b))
    assert found.shape == (2, 4) and tengen.equal(found.to_dense(), a @ b)


@pytest.mark.parametrize("function", ["softmax", "log_softmax"])
@pytest.mark.parametrize("dtype", [None, tengen.float32, tengen.float64])
@pytest.mark.parametrize("given", [tengen.float32, tengen.float64, tengen.int64])
def test_softmaxes_compute_in_the_dtype_that_was_asked_for(function: str, given: Any, dtype: Any) -> None:
    """Of integers as well; the numbers are those of ``dtype``, not rounded ones of the input's."""
    x = tengen.sparse_coo_tensor([[0, 0, 1], [0, 2, 1]], tengen.tensor([3, 1, 2]).to(given), (2, 3))
    call = getattr(tengen.sparse, function)
    if dtype is None and given is tengen.int64:
        with pytest.raises(NotImplementedError):
            call(x, 1)
        return
    found = call(x, 1, dtype=dtype)
    wanted = given if dtype is None else dtype
    assert found.dtype is wanted
    row = getattr(tengen, function)(tengen.tensor([3.0, 1.0], dtype=wanted), 0)
    tengen.testing.assert_close(found.coalesce().values()[:2], row)
