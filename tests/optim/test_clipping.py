"""Gradients cut to size, and parameters as vectors; here and in torch."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import tengen
from tengen.autograd import profiler
from tengen.nn.utils import grad_arrays


def with_gradients(m: ModuleType, dtype: str = "float32", factor: float = 1.0) -> list[Any]:
    """Parameters of several shapes, one without a gradient, one whose gradient is not contiguous."""
    numbers = np.random.default_rng(0)
    found = []
    for shape in ((3, 4), (), (5000,), (0,), (2, 3)):
        p = m.zeros(shape, dtype=getattr(m, dtype), requires_grad=True)
        p.grad = m.tensor((factor * numbers.standard_normal(shape)).tolist(), dtype=p.dtype).reshape(shape)
        found.append(p)
    found[4].grad = found[4].grad.t().contiguous().t()
    found.append(m.zeros(2, requires_grad=True))
    return found


def values(params: list[Any]) -> np.ndarray:
    """The elements of all gradients."""
    return np.concatenate([np.array(p.grad.numpy()).ravel() for p in params if p.grad is not None])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("order", [2, 1, 3.5, float("inf")])
@pytest.mark.parametrize("largest", [1.0, 1e6])
def test_norm(m: ModuleType, largest: float, order: float, dtype: str) -> None:
    params = with_gradients(m, dtype)
    if order == float("inf"):
        params = [p for p in params if p.numel()]  # an empty one has none
    before = values(params)
    expected = np.linalg.norm(before.astype(np.float64), order)
    total = m.nn.utils.clip_grad_norm_(params, largest, order)
    assert total.shape == ()
    assert total.dtype == getattr(m, dtype)
    assert total.item() == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(values(params), before * min(1, largest / (expected + 1e-6)), rtol=1e-5)
    found = m.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None], order)
    assert found.item() == pytest.approx(np.linalg.norm(values(params).astype(np.float64), order), rel=1e-5)


def test_value(m: ModuleType) -> None:
    params = with_gradients(m)
    params[0].grad[0, 0] = float("nan")
    before = values(params)
    m.nn.utils.clip_grad_value_(params, 0.5)
    np.testing.assert_array_equal(values(params), np.clip(before, np.float32(-0.5), np.float32(0.5)))


@pytest.mark.parametrize(
    ("factor", "expected"), [(1e30, float("inf")), (1e-30, 0.0), (0.0, 0.0)], ids=["large", "small", "zero"]
)
def test_squares_out_of_range(m: ModuleType, factor: float, expected: float) -> None:
    """Squares that float32 does not hold are infinite or zero, in the norm of all as in each operator."""
    params = with_gradients(m, factor=factor)
    norm = m.nn.utils.get_total_norm([p.grad for p in params if p.grad is not None])
    by_operators = m.linalg.vector_norm(
        m.stack([m.linalg.vector_norm(p.grad) for p in params if p.grad is not None])
    )
    assert norm.item() == by_operators.item() == expected


def test_what_is_not_finite(m: ModuleType) -> None:
    params = with_gradients(m)
    params[0].grad[0, 0] = float("inf")
    before = values(params)
    with pytest.raises(RuntimeError, match="is non-finite, so it cannot be clipped"):
        m.nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    np.testing.assert_array_equal(values(params), before)
    assert m.nn.utils.clip_grad_norm_(params, 1.0).item() == float("inf")
    assert values(params)[1] == 0


def test_nothing_to_clip(m: ModuleType) -> None:
    assert m.nn.utils.clip_grad_norm_([], 1.0).item() == 0
    assert m.nn.utils.clip_grad_norm_([m.ones(2, requires_grad=True)], 1.0).item() == 0
    if m is tengen:  # PyTorch fails, for it wants to know the device of the first one
        m.nn.utils.clip_grad_value_([m.ones(2, requires_grad=True)], 1.0)
    with pytest.warns(UserWarning, match="empty generator"):
        m.nn.utils.clip_grad_norm_((p for p in ()), 1.0)


def test_one_tensor_and_generators(m: ModuleType) -> None:
    p = m.ones(2, requires_grad=True)
    p.grad = m.tensor([3.0, 4.0])
    assert m.nn.utils.clip_grad_norm_(p, 1.0).item() == pytest.approx(5)
    assert p.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)
    m.nn.utils.clip_grad_norm_((q for q in [p]), 0.5)
    assert p.grad.tolist() == pytest.approx([0.3, 0.4], rel=1e-5)
    with pytest.warns(FutureWarning, match="deprecated"):
        m.nn.utils.clip_grad_norm(p, 1.0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64"])
def test_other_dtypes(m: ModuleType, dtype: str) -> None:
    p = m.ones(2, dtype=getattr(m, dtype), requires_grad=True)
    p.grad = m.tensor([3.0, 4.0], dtype=p.dtype)
    assert m.nn.utils.clip_grad_norm_(p, 1.0).item() == pytest.approx(5)
    assert p.grad.abs().tolist() == pytest.approx([0.6, 0.8], rel=1e-2)


def test_versions(m: ModuleType) -> None:
    """Clipping is a write."""
    for clip in (m.nn.utils.clip_grad_norm_, m.nn.utils.clip_grad_value_):
        p, x = m.ones(2, requires_grad=True), m.ones(2, requires_grad=True)
        p.grad = m.tensor([3.0, 4.0])
        loss = (p.grad * x).sum()
        clip([p], 1.0)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_gradients_with_history(m: ModuleType) -> None:
    """They are clipped without being recorded."""
    x = m.tensor([3.0, 4.0], requires_grad=True)
    (x.grad,) = m.autograd.grad((x * x).sum(), x, create_graph=True)
    m.nn.utils.clip_grad_norm_([x], 1.0)
    assert x.grad.tolist() == pytest.approx([0.6, 0.8], rel=1e-5)


def test_arrays_and_operators_agree() -> None:
    """In a profile all is done by operators."""
    seen = []
    for profiled in (False, True):
        params = with_gradients(tengen)
        with profiler.profile() if profiled else warnings.catch_warnings():
            total = tengen.nn.utils.clip_grad_norm_(params, 2.0)
            tengen.nn.utils.clip_grad_value_(params, 0.01)
        seen.append((total.item(), values(params)))
    assert seen[0][0] == pytest.approx(seen[1][0], rel=1e-6)
    np.testing.assert_allclose(seen[0][1], seen[1][1], rtol=1e-5)
    assert grad_arrays.euclidean_norm([tengen.ones(2, dtype=tengen.float16)]) is None


def test_vectors(m: ModuleType) -> None:
    a, b = m.ones(2, 2, requires_grad=True), m.zeros(3, requires_grad=True)
    vector = m.nn.utils.parameters_to_vector([a, b])
    assert vector.tolist() == [1, 1, 1, 1, 0, 0, 0]
    (vector * m.arange(7)).sum().backward()
    assert b.grad.tolist() == [4, 5, 6]
    fresh = m.arange(7.0)
    m.nn.utils.vector_to_parameters(fresh, (p for p in (a, b)))
    assert a.tolist() == [[0, 1], [2, 3]]
    assert b.tolist() == [4, 5, 6]
    assert b.requires_grad
    fresh[4] = 9
    assert b[0].item() == 9
    with pytest.raises(TypeError, match="expected"):
        m.nn.utils.vector_to_parameters([1.0], [a])
    with pytest.raises(RuntimeError):
        m.nn.utils.vector_to_parameters(m.ones(5), [a, b])


def test_vectors_of_several_devices() -> None:
    a, b = tengen.ones(2), tengen.ones(2, device="meta")
    with pytest.raises(TypeError, match="different devices"):
        tengen.nn.utils.parameters_to_vector([a, b])
    with pytest.raises(TypeError, match="different devices"):
        tengen.nn.utils.vector_to_parameters(tengen.ones(4), [a, b])
