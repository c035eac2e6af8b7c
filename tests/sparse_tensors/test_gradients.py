"""Gradients of sparse tensors, and sparse gradients of strided ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sparse_calls import functions

import tengen
import tengen.nn.functional as F
from tengen import Tensor

INDICES = [[0, 1, 1, 2], [2, 0, 2, 1]]
M = tengen.arange(8.0, dtype=tengen.float64).reshape(4, 2)
W = tengen.arange(12.0, dtype=tengen.float64).reshape(3, 4) - 5

#: Functions to a strided tensor, of a sparse matrix and of a strided one.
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **functions(M, W),
    "pow": lambda s: s.pow(3).to_dense() * W,
    "sum 0": lambda s: s.sum(0).to_dense().pow(2),
    "cat": lambda s: tengen.cat([s, 2 * s]).to_dense() * tengen.cat([W, W + 1]),
    "cat of columns": lambda s: tengen.cat([s, s * s], 1).to_dense() * tengen.cat([W, W + 1], 1),
    "stack": lambda s: tengen.stack([s, 2 * s], 1).to_dense() * W.unsqueeze(1),
}
#: The same with functions of tengen.sparse, of which the gradients have the indices of the tensor.
SPARSE: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "mm": (lambda s: tengen.sparse.mm(s, M).pow(2), lambda d: d.mm(M).pow(2)),
    "addmm": (
        lambda s: tengen.sparse.addmm(M[:3], s, M, beta=2, alpha=3).pow(2),
        lambda d: tengen.addmm(M[:3], d, M, beta=2, alpha=3).pow(2),
    ),
    "of two": (
        lambda s: tengen.sparse.mm(s, s.t()).to_dense().pow(2),
        lambda d: d.mm(d.t()).pow(2),
    ),
    "sum": (lambda s: tengen.sparse.sum(s).pow(2), lambda d: d.sum().pow(2)),
    "sum 0": (lambda s: tengen.sparse.sum(s, 0).to_dense().pow(2), lambda d: d.sum(0).pow(2)),
    "sum 1": (lambda s: tengen.sparse.sum(s, 1).to_dense().pow(2), lambda d: d.sum(1).pow(2)),
}


def leaf() -> Tensor:
    """A 3 x 4 matrix of which four elements are stored."""
    values = tengen.tensor([4.0, 4.0, 5.0, -2.0], dtype=tengen.float64)
    return tengen.sparse_coo_tensor(INDICES, values, (3, 4)).coalesce().requires_grad_()


def at_pattern(gradient: Any) -> np.ndarray[Any, Any]:
    """What there is of a gradient where the leaf stores elements."""
    dense = gradient.to_dense().numpy()
    found: np.ndarray[Any, Any] = dense[tuple(np.array(INDICES))]
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_as_of_strided_tensors(name: str) -> None:
    function, s = FUNCTIONS[name], leaf()
    d = s.detach().to_dense().requires_grad_()
    function(s).sum().backward()
    function(d).sum().backward()
    np.testing.assert_allclose(at_pattern(s.grad), at_pattern(d.grad), rtol=1e-12)


@pytest.mark.parametrize("name", SPARSE)
def test_gradients_with_the_indices_of_the_tensor(name: str) -> None:
    sparse, strided = SPARSE[name]
    s = leaf()
    d = s.detach().to_dense().requires_grad_()
    sparse(s).sum().backward()
    strided(d).sum().backward()
    assert s.grad.layout is tengen.sparse_coo
    assert set(zip(*s.grad._indices().tolist(), strict=True)) <= set(zip(*INDICES, strict=True))
    np.testing.assert_allclose(at_pattern(s.grad), at_pattern(d.grad), rtol=1e-12)


def test_gradients_of_values() -> None:
    v = tengen.tensor([1.0, 2.0, 3.0], requires_grad=True)
    s = tengen.sparse_coo_tensor([[0, 1, 0], [1, 1, 1]], v, (2, 2))
    weights = tengen.tensor([[1.0, 2.0], [3.0, 4.0]])
    (s.to_dense() * weights).sum().backward()
    assert v.grad.tolist() == [2.0, 4.0, 2.0]
    v.grad = None
    s = tengen.sparse_coo_tensor([[0, 1, 0], [1, 1, 1]], v, (2, 2))
    (s.coalesce().values() * tengen.tensor([5.0, 7.0])).sum().backward()
    assert v.grad.tolist() == [5.0, 7.0, 5.0]


def test_gradients_of_strided_operands() -> None:
    s = leaf().detach()
    m = M.clone().requires_grad_()
    tengen.sparse.mm(s, m).pow(2).sum().backward()
    n = M.clone().requires_grad_()
    s.to_dense().mm(n).pow(2).sum().backward()
    np.testing.assert_allclose(m.grad.numpy(), n.grad.numpy(), rtol=1e-12)
    d = W.clone().requires_grad_()
    d.to_sparse().mul(2).to_dense().sum().backward()
    assert d.grad.layout is tengen.strided and d.grad.tolist() == (2.0 * (W != 0)).tolist()


def test_accumulation() -> None:
    """What torch's AccumulateGrad makes of layouts that meet: strided wins, sparse sums stay sparse."""
    index = tengen.tensor([1, 1, 0])
    steps = {
        "sparse": lambda w: F.embedding(index, w, sparse=True).sum(),
        "strided": lambda w: w.sum(),
    }
    for names in (["sparse"], ["sparse"] * 2, ["sparse", "strided"], ["strided", "sparse"], ["strided"] * 2):
        w = tengen.zeros(3, 2, requires_grad=True)
        for name in names:
            steps[name](w).backward()
        expected = tengen.zeros(3, 2)
        for name in names:
            expected += tengen.tensor([[1.0], [2.0], [0.0]]) if name == "sparse" else 1
        assert w.grad.is_sparse is ("strided" not in names)
        assert w.grad.to_dense().tolist() == expected.tolist()
        both = tengen.zeros(3, 2, requires_grad=True)
        total = steps[names[0]](both)
        for name in names[1:]:
            total = total + steps[name](both)
        total.backward()
        assert both.grad.is_sparse is ("strided" not in names)
        assert both.grad.to_dense().tolist() == expected.tolist()


