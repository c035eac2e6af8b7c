"""``linear`` of few rows by large weights, which BLAS gets the other way round."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tengen.core.costs import LINEAR_FEW_ROWS, LINEAR_LEAST
from tengen.generated.contractions import linear
from tengen.kernels.contractions import is_few_rows

WEIGHT = (512, 260)


@pytest.mark.parametrize("rows", [1, 2, 4, LINEAR_FEW_ROWS, LINEAR_FEW_ROWS + 1])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_rows_are_products_with_the_weight(rows: int, bias: bool, dtype: Any) -> None:
    rng = np.random.default_rng(rows)
    weight = rng.standard_normal(WEIGHT).astype(dtype)
    b = rng.standard_normal(WEIGHT[0]).astype(dtype) if bias else None
    x = rng.standard_normal((rows, 1, WEIGHT[1])).astype(dtype)
    expected = np.einsum("nsi,oi->nso", x, weight) + (0 if b is None else b)
    layouts: list[Any] = [weight, np.asfortranarray(weight), np.repeat(weight, 2, 1)[:, ::2]]
    for w in layouts:
        for given in (x, x[:, 0], np.asfortranarray(x[:, 0])):
            found = linear.numpy(given, w, b)
            assert found.flags.c_contiguous and found.dtype == weight.dtype
            np.testing.assert_allclose(found, expected.reshape(found.shape), rtol=1e-4, atol=1e-3)


def test_few_rows_are_those_of_large_products() -> None:
    weight = np.zeros((LINEAR_LEAST // 16, 2))
    assert [is_few_rows(n, weight) for n in (0, 1, 7, 8, LINEAR_FEW_ROWS, LINEAR_FEW_ROWS + 1)] == [
        *(False, False, False, True, True, False)
    ]
