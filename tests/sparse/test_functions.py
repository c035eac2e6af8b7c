"""Functions of tensors in coordinate format beside sums and products, and SparseAdam."""

from __future__ import annotations

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
