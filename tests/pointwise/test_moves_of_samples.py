"""How samples of gamma and Dirichlet distributions move with the parameters: the derivatives of both."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

import tengen
from tengen import func

#: Shape, sample, how it moves: from 80 digits, by differences of the distribution.
GAMMA = [
    (1e-3, 1e-20, 4.547612992807061e-16),
    (1e-3, 0.4, 419.58412371803223),
    (0.3, 2.0, 3.5641103212469214),
    (0.5625, 0.75, 1.5070528933940461),
    (1.0, 1.0, 1.1735630272247268),
    (3.0, 0.01, 0.019588658948523626),
    (30.0, 60.0, 1.3939072794341447),
    (1000.0, 1010.0, 1.0051509296765344),
    (1e5, 99500.0, 0.9974974853786163),
]
#: A part, its parameter, the sum of the others, how it moves by ``1 - x``.
BETA = [
    (1e-12, 0.01, 1.0, 2.763102111595618e-09),
    (0.5, 1.0, 1.0, 0.6931471805599453),
    (0.25, 0.5, 8.0, 0.31935340507156795),
    (0.9921875, 256.0, 0.3125, 0.0038961716791863538),
    (0.96875, 0.01, 0.02, 3233.702276083188),
    (1e-3, 2.0, 500.0, 0.0009949860220228794),
    (0.75, 300.0, 100.0, 0.002503475288753922),
    (0.125, 0.0625, 64.0, 0.26658046464940827),
]


def bound(size: float) -> float:
    """The rule's error, and that of logarithms and exponents as large as ``log(size)`` and ``sqrt(size)``."""
    return 2e-12 + 8 * 2.0**-52 * (1 + abs(math.log(size))) * math.sqrt(size)


@pytest.mark.parametrize("shape, sample, expected", GAMMA)
def test_gamma(shape: float, sample: float, expected: float) -> None:
    given = [tengen.tensor(v, dtype=tengen.float64) for v in (shape, sample)]
    assert math.isclose(tengen._standard_gamma_grad(*given).item(), expected, rel_tol=bound(shape))
    single = tengen._standard_gamma_grad(*[v.float() for v in given])
    moved = [v.float().double() for v in given]
    assert single.item() == tengen._standard_gamma_grad(*moved).float().item(), "computed in float64"


@pytest.mark.parametrize("x, alpha, rest, expected", BETA)
def test_parts(x: float, alpha: float, rest: float, expected: float) -> None:
    given = [tengen.tensor(v, dtype=tengen.float64) for v in (x, alpha, alpha + rest)]
    assert math.isclose(tengen._dirichlet_grad(*given).item(), expected, rel_tol=bound(alpha + rest))


def test_samples_move_at_their_quantiles() -> None:
    """The gradient of samples is what moves the distribution's quantile: by differences of SciPy's."""
    shape = tengen.linspace(0.5, 20, 50, dtype=tengen.float64).requires_grad_()
    sample = tengen._standard_gamma(shape, generator=tengen.Generator().manual_seed(3))
    (slope,) = tengen.autograd.grad(sample.sum(), shape)
    a, x, step = shape.numpy(force=True), sample.numpy(force=True), 1e-4
    quantile = special.gammainc(a, x)
    ahead, behind = (special.gammaincinv(a + s, quantile) for s in (step, -step))
    # a step of 1e-4 is wrong by 1e-8; SciPy is, of a quantile near 1, by its rounding there, by the step
    np.testing.assert_allclose(slope.numpy(), (ahead - behind) / (2 * step), rtol=1e-6)


