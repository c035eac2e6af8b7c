"""When the memory of BLAS is touched: before the first product that is worth it, in whichever operator."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

import tengen
from tengen.kernels import blas

F = tengen.nn.functional
PRODUCTS: dict[str, Callable[[int], Any]] = {
    "mm": lambda n: tengen.ones(n, n).mm(tengen.ones(n, n)),
    "addmm": lambda n: tengen.addmm(tengen.ones(n), tengen.ones(n, n), tengen.ones(n, n)),
    "bmm": lambda n: tengen.bmm(tengen.ones(2, n, n), tengen.ones(2, n, n)),
    "matmul": lambda n: tengen.ones(2, 1, n, n) @ tengen.ones(3, n, n),
    "linear": lambda n: F.linear(tengen.ones(n, n), tengen.ones(n, n)),
    "linear with bias": lambda n: F.linear(tengen.ones(2, n // 2, n), tengen.ones(n, n), tengen.ones(n)),
}


@pytest.mark.parametrize("product", PRODUCTS)
def test_the_first_large_product_touches_it(product: str, monkeypatch: pytest.MonkeyPatch) -> None:
    multiplied: list[tuple[int, ...]] = []

    class Matrix:
        def __init__(self, shape: tuple[int, ...]) -> None:
            self.shape = shape

        def dot(self, other: Matrix) -> None:
            multiplied.append((*self.shape, *other.shape))

    monkeypatch.setattr(blas, "np", SimpleNamespace(ones=Matrix))
    blas.untouched[:] = [True]
    PRODUCTS[product](8)
    assert not multiplied and blas.untouched
    for _ in range(2):
        PRODUCTS[product](64)
        assert multiplied == [(64, 256, 256, 256)] and not blas.untouched
