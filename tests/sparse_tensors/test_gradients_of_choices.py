"""Gradients of what moves and chooses elements in coordinate format: the layout of what was chosen from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "index_select of rows": lambda s: s.index_select(0, tengen.tensor([1, 2, 1])),
    "index_select of columns": lambda s: s.index_select(1, tengen.tensor([2, 0, 2])),
    "index_select of the last": lambda s: s.index_select(-1, tengen.tensor([1, 1, 0])),
    "index_select of none": lambda s: s.index_select(0, tengen.tensor([], dtype=tengen.int64)),
    "narrow": lambda s: s.narrow(1, 1, 2),
    "slice": lambda s: s[:, 1:],
    "slice with steps": lambda s: s[::2],
    "slice of the last": lambda s: s[..., 1:2],
    "select": lambda s: s[1],
    "select of columns": lambda s: s.select(1, 2),
    "select of the last": lambda s: s.select(-1, -1),
    "select of select": lambda s: s[1][2],
    "unsqueeze in front": lambda s: s.unsqueeze(0),
    "unsqueeze": lambda s: s.unsqueeze(1),
    "unsqueeze behind": lambda s: s.unsqueeze(-1),
    "expand": lambda s: s.unsqueeze(0).expand(2, *s.shape),
    "expand behind": lambda s: s.unsqueeze(-1).expand(*s.shape, 2),
    "squeeze": lambda s: s.narrow(0, 1, 1).squeeze(0),
    "squeeze behind": lambda s: s.narrow(-1, 1, 1).squeeze(-1),
    "squeeze of nothing": lambda s: s.squeeze(0),
    "unbind": lambda s: tengen.stack(s.unbind(1)),
}


def leaf(values: int) -> Any:
    """A 3 x 4 matrix of which four elements are stored, each a vector of ``values``, 0 for a number."""
    stored = tengen.arange(4.0 * max(values, 1), dtype=tengen.float64) + 1
    shape = (3, 4, values) if values else (3, 4)
    given = stored.reshape(4, values) if values else stored
    return tengen.sparse_coo_tensor([[0, 1, 1, 2], [2, 0, 2, 1]], given, shape).requires_grad_()


@pytest.mark.parametrize("values", [0, 3])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_strided_tensors(name: str, values: int) -> None:
    function, s = FUNCTIONS[name], leaf(values)
    d = s.detach().to_dense().requires_grad_()
    result, expected = function(s), function(d)
    dense = result.to_dense() if result.is_sparse else result
    assert tengen.equal(dense, expected)
    weights = tengen.arange(float(expected.numel()), dtype=tengen.float64).reshape(expected.shape) - 3
    # A zero of a seed is not stored: the gradient has fewer indices, and the same elements.
    seed = weights.to_sparse(result.sparse_dim()) if result.is_sparse else weights
    (grad,) = tengen.autograd.grad(result, s, seed)
    (wanted,) = tengen.autograd.grad(expected, d, weights)
    assert grad.layout is tengen.sparse_coo and grad.sparse_dim() == s.sparse_dim() == 2
    assert tengen.equal(grad.to_dense(), wanted)
    if grad.is_coalesced():
        rebuilt = tengen.sparse_coo_tensor(grad._indices(), grad._values(), grad.shape)
        assert tengen.equal(rebuilt.coalesce().indices(), grad.indices())


def test_gradients_meet_those_of_other_uses() -> None:
    s = leaf(0)
    (tengen.sparse.sum(s[1]) + 2 * tengen.sparse.sum(s) + s[2][1]).backward()
    d = s.detach().to_dense().requires_grad_()
    (d[1].sum() + 2 * d.sum() + d[2][1]).backward()
    stored = s.detach().to_dense() != 0
    assert tengen.equal(s.grad.to_dense() * stored, d.grad * stored)


def test_a_gradient_that_is_not_there_names_the_operator_that_was_called() -> None:
    for name in ("sinh", "sin", "erf"):
        with pytest.raises(NotImplementedError) as caught:
            tengen.sparse.sum(getattr(leaf(0), name)()).backward()
        assert any(f"the derivative of {name} " in note for note in caught.value.__notes__)


def test_rows_of_a_sparse_table() -> None:
    table = leaf(0).detach()
    for index in (tengen.tensor([2, 0, 2]), tengen.tensor([[1, 1], [0, 2]])):
        rows = tengen.nn.functional.embedding(index, table)
        assert rows.layout is tengen.sparse_coo
        assert tengen.equal(rows.to_dense(), tengen.nn.functional.embedding(index, table.to_dense()))
    with pytest.raises(IndexError, match="embedding"):
        tengen.nn.functional.embedding(tengen.tensor([3]), table)


@pytest.mark.oracle
def test_norms_and_tables_as_in_pytorch(torch: Any) -> None:
    def made(m: Any) -> Any:
        values = m.tensor([1.0, -2.0, 0.5], dtype=m.float64)
        return m.sparse_coo_tensor(m.tensor([[0, 1, 1], [2, 0, 0]]), values, (2, 3))

    for order in (0, 0.5, 1, 2, 3, -1, -2, float("inf"), float("-inf")):
        assert tengen.norm(made(tengen), order).item() == pytest.approx(torch.norm(made(torch), order).item())
    rows = [m.embedding(made(m).coalesce(), m.tensor([1, 1, 0])) for m in (tengen, torch)]
    assert rows[0].to_dense().tolist() == rows[1].to_dense().tolist()


def test_zeros_in_the_layout_of_a_compressed_tensor() -> None:
    for layout in (tengen.sparse_csr, tengen.sparse_csc):
        c = leaf(0).detach().to_sparse(layout=layout)
        for made in (c.new_zeros((2, 5)), c.new_empty((2, 5), dtype=tengen.float32)):
            assert made.layout is layout and made.shape == (2, 5) and made.values().numel() == 0
        assert c.new_zeros((2, 5)).dtype is tengen.float64
        for refused in (lambda c=c: c.new_ones((2, 2)), lambda c=c: c.new_full((2, 2), 3.0)):
            with pytest.raises(
                RuntimeError, match=r"new_(ones|full): full.* is not implemented for sparse layout"
            ):
                refused()
