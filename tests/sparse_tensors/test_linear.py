"""``linear``, ``addmv`` and products with batches, of sparse matrices in all layouts, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen
import tengen.nn.functional as F
from tengen import Tensor

LAYOUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "coo": lambda d: d.to_sparse(),
    "csr": lambda d: d.to_sparse_csr(),
    "csc": lambda d: d.to_sparse_csc(),
    "bsr": lambda d: d.to_sparse_bsr((1, 2)),
    "bsc": lambda d: d.to_sparse_bsc((2, 1)),
}


def matrix(seed: int, rows: int = 4, dtype: Any = tengen.float64) -> Tensor:
    tengen.manual_seed(seed)
    made = tengen.randn(rows, 6, dtype=dtype)
    return made * (made.abs() > 0.5)


def compare(function: Callable[..., Tensor], given: list[Tensor], dense: list[Tensor]) -> Tensor:
    """What a function gives, which is as of strided tensors; so are the gradients."""
    leaves = [t.detach().requires_grad_() for t in given]
    others = [t.detach().clone().requires_grad_() for t in dense]
    found, expected = function(*leaves), function(*others)
    tengen.testing.assert_close(found.to_dense(), expected)
    for result in (
        found.to_dense(masked_grad=False) if found.layout is not tengen.strided else found,
        expected,
    ):
        (result * result.conj()).real.sum().backward()
    for a, b in zip(leaves, others, strict=True):
        there = a.grad.to_dense() != 0
        tengen.testing.assert_close(a.grad.to_dense() * there, b.grad * there)
        assert there.any()
        if a.grad.layout is tengen.strided:
            tengen.testing.assert_close(a.grad, b.grad)
    return found


@pytest.mark.parametrize("dtype", [tengen.float64, tengen.complex128])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_linear(layout: str, dtype: Any) -> None:
    change = LAYOUTS[layout]
    x, w, bias = matrix(0, dtype=dtype), matrix(1, 2, dtype), matrix(2, 1, dtype)[0, :2] + 1
    for given in ([change(x), w], [x, change(w)], [change(x), change(w)], [change(x), w[0]]):
        dense = [t.to_dense() for t in given]
        found = compare(F.linear, given, dense)
        strided = any(t.layout is tengen.strided for t in given)
        assert (found.layout is tengen.strided) == strided
        if given[1].ndim == 2:
            assert compare(F.linear, [*given, bias], [*dense, bias]).layout is tengen.strided


@pytest.mark.parametrize("layout", LAYOUTS)
def test_addmv_and_batches(layout: str) -> None:
    change, x, vector = LAYOUTS[layout], matrix(0), matrix(3, 1)[0] + 1
    start = tengen.ones(4, dtype=tengen.float64)
    compare(
        lambda s, m, v: tengen.addmv(s, m, v, beta=2, alpha=3), [start, change(x), vector], [start, x, vector]
    )
    batches = tengen.stack([matrix(n) for n in (4, 5)])
    compare(lambda m, b: m @ b, [change(x), batches.mT], [x, batches.mT])
    compare(lambda b, m: b @ m, [batches.mT, change(x)], [batches.mT, x])


def test_errors() -> None:
    x, w = matrix(0), matrix(1, 2)
    wrong: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: F.linear(x.to_sparse(), w[:, :3]), RuntimeError, "linear: .*4x6 and 3x2"),
        (lambda: F.linear(x.to_sparse(), w.float()), RuntimeError, "linear: .*same dtype"),
        (lambda: F.linear(x.to_sparse(), w.to_sparse_csr()), NotImplementedError, "linear: .*sparse_csr"),
        (lambda: F.linear(x[0].to_sparse(), w), RuntimeError, "linear: expected a sparse matrix"),
        (lambda: tengen.addmv(x[:, 0], x.to_sparse(), x[:, 0]), RuntimeError, "addmv: size mismatch"),
        (lambda: x.to_sparse_csr() @ tengen.stack([x, x]), RuntimeError, "matmul: .*4x6 and 4x6"),
    ]
    for call, kind, text in wrong:
        with pytest.raises(kind, match=text):
            call()
