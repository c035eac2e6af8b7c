"""Both forms of division by the root mean square, of few rows and of many, against each other and NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tengen
from tengen.kernels.native_kernels import kernels

SHAPES = [((3, 5), (5,)), ((2, 3, 4), (3, 4)), ((40, 3000), (3000,)), ((0, 4), (4,)), ((7,), (7,))]


def forward(x: Any, shape: tuple[int, ...], weight: Any, eps: float) -> list[Any]:
    """What the operator gives, as arrays."""
    given = [None if a is None else tengen.from_numpy(a) for a in (x, weight)]
    return [t.numpy() for t in tengen._native_rms_norm(given[0], shape, given[1], eps)]


def backward(grad: Any, x: Any, shape: tuple[int, ...], rstd: Any, weight: Any, mask: Any) -> list[Any]:
    """The gradients, as arrays."""
    of = [None if a is None else tengen.from_numpy(a) for a in (grad, x, rstd, weight)]
    found = tengen._native_rms_norm_backward(of[0], of[1], shape, of[2], of[3], mask)
    return [None if t is None else t.numpy() for t in found]


@pytest.mark.parametrize(("shape", "normalized_shape"), SHAPES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("scaled", [False, True])
def test_both_forms_agree(
    shape: tuple[int, ...],
    normalized_shape: tuple[int, ...],
    dtype: str,
    scaled: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    x, grad = (rng.standard_normal(shape).astype(dtype) for _ in range(2))
    weight = rng.uniform(0.5, 2, normalized_shape).astype(dtype) if scaled else None
    found = []
    for there in (True, False):
        if not there:
            for name in ("native_rms_norm_of_rows", "native_rms_norm_backward_of_rows"):
                for ending in ("", "_without_weight"):
                    monkeypatch.setattr(kernels, f"{name}{ending}", None)
            monkeypatch.setattr(kernels, "native_rms_norm_backward_of_rows_sums_1", None)
        out, rstd = forward(x, normalized_shape, weight, 0.1)
        given = (grad, x, normalized_shape, rstd, weight)
        found.append([out, rstd, *backward(*given, (True, True))])
        assert backward(*given, (False, False)) == [None, None]
    dims = tuple(range(-len(normalized_shape), 0))
    expected = x / np.sqrt((x.astype("float64") ** 2).mean(dims, keepdims=True) + 0.1)
    found.append([expected if weight is None else expected * weight])
    tolerance = 2e-5 if dtype == "float32" else 1e-12
    for native, other in (*zip(found[0], found[1], strict=True), (found[0][0], found[2][0])):
        assert (native is None) == (other is None)
        if native is not None:
            assert native.shape == other.shape
            np.testing.assert_allclose(native, other, rtol=tolerance, atol=tolerance)


def test_a_rows_bits_do_not_depend_on_others() -> None:
    rng = np.random.default_rng(4)
    x, grad = (rng.standard_normal((90, 1000)).astype("float32") for _ in range(2))
    weight = rng.standard_normal(1000).astype("float32")
    out, rstd = forward(x, (1000,), weight, 1e-6)
    for_x = backward(grad, x, (1000,), rstd, weight, (True, False))[0]
    for row in (0, 17, 89):
        part = slice(row, row + 1)
        few, few_rstd = forward(x[part], (1000,), weight, 1e-6)
        np.testing.assert_array_equal(few, out[part])
        given = (grad[part], x[part], (1000,), few_rstd, weight, (True, False))
        np.testing.assert_array_equal(backward(*given)[0], for_x[part])
