"""Tensors in compressed layouts: gradients, conversions, pickling, and what is no such tensor."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sparse_calls import functions

import tengen
import tengen.nn.functional as F
from tengen import Tensor

LAYOUTS = (tengen.sparse_csr, tengen.sparse_csc, tengen.sparse_bsr, tengen.sparse_bsc)
DENSE = tengen.tensor(
    [[0.0, 0.5, 0, 0, 0, 0.25], [0, -0.75, 0, 0, 1.0, 0], [0, 0, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, -0.5]],
    dtype=tengen.float64,
)
THIN = tengen.tensor([[0.0, 2, 0, 0, 0, 0], [0] * 6, [0] * 6, [0, 0, 0, 0, 0, -3]], dtype=tengen.float64)
M = tengen.arange(12.0, dtype=tengen.float64).reshape(6, 2)
W = tengen.arange(24.0, dtype=tengen.float64).reshape(4, 6) - 5
LEFT, RIGHT = M[:4, :], M.t()


def of(dense: Tensor, layout: Any, **options: Any) -> Tensor:
    blocksize = (2, 3) if layout in LAYOUTS[2:] else None
    return dense.to_sparse(layout=layout, blocksize=blocksize, **options)


each = pytest.mark.parametrize("layout", LAYOUTS, ids=[str(one) for one in LAYOUTS])

#: Functions to a strided tensor, of a sparse matrix.
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **functions(M, W),
    "relu": lambda s: s.relu().to_dense() * W,
    "strided matmul": lambda s: (M.t() @ s.t()).pow(2),
    "linear": lambda s: F.linear(M.t(), s, M[:4, 0]).pow(2),
    "coordinates": lambda s: s.to_sparse().to_dense() * W,
    "columns": lambda s: s.to_sparse_csc().to_dense() * W,
    "blocks": lambda s: s.to_sparse_bsr((2, 2)).to_dense() * W,
    "sparse.mm": lambda s: tengen.sparse.mm(s, M).pow(2),
    "sparse.addmm": lambda s: tengen.sparse.addmm(M[:4], s, M, beta=2, alpha=3).pow(2),
    "sparse.mm of two": lambda s: tengen.sparse.mm(s, s.t()).to_dense().pow(2),
}


#: The same of a strided matrix, where it is written otherwise.
OF_STRIDED: dict[str, Callable[[Tensor], Tensor]] = {
    "coordinates": lambda d: d * W,
    "columns": lambda d: d * W,
    "blocks": lambda d: d * W,
    "sparse.mm": lambda d: d.mm(M).pow(2),
    "sparse.addmm": lambda d: tengen.addmm(M[:4], d, M, beta=2, alpha=3).pow(2),
    "sparse.mm of two": lambda d: d.mm(d.t()).pow(2),
}


@each
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_of_sparse_leaves(layout: Any, name: str) -> None:
    """They are those of a strided leaf where elements are stored, and of tengen.sparse 0 elsewhere."""
    sparse, dense = of(DENSE, layout).requires_grad_(), DENSE.clone().requires_grad_()
    result, expected = FUNCTIONS[name](sparse), OF_STRIDED.get(name, FUNCTIONS[name])(dense)
    np.testing.assert_allclose(result.detach().numpy(), expected.detach().numpy(), rtol=1e-14, atol=1e-14)
    result.sum().backward()
    expected.sum().backward()
    assert sparse.grad is not None and dense.grad is not None
    stored = (tengen.ones_like(sparse.detach()).to_dense() != 0).numpy()
    found = (sparse.grad if sparse.grad.layout is tengen.strided else sparse.grad.to_dense()).numpy()
    np.testing.assert_allclose(found[stored], dense.grad.numpy()[stored], rtol=1e-13, atol=1e-13)
    if name.startswith("sparse."):
        assert sparse.grad.layout is layout and not found[~stored].any()


@each
def test_gradients_of_strided_operands(layout: Any) -> None:
    """Those of the other factor, of ``sampled_addmm`` and of what was masked."""
    sparse = of(DENSE, layout)
    for function in (lambda s, m: s @ m, tengen.sparse.mm, lambda s, m: F.linear(m.t(), s).t()):
        first, second = M.clone().requires_grad_(), M.clone().requires_grad_()
        function(sparse, first).pow(2).sum().backward()
        (DENSE @ second).pow(2).sum().backward()
        assert tengen.allclose(first.grad, second.grad)
    stored = tengen.ones_like(sparse).to_dense()
    leaves = [[t.clone().requires_grad_() for t in (DENSE, LEFT, RIGHT)] for _ in range(2)]
    s, a, b = leaves[0]
    sampled = tengen.sparse.sampled_addmm(of(s, layout), a, b, beta=2, alpha=3)
    assert sampled.layout is layout
    (sampled.to_dense() * W).sum().backward()
    s, a, b = leaves[1]
    ((2 * s + 3 * (a @ b)) * stored * W).sum().backward()
    for one, other in zip(*leaves, strict=True):
        assert tengen.allclose(one.grad, other.grad)
    masked = W.clone().requires_grad_()
    (masked.sparse_mask(sparse).to_dense() * W).sum().backward()
    assert tengen.equal(masked.grad, stored * W)


@each
def test_gradients_of_values(layout: Any) -> None:
    """They have the shape of the values, which an optimiser of them needs."""
    sparse = of(DENSE, layout)
    parts = list(sparse._array.parts())
    indices = [getattr(sparse, name)() for name in parts[:2]]
    values = sparse.values().clone().requires_grad_()
    made = tengen.sparse_compressed_tensor(*indices, values, sparse.shape, layout=layout)
    assert tengen.equal(made.to_dense(), DENSE)
    (made @ M).sum().backward()
    expected = of(M.sum(1).expand(4, 6) + 100, layout)  # stored everywhere
    assert expected._nnz() == expected.values().shape[0]
    at_stored = M.sum(1).expand(4, 6).sparse_mask(sparse).values()
    assert tengen.allclose(values.grad, at_stored)
    leaf = of(DENSE, layout).requires_grad_()
    leaf.values().pow(2).sum().backward()
    assert leaf.grad.layout is layout and tengen.allclose(leaf.grad.to_dense(), 2 * DENSE)


@each
def test_gradients_accumulate(layout: Any) -> None:
    """Two gradients in a layout stay in it, and with a strided one they are strided."""
    leaf = of(DENSE, layout).requires_grad_()
    for _ in range(2):
        leaf.to_dense().sum().backward()
    assert leaf.grad.layout is layout
    assert tengen.equal(leaf.grad.values(), 2 * tengen.ones_like(leaf.detach()).values())
    stored = tengen.ones_like(leaf.detach()).to_dense()
    leaf.sum().backward()
    assert leaf.grad.layout is tengen.strided
    assert tengen.equal(leaf.grad, 1 + 2 * stored)


@each
@pytest.mark.parametrize("other", LAYOUTS, ids=[str(one) for one in LAYOUTS])
def test_conversions(layout: Any, other: Any) -> None:
    """From each layout to each, of matrices, batches, and with dimensions that values have."""
    batch = tengen.stack([DENSE, 2 * DENSE])
    hybrid = DENSE[:, :, None] * tengen.tensor([1.0, -1.0, 2.0], dtype=tengen.float64)
    for dense, options in ((DENSE, {}), (batch, {}), (hybrid, {"dense_dim": 1})):
        made = of(of(dense, layout, **options), other)
        assert made.layout is other and tengen.equal(made.to_dense(), dense)
        assert tengen.equal(made.to_sparse().to_dense(), dense)
        assert made.dense_dim() == options.get("dense_dim", 0)
    assert tengen.equal(of(DENSE.to_sparse(), layout).to_dense(), DENSE)
    assert of(of(hybrid[..., :0], layout, dense_dim=1), other).to_dense().shape == (4, 6, 0)


@each
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "complex64", "int32", "bool"])
def test_dtypes(layout: Any, kind: str) -> None:
    """The sums, products and casts have the dtypes, and the values, of strided ones."""
    dense = (DENSE * 4).to(getattr(tengen, kind))
    sparse = of(dense, layout)
    assert sparse.dtype is dense.dtype and tengen.equal(sparse.to_dense(), dense)
    for function in (
        lambda t: t + t,
        lambda t: t * t,
        lambda t: t * 2,
        lambda t: t.sum(),
        lambda t: t.to(tengen.float64),
    ):
        found, expected = function(sparse), function(dense)
        found = found if found.layout is tengen.strided else found.to_dense()
        assert found.dtype is expected.dtype and tengen.equal(found, expected)
    if kind != "bool":
        product, expected = sparse @ sparse.t(), dense @ dense.t()
        assert product.dtype is expected.dtype and tengen.allclose(product.to_dense(), expected)


@each
def test_pickles_and_files(layout: Any) -> None:
    """A tensor comes back with its layout, also from a file of weights alone, and copies are its own."""
    import copy

    leaf = of(DENSE, layout).requires_grad_()
    copies = [pickle.loads(pickle.dumps(leaf)), copy.deepcopy(leaf)]
    for weights_only in (True, False):
        file = io.BytesIO()
        tengen.save({"weight": leaf}, file)
        file.seek(0)
        copies.append(tengen.load(file, weights_only=weights_only)["weight"])
        assert not copies[-1].requires_grad  # as in PyTorch, whose files have no place for it
        copies[-1].requires_grad_()
    for made in copies:
        assert made.layout is layout and made.requires_grad and made.shape == leaf.shape
        assert tengen.equal(made.detach().to_dense(), DENSE)
        made.detach().zero_()
    assert tengen.equal(leaf.detach().to_dense(), DENSE)


def test_files_that_lie() -> None:
    """A file whose indices leave the sizes is refused."""
    for sparse in (DENSE.to_sparse(), *[of(DENSE, layout) for layout in LAYOUTS]):
        array = sparse._array
        (array.indices if sparse.layout is tengen.sparse_coo else array.plain)[..., 0] = 77
        file = io.BytesIO()
        tengen.save(sparse, file)
        file.seek(0)
        with pytest.raises(pickle.UnpicklingError, match=r"sparse tensor that is none"):
            tengen.load(file, weights_only=True)


@each
def test_mixed_layouts(layout: Any) -> None:
    """Two sparse layouts do not mix; the error names them and the operator, and nothing has changed."""
    sparse, coordinates = of(DENSE, layout), DENSE.to_sparse()
    other = of(DENSE, LAYOUTS[LAYOUTS.index(layout) - 1])
    for a, b in ((sparse, coordinates), (coordinates, sparse)):
        for function in (tengen.add, tengen.mul, lambda x, y: tengen.mm(x, y.t())):
            with pytest.raises(NotImplementedError, match=r"layouts .*sparse_"):
                function(a, b)
    for function in (tengen.add, tengen.mul):
        with pytest.raises(RuntimeError, match=r"same layout, but got sparse_"):
            function(sparse, other)
    with pytest.raises(RuntimeError, match=r"copy_: .*different layouts"):
        sparse.copy_(other)
    with pytest.raises(NotImplementedError, match=r'"cos" not implemented .*SparseCsrCPU'):
        sparse.cos()
    assert tengen.equal(sparse.to_dense(), DENSE)


def test_invariants() -> None:
    """Bounds are checked always, the order of indices where that is asked for."""
    tools = tengen.sparse.check_sparse_tensor_invariants
    twice: Any = ([0, 2, 2], [1, 1], [1.0, 2.0], (2, 2))
    made = tengen.sparse_csr_tensor(*twice)
    assert made.to_dense().tolist() == [[0, 3], [0, 0]]
    assert not tools.is_enabled()
    with tools():
        assert tools.is_enabled()
        with pytest.raises(RuntimeError, match=r"sparse_csr_tensor: .*sorted and distinct"):
            tengen.sparse_csr_tensor(*twice)
        with tools(enable=False):
            tengen.sparse_csr_tensor(*twice)
        tengen.sparse_csr_tensor(*twice, check_invariants=False)
        with pytest.raises(RuntimeError, match=r"is_coalesced"):
            tengen.sparse_coo_tensor([[1, 1]], [1.0, 2.0], (2,), is_coalesced=True)
    assert not tools.is_enabled()
    checked = tools()(lambda: tengen.sparse_csr_tensor(*twice))
    with pytest.raises(RuntimeError, match=r"sorted and distinct"):
        checked()
    for indices in ([[0, 1, 2], [1, 0]], [[0, 0, 2], [0, 1]], [[0, 2, 3], [0, 1, 0]], [[0, 0, 0], []]):
        values = tengen.arange(1.0, 1 + len(indices[1]))
        whole = tengen.sparse_csr_tensor(*indices, values, (2, 2), check_invariants=True)
        assert whole.to_dense()[whole.to_dense() != 0].tolist() == values.tolist()
    with pytest.raises(RuntimeError, match=r"sorted and distinct"):
        tengen.sparse_csr_tensor([0, 1, 3], [0, 1, 0], [1.0, 2.0, 3.0], (2, 2), check_invariants=True)
    for bad in (
        *(([0, 2, 2], [1, 5]), ([0, 2, 2], [0, 2]), ([0, 2, 2], [1, -1])),
        *(([0, 9, 2], [0, 1]), ([1, 2, 2], [0, 1])),
    ):
        with pytest.raises(RuntimeError, match=r"sparse_csr_tensor: "):
            tengen.sparse_csr_tensor(*bad, [1.0, 2.0], (2, 2), check_invariants=False)


#: Pairs that store as much at other places, also as blocks; at some of them; and nothing at all.
PAIRS = {
    "as much": (THIN, THIN.flip(0)),
    "less": (DENSE, THIN),
    "more": (THIN, DENSE),
    "other": (DENSE, DENSE.flip(0)),
    "nothing": (THIN, 0 * THIN),
}


@each
@pytest.mark.parametrize("pair", PAIRS)
def test_two_that_store_other_places(layout: Any, pair: str) -> None:
    """Sums, products and masks are those of strided matrices, and a product stores what both do."""
    a, b = PAIRS[pair]
    one, other = of(a, layout), of(b, layout)
    for found, expected in (
        (one + other, a + b),
        (one - other, a - b),
        (one.add(other, alpha=3), a + 3 * b),
        (one.sub(other, alpha=2), a - 2 * b),
        (one * other, a * b),
    ):
        assert found.layout is layout and tengen.equal(found.to_dense(), expected)
    stored_by_both = one.to_sparse().bool().to_dense() & other.to_sparse().bool().to_dense()
    if layout in LAYOUTS[:2]:
        assert (one * other)._nnz() == stored_by_both.sum()
    stored = tengen.ones_like(other).to_dense()
    assert tengen.equal(one.sparse_mask(other).to_dense(), a * stored)
    assert one.sparse_mask(other)._nnz() == other._nnz()


@each
def test_addmm_in_the_layout_of_self(layout: Any) -> None:
    blocksize = (2, 2) if layout in LAYOUTS[2:] else None
    own = THIN[:, 2:].to_sparse(layout=layout, blocksize=blocksize)
    rows = DENSE.to_sparse_csr()
    for beta, alpha in ((1, 1), (2, 3), (0, 1)):
        found = tengen.addmm(own, rows, DENSE.t().to_sparse_csr(), beta=beta, alpha=alpha)
        assert found.layout is layout
        tengen.testing.assert_close(found.to_dense(), beta * own.to_dense() + alpha * (DENSE @ DENSE.t()))


@each
def test_dimensions_of_values(layout: Any) -> None:
    hybrid = DENSE[:, :, None] * tengen.tensor([1.0, -1.0, 2.0], dtype=tengen.float64)
    sparse = of(hybrid, layout, dense_dim=1)
    for at in range(3):
        for index in (0, -1):
            assert tengen.equal(sparse.select(at, index).to_dense(), hybrid.select(at, index))
    assert [tengen.equal(part.to_dense(), hybrid[..., i]) for i, part in enumerate(sparse.unbind(2))] == [
        True
    ] * 3


@pytest.mark.parametrize("layout", LAYOUTS[:2])
def test_what_beta_of_zero_leaves_out_is_not_read(layout: Any) -> None:
    sparse = of(DENSE * float("nan"), layout)
    sampled = tengen.sparse.sampled_addmm(sparse, LEFT, RIGHT, beta=0)
    stored = tengen.ones_like(sparse).to_dense()
    tengen.testing.assert_close(sampled.to_dense(), (LEFT @ RIGHT) * stored)


@each
def test_batches(layout: Any) -> None:
    """Products, sums and selections of batches are those of their matrices."""
    batch = tengen.stack([DENSE, 2 * DENSE.flip(0)])
    sparse = of(batch, layout)
    others = tengen.stack([M, M + 1])
    assert tengen.allclose(sparse.bmm(others), batch.bmm(others))
    assert tengen.equal(sparse[1].to_dense(), batch[1])
    assert tengen.equal(sparse.transpose(1, 2).to_dense(), batch.transpose(1, 2))
    assert tengen.equal((sparse * sparse).to_dense(), batch * batch)
    assert tengen.equal((sparse * batch).to_dense(), batch * batch)
    assert tengen.equal(sparse.select(1, 0).to_dense(), batch.select(1, 0))
    stored = tengen.ones_like(sparse).to_dense()
    left, right = tengen.stack([LEFT, LEFT + 1]), tengen.stack([RIGHT, RIGHT])
    sampled = tengen.sparse.sampled_addmm(sparse, left, right, beta=0)
    assert tengen.allclose(sampled.to_dense(), left.bmm(right) * stored)
    with pytest.raises(RuntimeError, match=r"same number of specified elements per batch"):
        of(tengen.stack([DENSE, 0 * DENSE]), layout)
