"""gradcheck of sparse inputs: what moves, what is compared, and what is said; beside PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd.gradcheck import GradcheckError

F64 = tengen.float64
LAYOUTS = ("coo", "not coalesced", "hybrid", "csr", "csc", "bsr", "bsc")

#: What is checked, and whether it holds with ``masked`` and without it.
FUNCTIONS: dict[str, tuple[Callable[[Any], Any], bool, bool]] = {
    "masked": (lambda s: s.to_dense(masked_grad=True), True, False),
    "by default": (lambda s: s.to_dense(), True, False),
    "everywhere": (lambda s: s.to_dense(masked_grad=False), False, True),
    "scaled": (lambda s: (s * 2).to_dense(masked_grad=False), False, True),
    "sum": (lambda s: s.sum(), False, True),
    "wrong": (lambda s: s.to_dense(masked_grad=False).detach() * s.sum(), False, False),
}


def matrix(lib: Any, layout: str) -> Any:
    """A matrix in a layout, one of the library's, which requires gradients."""
    kind = lib.float64
    d = lib.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], dtype=kind)
    if layout == "hybrid":
        rows = lib.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], dtype=kind)
        return lib.sparse_coo_tensor([[0, 2]], rows, (3, 3)).requires_grad_()
    if layout == "not coalesced":
        values = lib.tensor([1.0, 2.0, 3.0], dtype=kind)
        return lib.sparse_coo_tensor([[0, 0, 1], [1, 1, 2]], values, (2, 3)).requires_grad_()
    if layout == "coo":
        return d.to_sparse().requires_grad_()
    block = [(2, 1)] if layout in ("bsr", "bsc") else []
    if block:
        d = d * lib.tensor([1.0, 1.0, 0.0], dtype=kind)
    return getattr(d, f"to_sparse_{layout}")(*block).requires_grad_()


def verdict(lib: Any, function: Any, given: Any, **options: Any) -> Any:
    """True, or the class of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return lib.autograd.gradcheck(function, given, **options)
        except (RuntimeError, ValueError, AssertionError) as error:
            return type(error).__name__


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_is_not_stored(layout: str) -> None:
    for name, (function, masked, everywhere) in FUNCTIONS.items():
        for option, holds in ((True, masked), (False, everywhere), (None, everywhere)):
            found = verdict(tengen, function, matrix(tengen, layout), masked=option)
            assert found == (holds or "GradcheckError"), (name, option)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_nothing_of_the_input_has_changed(layout: str) -> None:
    s = matrix(tengen, layout)
    before = s.to_dense().tolist(), s._nnz()
    for masked in (False, True):
        verdict(tengen, FUNCTIONS["sum"][0], s, masked=masked)
    assert (s.to_dense().tolist(), s._nnz()) == before


def test_batches_of_matrices_and_numbers_that_are_complex() -> None:
    parts = np.arange(1.0, 13.0).reshape(2, 2, 3) * [[[1, 0, 1], [0, 1, 0]]]
    for layout in ("csr", "csc"):
        batch = getattr(tengen.from_numpy(parts), f"to_sparse_{layout}")().requires_grad_()
        assert tengen.autograd.gradcheck(lambda s: s.to_dense(masked_grad=False).pow(2), batch)
        assert tengen.autograd.gradcheck(lambda s: s.to_dense().pow(2), batch, masked=True)
    phased = matrix(tengen, "coo").detach().to(tengen.complex128).mul(1 + 2j).requires_grad_()
    assert tengen.autograd.gradcheck(lambda s: (s * s).to_dense(), phased, masked=True)
    assert tengen.autograd.gradcheck(lambda s: s.to_dense(masked_grad=False).pow(2), phased)


def test_errors() -> None:
    s = matrix(tengen, "csr")
    for function in (lambda t: t, lambda t: t.to_dense().to_sparse()):
        with pytest.raises(ValueError, match="Sparse output is not supported at gradcheck yet"):
            tengen.autograd.gradcheck(function, s)
    row = tengen.tensor([[2.0]], dtype=F64).expand(2, 3)
    expanded = tengen.sparse_coo_tensor([[0, 1]], row, (2, 3)).requires_grad_()
    with pytest.raises(RuntimeError, match="0th input has a dimension with stride 0"):
        tengen.autograd.gradcheck(lambda t: t.to_dense(), expanded)
    with pytest.raises(
        GradcheckError, match=r"grad is incorrect layout \(\S*sparse_csr is not \S*sparse_coo\)"
    ):
        tengen.autograd.gradcheck(Astray.apply, matrix(tengen, "coo"))


class Astray(tengen.autograd.Function):
    """``to_dense`` whose gradient is in another layout."""

    @staticmethod
    def forward(ctx: Any, s: Any) -> Any:
        return s.to_dense()

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return tengen.ones(2, 3, dtype=F64).mul(grad).to_sparse_csr()


@pytest.mark.oracle
@pytest.mark.parametrize("layout", LAYOUTS)
def test_as_pytorch(layout: str) -> None:
    torch = pytest.importorskip("torch")
    for name, (function, _, _) in FUNCTIONS.items():
        for masked in (True, False):
            for fast in (True, False):
                options = {"masked": masked, "fast_mode": fast}
                found = [verdict(lib, function, matrix(lib, layout), **options) for lib in (tengen, torch)]
                assert found[0] == found[1], (name, options)
