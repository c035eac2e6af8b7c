"""Derivatives where they are special: at zeros of norms, at kinks, of singular matrices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tengen
from tengen import func
from tengen.nn import functional as F


def zeros(*shape: int) -> Any:
    return tengen.zeros(shape, dtype=tengen.float64)


NORMS: dict[str, Callable[[Any], Any]] = {
    "linalg.norm": tengen.linalg.norm,
    "vector_norm 2": lambda x: tengen.linalg.vector_norm(x, 2),
    "vector_norm 3": lambda x: tengen.linalg.vector_norm(x, 3),
    "vector_norm 4": lambda x: tengen.linalg.vector_norm(x, 4),
    "norm": lambda x: x.norm(),
    "norm of rows": lambda x: x.reshape(1, 3).norm(dim=1).sum(),
}


@pytest.mark.parametrize("name", NORMS)
def test_norms_of_zero_are_flat(name: str) -> None:
    """The gradient is 0 there, and so is its derivative, in each mode."""
    x = zeros(3)
    assert func.grad(NORMS[name])(x).tolist() == [0.0] * 3
    for outer, inner in itertools.product((func.jacrev, func.jacfwd), repeat=2):
        assert outer(inner(NORMS[name]))(x).tolist() == zeros(3, 3).tolist()


@pytest.mark.parametrize("function", [F.elu, F.selu, F.celu], ids=lambda f: f.__name__)
def test_the_curve_of_elu_ends_at_zero(function: Any) -> None:
    assert func.grad(func.grad(function))(zeros()).item() == 0.0


def test_the_parabola_of_huber_ends_at_delta() -> None:
    loss = lambda x: F.huber_loss(x, x.detach() * 0, delta=1.0)  # noqa: E731
    assert func.grad(func.grad(loss))(zeros() + 1).item() == 0.0
    assert func.grad(func.grad(loss))(zeros() + 0.5).item() == 1.0


def test_what_is_masked_is_linear_in_the_gradient() -> None:
    """``linearize`` differentiates gradients by what they were computed from."""
    z = tengen.zeros(2, dtype=tengen.complex128)
    for f in (tengen.sgn, tengen.angle, lambda z: (z.abs() ** 2).sum()):
        direction = z + 1
        tangent = func.linearize(f, z)[1](direction)
        assert tangent.tolist() == func.jvp(f, (z,), (direction,))[1].tolist()


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_determinants_of_singular_matrices(rank: int) -> None:
    """They are polynomials: the minors are the gradient, and have derivatives."""
    a = zeros(3, 3)
    a[:rank, :rank] = tengen.tensor([[1.0, 2.0], [3.0, 5.0]])[:rank, :rank]

    def by_minors(m: Any) -> Any:
        (p, q, r), (s, t, u), (v, w, x) = [row.unbind() for row in m.unbind()]
        return p * (t * x - u * w) - q * (s * x - u * v) + r * (s * w - t * v)

    assert tengen.linalg.det(a).item() == 0
    for order in (1, 2):
        for modes in itertools.product((func.jacrev, func.jacfwd), repeat=order):
            found, expected = tengen.linalg.det, by_minors
            for mode in modes:
                found, expected = mode(found), mode(expected)
            assert tengen.allclose(found(a), expected(a), atol=1e-12)
    z = zeros(3, 3).to(tengen.complex128)
    z[:, :rank] = tengen.tensor([[1 + 1j, 2.0], [3j, 5 - 1j], [2 - 1j, 1j]])[:, :rank]
    z.requires_grad_()
    gradients = [tengen.autograd.grad(f(z).real, z)[0] for f in (tengen.linalg.det, by_minors)]
    assert tengen.allclose(*gradients, atol=1e-12)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6])
def test_tangents_of_inverses_from_badly_scaled_factors(upper: bool, dtype: str, scale: float) -> None:
    """With A = L L^H, d(A^-1) is -A^-1 dA A^-1; row by row the scale of L cancels, as it is a power of 2."""
    rng = np.random.default_rng(0)
    lower, moved = (np.tril(rng.standard_normal((4, 4)) + 3 * np.eye(4)) for _ in range(2))
    if dtype == "complex128":
        lower, moved = (m + 1j * np.tril(rng.standard_normal((4, 4)), -1) for m in (lower, moved))
    rows = 2.0 ** np.round(np.linspace(0, np.log2(scale), 4))[:, None]
    inverse = np.linalg.inv(lower @ lower.conj().T)
    change = moved @ lower.conj().T + lower @ moved.conj().T
    expected = -inverse @ change @ inverse
    factor, along = (rows * m for m in (lower, moved))
    if upper:
        factor, along = (np.ascontiguousarray(m.conj().T) for m in (factor, along))
    found = func.jvp(
        lambda x: tengen.cholesky_inverse(x, upper=upper),
        (tengen.from_numpy(factor),),
        (tengen.from_numpy(along),),
    )[1].numpy()
    # Each product and each inverse multiplies the error by the condition of what it is of.
    allowed = 64 * np.linalg.cond(lower) ** 4 * np.finfo(float).eps
    np.testing.assert_allclose(found * rows * rows.T, expected, 0, allowed * np.abs(expected).max())


@pytest.mark.parametrize("order", [-3, 0.5, 1.5, 3, 6])
def test_norms_whose_powers_overflow(order: float) -> None:
    """In half precision the powers of 144 are infinite; the gradient is that of float64, rounded."""
    numbers = [9.0, 8.0, -7.0, 2.0]
    half, exact = (tengen.tensor(numbers, dtype=d, requires_grad=True) for d in (tengen.half, tengen.double))
    for x in (half, exact):
        tengen.linalg.vector_norm(x * 16, order).backward()
    assert exact.grad is not None and half.grad is not None
    # Four roundings of the ratio, whose power has |order - 1| times its error.
    allowed = 2.0**-11 * (4 * abs(order - 1) + 6)
    assert tengen.allclose(half.grad.double(), exact.grad, rtol=allowed, atol=2.0**-24 * 64)
