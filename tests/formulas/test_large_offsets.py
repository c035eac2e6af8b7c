"""Variances, and what is normalised by them, of numbers that are far from zero and near each other.

A mean in float32 is off by half a unit in its own last place at most, which may be as much as the numbers
differ: a variance about it is too large by the square of that, unless it is taken off. Variances are right to
a few units of their own; what is normalised, and gradients, that take a saved mean, are off by its rounding.
Beside it stands the same in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
import tengen.nn.functional as F

Array = Any
EPS = float(np.finfo(np.float32).eps)
OFFSETS = (0.0, 1e3, -1e6)


def numbers(shape: tuple[int, ...], offset: float) -> Array:
    rng = np.random.default_rng(len(shape))
    return (rng.standard_normal(shape) + offset).astype(np.float32)


def both(function: Callable[[Any], Any], given: Array) -> list[tuple[Array, ...]]:
    """The first result, its gradient by the input for a random one of its own, and what else it gives."""
    found = []
    for kind in (np.float32, np.float64):
        x = tengen.from_numpy(given.astype(kind)).requires_grad_()
        result = function(x)
        first, *rest = result if isinstance(result, tuple) else (result,)
        grad = np.random.default_rng(7).standard_normal(tuple(first.shape))
        (by_x,) = tengen.autograd.grad(first, x, tengen.from_numpy(np.asarray(grad, kind)), retain_graph=True)
        found.append(tuple([t.detach().double().numpy() for t in (first, by_x, *rest)]))
    return found


def assert_within(found: Array, true: Array, bound: Array, what: str) -> None:
    error = np.abs(found - true)
    assert (error <= bound).all(), f"{what}: off by {error.max()}, at most {np.max(bound)} was expected"


SPREADS = {
    "var": lambda x, d: x.var(d),
    "std": lambda x, d: x.std(d, correction=0, keepdim=True),
    "var_mean": lambda x, d: tengen.var_mean(x, d),
    "std_mean": lambda x, d: tengen.std_mean(x, d),
}


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("shape, dim", [((40, 6), 0), ((6, 40), 1), ((3, 5, 40), (0, 2)), ((30, 41), None)])
@pytest.mark.parametrize("name", SPREADS)
def test_variances(name: str, shape: Any, dim: Any, offset: float) -> None:
    found, true = both(lambda x: SPREADS[name](x, dim), numbers(shape, offset))
    # Formed in float64 and rounded; the gradient has a difference, less a mean of n terms, and factors.
    assert_within(found[0], true[0], 2 * EPS * np.abs(true[0]), name)
    n = np.size(true[1]) / np.size(true[0])
    assert_within(found[1], true[1], (8 + n) * EPS * np.abs(true[1]).max(), f"the gradient of {name}")


@pytest.mark.parametrize("function", [tengen.cov, tengen.corrcoef])
def test_covariances(function: Any) -> None:
    found, true = both(function, numbers((4, 50), -1e6))
    for a, b in zip(found, true, strict=True):
        assert_within(a, b, (8 + 50) * EPS * np.abs(b).max(), function.__name__)


def layer(x: Any) -> Any:
    out, mean, rstd = tengen.ops.aten.native_layer_norm(x, x.shape[-1:], None, None, 1e-5)
    return out, mean, rstd


def group(x: Any) -> Any:
    n, c = x.shape[:2]
    out, mean, rstd = tengen.ops.aten.native_group_norm(x, None, None, n, c, x.numel() // (n * c), 2, 1e-5)
    each = (n, 2, *[1] * (x.ndim - 1))
    return out, mean.reshape(each), rstd.reshape(each)


def batch(x: Any) -> Any:
    out, mean, rstd = tengen.ops.aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
    each = (1, -1, *[1] * (x.ndim - 2))
    return out, mean.reshape(each), rstd.reshape(each)


NORMS = {layer: [(6, 40), (40, 6), (3, 2, 5), (300, 200)], group: [(3, 4, 2), (4, 8, 5, 5), (2, 4, 20, 30)]}
NORMS[batch] = [(40, 6), (300, 200), (5, 6, 3), (4, 8, 5, 5), (16, 4, 100), (2, 4, 20, 30)]


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("norm, shape", [(n, s) for n, shapes in NORMS.items() for s in shapes])
def test_normalised(norm: Any, shape: tuple[int, ...], offset: float) -> None:
    given = numbers(shape, offset)
    (out, by_x, mean, rstd), (y, by_y, average, root) = both(norm, given)
    n = given.size / mean.size
    sums = (8 + n) * EPS  # of n terms of one sign, each rounded, and a few steps more
    assert_within(rstd, root, sums * root, "rstd")
    unit = np.spacing(np.abs(average).astype(np.float32)) / 2
    shift = unit * (1 + EPS) + sums  # of the mean, in deviations, which are about 1
    assert_within(mean, average, shift, "mean")
    if norm is group:
        shift, rstd, root = shift.max(), root.max(), root.max()
    shift = shift * root
    assert_within(out, y, shift + sums * (1 + np.abs(y)), "the output")
    # rstd (g - mean(g) - y mean(g y)), where each y is off by `shift`.
    means = np.abs(by_y).max() + 4 / np.sqrt(n)  # of g and of g y: four deviations of a mean of n
    bound = root * ((1 + shift + np.abs(y)) * shift * means + sums * (4 + np.abs(y)))
    assert_within(by_x, by_y, bound, "the gradient")


@pytest.mark.parametrize("offset", OFFSETS)
def test_running_and_instance(offset: float) -> None:
    given = numbers((4, 3, 50), offset)
    mean, variance = tengen.zeros(3), tengen.ones(3)
    F.batch_norm(tengen.from_numpy(given), mean, variance, training=True, momentum=1.0)
    wide = given.astype(np.float64)
    np.testing.assert_allclose(variance.numpy(), wide.var((0, 2), ddof=1), rtol=(8 + 200) * EPS)
    np.testing.assert_allclose(mean.numpy(), wide.mean((0, 2)), rtol=EPS, atol=(8 + 200) * EPS)
    found = F.instance_norm(tengen.from_numpy(given)).numpy()
    true = F.instance_norm(tengen.from_numpy(wide)).numpy()
    shift = np.spacing(np.float32(abs(offset))) * 2
    assert_within(found, true, shift + (8 + 50) * EPS * (1 + np.abs(true)), "instance_norm")


@pytest.mark.parametrize("size", [3, 1000])
@pytest.mark.parametrize("value", [1e10, 1e30, -16777217.0])
def test_equal_numbers(value: float, size: int) -> None:
    """They have no variance: what is left of a rounded mean is no more than its rounding."""
    x = tengen.full((2, size), value)
    out, _, rstd = tengen.ops.aten.native_layer_norm(x, (size,), None, None, 1e-5)
    assert out.isfinite().all()
    assert rstd.isfinite().all()
    assert (out.abs() < 0.5).all()  # 1 where the mean's error is taken for a deviation


def test_infinite_means() -> None:
    for shape in ((2, 3), (2, 3, 1), (2, 3, 50)):
        x = tengen.ones(shape)
        x[0, 1] = float("inf")
        _, mean, rstd = tengen.ops.aten.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)
        assert mean.tolist() == [1.0, float("inf"), 1.0]
        assert rstd.isnan().tolist() == [False, True, False]
    mean = tengen.var_mean(tengen.tensor([[1.0, float("inf")]]), 1)[1]
    assert mean.tolist() == [float("inf")]