def test_sparse_gradients_of_tables() -> None:
    index = tengen.tensor([[1, 3], [3, 0]])
    weights = tengen.arange(12.0).reshape(2, 2, 3)
    for padding in (None, 3):
        w, v = (tengen.ones(4, 3, requires_grad=True) for _ in range(2))
        (F.embedding(index, w, padding_idx=padding, sparse=True) * weights).sum().backward()
        (F.embedding(index, v, padding_idx=padding) * weights).sum().backward()
        assert w.grad.layout is tengen.sparse_coo
        assert w.grad.to_dense().tolist() == v.grad.tolist()
    for mode in ("sum", "mean"):
        w, v = (tengen.ones(4, 3, requires_grad=True) for _ in range(2))
        flat, offsets = index.reshape(-1), tengen.tensor([0, 3])
        (F.embedding_bag(flat, w * 2, offsets, mode=mode, sparse=True) * weights[0]).sum().backward()
        (F.embedding_bag(flat, v * 2, offsets, mode=mode) * weights[0]).sum().backward()
        assert w.grad.layout is tengen.sparse_coo
        np.testing.assert_allclose(w.grad.to_dense().numpy(), v.grad.numpy(), rtol=1e-6)


def test_hooks_and_grad_see_sparse_gradients() -> None:
    w = tengen.ones(3, 2, requires_grad=True)
    seen = []
    w.register_hook(lambda g: seen.append(g.layout))
    (gradient,) = tengen.autograd.grad(F.embedding(tengen.tensor([2]), w, sparse=True).sum(), w)
    assert gradient.is_sparse and seen == [tengen.sparse_coo]


def test_steps_on_sparse_gradients() -> None:
    """Rows without a gradient stay; SGD and Adagrad are those that take them, as in PyTorch."""
    for make in (tengen.optim.SGD, tengen.optim.Adagrad, lambda p, lr: tengen.optim.SGD(p, lr, momentum=0.9)):
        tables = [tengen.ones(4, 3, requires_grad=True) for _ in range(2)]
        optimisers = [make([t], lr=0.1) for t in tables]
        for index in ([1, 1, 3], [0, 3, 3]):
            for t, optimiser, sparse in zip(tables, optimisers, (True, False), strict=True):
                optimiser.zero_grad()
                F.embedding(tengen.tensor(index), t, sparse=sparse).pow(2).sum().backward()
                assert t.grad.is_sparse is sparse
                optimiser.step()
        np.testing.assert_allclose(*[t.detach().numpy() for t in tables], rtol=1e-6)
        assert tables[0][2].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    "name",
    [
        "Adam",
        "AdamW",
        "RMSprop",
        "Adadelta",
        "Adamax",
        "NAdam",
        "RAdam",
        "ASGD",
        "Rprop",
        "Adafactor",
        "Muon",
    ],
)
def test_optimisers_that_take_no_sparse_gradients_say_so(name: str) -> None:
    table = tengen.ones(4, 3, requires_grad=True)
    F.embedding(tengen.tensor([1]), table, sparse=True).sum().backward()
    with pytest.raises(RuntimeError, match=f"{name} does not support sparse gradients"):
        getattr(tengen.optim, name)([table]).step()
    assert table.tolist() == tengen.ones(4, 3).tolist()
