"""Masked reductions of sparse tensors: what is not stored is masked out, of operands and of results."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen import masked

REDUCTIONS = ["sum", "prod", "amax", "amin"]
DIMS = [None, 0, 1, -1, (0, 1)]


def matrix() -> Any:
    return tengen.tensor([[0.0, 2, 0], [3, 0, -4], [0, 0, 0]], dtype=tengen.float64)


def mask() -> Any:
    """Of the second row it leaves one element that is stored, of the third nothing."""
    return tengen.tensor([[True, True, False], [False, False, True], [False, False, False]])


def expected(name: str, dim: Any, keepdim: bool) -> tuple[Any, Any]:
    """The reduction of the strided tensor, and where anything is left."""
    of = getattr(masked, name)(matrix(), dim, keepdim=keepdim, mask=mask())
    left = masked._output_mask(getattr(masked, name), matrix(), dim, keepdim=keepdim, mask=mask())
    return of.where(left, 0), left


@pytest.mark.parametrize("given", ["strided", "sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_coordinates_give_the_numbers_of_strided_tensors(
    name: str, dim: Any, keepdim: bool, given: str
) -> None:
    left = mask() if given == "strided" else mask().to_sparse(layout=getattr(tengen, given))
    found = getattr(masked, name)(matrix().to_sparse(), dim, keepdim=keepdim, mask=left)
    assert found.layout is tengen.sparse_coo
    assert found.to_dense().equal(expected(name, dim, keepdim)[0])


@pytest.mark.parametrize("given", ["strided", "sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", [*REDUCTIONS, "mean"])
def test_rows_give_the_numbers_of_strided_tensors(name: str, dim: Any, given: str) -> None:
    left = mask() if given == "strided" else mask().to_sparse(layout=getattr(tengen, given))
    found = getattr(masked, name)(matrix().to_sparse_csr(), dim, keepdim=True, mask=left)
    assert found.layout is tengen.sparse_csr
    assert found.to_dense().equal(expected(name, dim, True)[0])


@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, 0, 1, 2, (0, 2), (1, 2), (0, 1)])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_blocks_are_masked_within(name: str, dim: Any, keepdim: bool) -> None:
    """Of values that are vectors, with a mask of their own elements."""
    dense = tengen.stack([matrix(), 2 * matrix() + 1], 2)
    left = tengen.arange(18).view(3, 3, 2).remainder(3) > 0
    found = getattr(masked, name)(dense.to_sparse(2), dim, keepdim=keepdim, mask=left)
    assert found.to_dense().equal(getattr(masked, name)(dense, dim, keepdim=keepdim, mask=left))


def test_without_a_mask_the_sum_is_of_what_is_stored() -> None:
    assert masked.sum(matrix().to_sparse(), 1).to_dense().equal(matrix().sum(1))
    assert masked.sum(matrix().to_sparse_csr(), 0, keepdim=True).to_dense().equal(matrix().sum(0, True))


def test_elements_that_are_stored_twice_are_added_first() -> None:
    twice = tengen.sparse_coo_tensor([[0, 0, 1], [1, 1, 0]], [1.0, 2.0, 5.0], (2, 2))
    assert masked.amax(twice, 1, mask=tengen.ones(2, 2, dtype=bool)).to_dense().tolist() == [3.0, 5.0]


def test_masks_broadcast_and_integers_become_int64() -> None:
    s = matrix().to(tengen.int32).to_sparse()
    found = masked.sum(s, 0, mask=tengen.tensor([True, False, True]))
    assert (found.dtype, found.to_dense().tolist()) == (tengen.int64, [3, 0, -4])
    assert masked.prod(s, dtype=tengen.float32, mask=mask().to_sparse()).dtype is tengen.float32
    column = tengen.tensor([[True], [False], [True]]).to_sparse()
    assert masked.sum(s, 1, mask=column).to_dense().tolist() == [2, 0, 0]


@pytest.mark.parametrize("name", REDUCTIONS)
def test_nothing_left_of_all_elements_is_the_identity(name: str) -> None:
    nothing = tengen.zeros(3, 3, dtype=bool)
    found = getattr(masked, name)(matrix().to_sparse(), mask=nothing)
    assert found.to_dense().equal(getattr(masked, name)(matrix(), mask=nothing))
    assert getattr(masked, name)(matrix().to_sparse(), 1, mask=nothing)._nnz() == 0


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_are_those_of_strided_tensors(name: str, layout: str) -> None:
    dense, left = matrix().requires_grad_(), tengen.tensor([True, True, True])
    s = matrix().to_sparse(layout=getattr(tengen, layout)).requires_grad_()
    stored = matrix() != 0
    getattr(masked, name)(s, 0, keepdim=True, mask=stored & left).to_dense().sum().backward()
    getattr(masked, name)(dense, 0, keepdim=True, mask=stored & left).sum().backward()
    assert s.grad.to_dense().equal(dense.grad)


def test_each_error_says_what_was_expected() -> None:
    coo, csr, csc = matrix().to_sparse(), matrix().to_sparse_csr(), matrix().to_sparse_csc()
    with pytest.raises(ValueError, match=r"masked.prod\(\): a tengen.sparse_coo tensor needs a mask"):
        masked.prod(coo, 0)
    with pytest.raises(RuntimeError, match=r"masked.amax\(\).*expected keepdim=True"):
        masked.amax(csr, 0, mask=mask())
    with pytest.raises(
        ValueError, match=r"masked.sum\(\): expected a .*sparse_csr tensor, but got .*sparse_csc"
    ):
        masked.sum(csc, 0)
    with pytest.raises(
        ValueError, match=r"masked.mean\(\): expected .*sparse_csr tensor, but got .*sparse_coo"
    ):
        masked.mean(coo, 0, mask=mask())
    with pytest.raises(IndexError, match="3 dimensions"):
        masked.sum(coo, 0, mask=mask()[None])
    with pytest.raises(IndexError, match="out of range"):
        masked.sum(coo, 2)


@pytest.mark.parametrize("name", ["softmax", "cumsum", "norm", "var", "argmax", "median", "logsumexp"])
def test_what_has_no_sparse_form_says_so(name: str) -> None:
    arguments = (2.0,) if name == "norm" else (0,)
    with pytest.raises(ValueError, match=rf"masked.{name}\(\): expected a tengen.strided tensor, but got"):
        getattr(masked, name)(matrix().to_sparse(), *arguments, mask=mask())


@pytest.mark.oracle
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_results_are_pytorchs(name: str, dim: Any, keepdim: bool) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.tensor(matrix().tolist(), dtype=torch.float64).to_sparse()
    left = torch.tensor(mask().tolist())
    its = getattr(torch.masked, name)(theirs, dim, keepdim=keepdim, mask=left).coalesce()
    mine = getattr(masked, name)(matrix().to_sparse(), dim, keepdim=keepdim, mask=mask()).coalesce()
    assert mine.indices().tolist() == its.indices().tolist()
    assert mine.values().tolist() == its.values().tolist()
    assert tuple(mine.shape) == tuple(its.shape)