def test_dirichlet_is_gammas_divided_by_their_sum() -> None:
    """Its gradient is right in the mean: E[x] is alpha / total, and the derivative of that is known."""
    alpha = tengen.tensor([0.7, 1.5, 3.0], dtype=tengen.float64, requires_grad=True)
    many = tengen._sample_dirichlet(alpha.expand(200_000, 3), generator=tengen.Generator().manual_seed(5))
    total = alpha.detach().sum()
    for i in range(3):
        (slope,) = tengen.autograd.grad(many[:, i].mean(), alpha, retain_graph=True)
        expected = (
            tengen.where(tengen.arange(3) == i, total - alpha.detach()[i], -alpha.detach()[i]) / total**2
        )
        # 200,000 slopes, each below 1 in size: five deviations of their mean
        assert (slope - expected).abs().max() < 5 / math.sqrt(200_000)
    assert (many.sum(-1) - 1).abs().max() < 1e-14


@pytest.mark.parametrize("name", ["_standard_gamma", "_sample_dirichlet"])
def test_forward_mode_agrees(name: str) -> None:
    """The product of a tangent with the gradient is that of the gradient with the tangent."""
    operator = getattr(tengen, name)
    given = tengen.rand(4, 3, dtype=tengen.float64) + 0.5
    tangent, weight = tengen.randn(4, 3, dtype=tengen.float64), tengen.randn(4, 3, dtype=tengen.float64)

    def drawn(x: tengen.Tensor) -> tengen.Tensor:
        found: tengen.Tensor = operator(x, generator=tengen.Generator().manual_seed(7))
        return found

    _, moved = func.jvp(drawn, (given,), (tangent,))
    _, pull = func.vjp(drawn, given)
    assert tengen.allclose((moved * weight).sum(), (pull(weight)[0] * tangent).sum(), rtol=1e-12)


@pytest.mark.parametrize("dtype", [tengen.float16, tengen.bfloat16, tengen.float32, tengen.float64])
def test_samples_lie_inside(dtype: tengen.dtype) -> None:
    """Also those of parameters near 0: logarithms of samples are numbers."""
    info = tengen.finfo(dtype)
    tiny = tengen.tensor([-1.0, 0.0, 1e-3, 1e-3], dtype=dtype).expand(100, 4)
    gammas, parts = tengen._standard_gamma(tiny), tengen._sample_dirichlet(tiny)
    assert gammas.dtype == parts.dtype == dtype
    assert (gammas[:, :2] == info.tiny).all() and (gammas >= info.tiny).all()
    assert (parts >= info.tiny).all() and (parts < 1).all()
    assert (parts.max(-1)[0] == 1 - info.eps / 2).any(), "one has nearly all"
    odd = tengen._standard_gamma(tengen.tensor([math.nan, math.inf, -0.0, -1.0], dtype=dtype))
    assert odd[0].isnan() and not odd[1].isnan() and (odd[2:] == info.tiny).all()
    assert (tengen._standard_gamma(tengen.tensor(-0.0, dtype=dtype).expand(3)) == info.tiny).all()


@pytest.mark.parametrize("dtype", [tengen.float16, tengen.bfloat16])
def test_half_gradients_are_formed_in_float32(dtype: tengen.dtype) -> None:
    alpha = (tengen.rand(50, 4) * 30 + 0.5).to(dtype).requires_grad_()
    parts = tengen._sample_dirichlet(alpha, generator=tengen.Generator().manual_seed(1))
    weight = tengen.randn(50, 4).to(dtype)
    (found,) = tengen.autograd.grad(parts, alpha, weight)
    a, x, w = alpha.detach().float(), parts.detach().float(), weight.float()
    moves = tengen._dirichlet_grad(x, a, a.sum(-1, True).expand_as(a))
    assert tengen.equal(found, (moves * (w - (w * x).sum(-1, True))).to(dtype))


def test_mistakes() -> None:
    with pytest.raises(RuntimeError, match="_dirichlet_grad"):
        tengen._dirichlet_grad(tengen.rand(2), tengen.rand(2), tengen.rand(2, dtype=tengen.float64))
    with pytest.raises(NotImplementedError, match="_standard_gamma"):
        tengen._standard_gamma(tengen.ones(2, dtype=tengen.int64))
