"""Each operator of tensors of other layouts is called: they have no samples."""

from __future__ import annotations

from called import Called

import tengen
from tengen.testing import declared


def use() -> None:
    """Calls that reach all of them, backward too, whose results are those of strided tensors."""
    dense = tengen.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], dtype=tengen.float64)
    other = tengen.arange(9.0, dtype=tengen.float64).reshape(3, 3)
    sparse = dense.to_sparse()
    twice = tengen.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 1.0], (2, 3), dtype=tengen.float64)
    assert tengen.equal(dense.to_sparse(1).to_dense(), dense)
    assert tengen.equal(twice.coalesce().values(), tengen.tensor([2.0], dtype=tengen.float64))
    assert tengen.equal(sparse.indices(), sparse._indices())
    assert tengen.equal(sparse.values(), sparse._values())
    assert tengen.equal(dense.sparse_mask(twice.coalesce()).values(), sparse.values()[:1])
    assert tengen.equal(tengen.hspmm(sparse, other).to_dense(), dense @ other)
    use_compressed(dense, other)
    use_other_names(sparse, other)
    leaf = dense.to_sparse().requires_grad_()
    for function in (tengen.sparse.softmax, tengen.sparse.log_softmax):
        function(leaf, 1).to_dense().sum().backward()
    assert tengen.equal(tengen.smm(sparse, other).to_dense(), dense @ other)
    both = tengen.sspaddmm(sparse, sparse, other)
    assert tengen.equal(both.to_dense(), dense + dense @ other)
    for product in (tengen.sparse.mm(leaf, other), tengen.sparse.mm(leaf, other.to_sparse()).to_dense()):
        assert tengen.equal(product, dense @ other)
        product.sum().backward()
    assert tengen.equal(tengen.sparse.sum(leaf, 0).to_dense(), dense.sum(0))
    (grad,) = tengen.autograd.grad(leaf[1].to_dense().sum(), leaf, create_graph=True)
    assert tengen.equal(grad.to_dense(), tengen.tensor([[0.0] * 3, [1.0, 0.0, 1.0]], dtype=tengen.float64))
    table = other.clone().requires_grad_()
    rows = tengen.nn.functional.embedding(tengen.tensor([2, 0]), table, sparse=True)
    (grad,) = tengen.autograd.grad(rows.sum(), table, create_graph=True)
    assert grad.layout is tengen.sparse_coo


def use_other_names(sparse: tengen.Tensor, other: tengen.Tensor) -> None:
    """Calls of copies of what is stored, of other names of products, and of what gives another size."""
    columns, blocks = sparse.to_sparse_csc(), sparse.to_sparse_bsr((1, 3))
    assert tengen.equal(tengen.indices_copy(sparse), sparse.indices())
    for lender in (sparse, columns, blocks):
        assert tengen.equal(tengen.values_copy(lender), lender.values())
    assert tengen.equal(tengen.ccol_indices_copy(columns), columns.ccol_indices())
    assert tengen.equal(tengen.row_indices_copy(columns), columns.row_indices())
    assert tengen.equal(tengen.crow_indices_copy(blocks), blocks.crow_indices())
    assert tengen.equal(tengen.col_indices_copy(blocks), blocks.col_indices())
    product = sparse.to_dense() @ other
    assert tengen.equal(tengen.spmm(sparse, other), product)
    assert tengen.equal(tengen.dsmm(sparse, other), product)
    assert tengen.equal(tengen.hsmm(sparse, other).to_dense(), product)
    assert tengen.equal(tengen.saddmm(sparse, sparse, other).to_dense(), sparse.to_dense() + product)
    assert tengen.native_norm(sparse) == tengen.native_norm(sparse, 2, [0, 1], False, None) == 29**0.5
    larger = sparse.clone().sparse_resize_((4, 5), 2, 0)
    assert tengen.equal(larger.to_dense()[:2, :3], sparse.to_dense()) and larger.shape == (4, 5)
    assert larger.sparse_resize_and_clear_((2, 3), 1, 1)._nnz() == 0 and larger.dense_dim() == 1
    assert larger.resize_as_sparse_(sparse).sparse_dim() == 2


def use_compressed(dense: tengen.Tensor, other: tengen.Tensor) -> None:
    """Calls of those of compressed layouts."""
    rows, columns = dense.to_sparse_csr(), dense.to_sparse_csc()
    assert tengen.equal(dense.to_sparse_bsr((1, 3)).crow_indices(), tengen.tensor([0, 1, 2]))
    assert tengen.equal(dense.to_sparse_bsc((2, 1)).row_indices(), tengen.tensor([0, 0, 0]))
    assert tengen.equal(rows.col_indices(), tengen.tensor([1, 0, 2]))
    assert tengen.equal(columns.ccol_indices(), tengen.tensor([0, 1, 2, 3]))
    assert tengen.equal(rows.values(), tengen.tensor([2.0, 3.0, 4.0], dtype=tengen.float64))
    made = tengen.sparse_csr_tensor(rows.crow_indices(), rows.col_indices(), rows.values(), (2, 3))
    assert tengen.equal(made.to_dense(), dense)
    product = tengen.sparse.sampled_addmm(rows, dense, other, beta=0)
    assert tengen.equal(product.to_dense(), (dense @ other) * (dense != 0))


def test_every_operator_is_called() -> None:
    operators = declared.declared_operators()
    with Called() as called:
        use()
    wanted = {n for n, o in operators.items() if "other_layout" in o.tags and "nested" not in o.place.file}
    assert wanted - called.names == set()
