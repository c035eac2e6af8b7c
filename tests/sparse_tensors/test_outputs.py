"""``out=`` of operators that make tensors, where the output is sparse: it stays what it is, or is refused."""

from __future__ import annotations

from typing import Any

import pytest

import tengen

LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc")


def output(m: Any, layout: str) -> Any:
    return m.tensor([[1.0, 0], [0, 2]]).to_sparse(layout=getattr(m, layout))


def made(m: Any, name: str, size: tuple[int, ...], layout: str) -> Any:
    out = output(m, layout)
    result = getattr(m, name)(size, out=out)
    assert result is out
    return (
        tuple(out.shape),
        str(out.layout).split(".")[-1],
        out.dtype.itemsize,
        out._nnz(),
        out.to_dense().tolist(),
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("size", [(2, 2), (3, 2), (2, 3, 4)])
def test_nothing_is_stored_in_a_new_one(layout: str, size: tuple[int, ...]) -> None:
    zeros = tengen.zeros(size).tolist()
    for name in ("zeros", "empty"):
        assert made(tengen, name, size, layout) == (size, layout, 4, 0, zeros)


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore:Sparse CS. tensor support")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_zeros_as_in_torch(layout: str) -> None:
    import torch

    for size in ((2, 2), (3, 2), (2, 3, 4)):
        assert made(tengen, "zeros", size, layout) == made(torch, "zeros", size, layout)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_would_store_everything_is_refused(layout: str) -> None:
    out = output(tengen, layout)
    for make in (
        lambda: tengen.ones(2, 2, out=out),
        lambda: tengen.full((2, 2), 3.0, out=out),
        lambda: tengen.rand(2, 2, out=out),
        lambda: tengen.arange(4, out=out),
        lambda: tengen.eye(2, out=out),
    ):
        with pytest.raises(NotImplementedError, match=r"not implemented for 'Float' \(Sparse(Csr)?CPU\)"):
            make()
    assert out.to_dense().tolist() == [[1.0, 0.0], [0.0, 2.0]]
