"""The claims of the section "Numbers"."""

from __future__ import annotations

import math

from differences.claim import Claim

#: What the function is at 5, to 12 digits.
BESSEL = """
x = m.tensor([5.01], dtype=m.float64)
abs(m.special.bessel_j0(x).item() + 0.174315432057) < 1e-11
"""
#: The slope of the incomplete gamma function of parameter 2 at 0.
FORWARD = """
m.func.jvp(lambda x: m.igamma(m.full_like(x, 2.0), x), (m.zeros(1),), (m.ones(1),))[1].item()
"""
HALF = """
rng = np.random.default_rng(0)
a, b = ((rng.random((64, 64)) * 0.8 + 0.1).astype(np.float16) for _ in range(2))
def differs(f):
    half, double = (f(m.from_numpy(a.astype(d)), m.from_numpy(b.astype(d))) for d in (np.float16, np.float64))
    return (half != double.to(m.float16)).any().item()
F = m.nn.functional
"""
EIGENVALUES = """
def largest(a, x, **options):
    found = m.lobpcg(m.from_numpy(a), X=m.from_numpy(x), niter=500, **options)[0]
    return np.allclose(found, np.linalg.eigvalsh(a)[:-1 - x.shape[1]:-1])
rng = np.random.default_rng(0)
a, x = rng.standard_normal((2, 24, 24)), rng.standard_normal((2, 24, 3))
"""
SYMMETRIC = EIGENVALUES + "a, x = a[0] @ a[0].T + np.diag(np.arange(24) * 3.0), x[0]\n"
HERMITIAN = EIGENVALUES + "a, x = a[0] + 1j * a[1], x[0] + 0j\na = a @ a.conj().T\n"
#: The loss of an element that is NaN.
MARGIN = "m.nn.functional.multi_margin_loss(m.tensor([[m.nan, 1.0]]), m.tensor([1])).isnan().item()"
#: The middle of two elements of three, to which the last one has the weight 0.
BETWEEN = """
x = m.tensor([[[1.0, 2.0, m.nan]]])
m.nn.functional.interpolate(x, size=5, mode="linear", align_corners=True)[0, 0, 2].isnan().item()
"""
#: Which row is the first one, where NaN is not there yet.
PIVOT = "m.linalg.lu_factor(m.tensor([[1.0, 2.0], [m.nan, 4.0]])).pivots[0].item()"
CLAIMS = [
    Claim("Rounding", "m.allclose(m.exp(m.ones(1)), m.tensor([2.7182817]))", True, True),
    Claim("Half precision", HALF + "differs(m.xlogy)", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: F.mse_loss(a, b, reduction='none'))", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: a.logsumexp(1))", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: a.logit())", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: m.add(a, b, alpha=0.3))", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: m.addr(a, a[0], b[0]))", False, True),
    Claim("Half precision", HALF + "differs(lambda a, b: F.softsign(a))", False, True),
    Claim("Half precision", "m.tensor([-1.0], dtype=m.bfloat16).pow(257).item()", -1.0, 1.0),
    Claim("Half precision", "m.tensor([-1.0], dtype=m.float16).pow(65537).item()", -1.0, RuntimeError),
    Claim("Half precision", "m.full((4000,), -1.0).pow(2**24 + 1)[0].item()", -1.0, 1.0),
    Claim("NaN", "m.renorm(m.tensor([[m.nan, 1.0]]), 2, 0, 1.0)[0, 1].isnan().item()", True, False),
    Claim("NaN", MARGIN, True, False),
    Claim(
        "NaN", "m.cholesky_inverse(m.tensor([[1.0, 0.0], [m.nan, 1.0]])).isnan().all().item()", True, False
    ),
    Claim("NaN", "m.linalg.cond(m.tensor([[1.0, 0.0], [m.nan, 1.0]]), 1).isnan().item()", True, False),
    Claim("NaN", BETWEEN, False, True),
    Claim("NaN", PIVOT, 2, 1),
    Claim("NaN", "m.tensor([m.nan, 2.0, 1.0, 3.0]).mode().values.isnan().item()", False, True),
    Claim("Special functions", BESSEL, True, False),
    Claim("Special functions", "m.kaiser_window(5, True, 1000.0).isnan().any().item()", False, True),
    Claim("Special functions", "m.polygamma(2, m.tensor(m.inf)).isnan().item()", False, True),
    Claim(
        "Special functions", "m.special.bessel_j0(m.ones(1, requires_grad=True)).requires_grad", True, False
    ),
    Claim(
        "Special functions",
        "f = lambda x: m.special.chebyshev_polynomial_t(x, 3)\n"
        "m.func.jvp(f, (m.ones(1),), (m.ones(1),))[1].tolist()",
        NotImplementedError,
        [0.0],
    ),
    Claim(
        "Special functions",
        "m.special.chebyshev_polynomial_t(m.tensor([9.0]), 99).isinf().item()",
        True,
        False,
    ),
    Claim("Special functions", FORWARD, 0.0, NotImplementedError),
    Claim("Numbers beyond a dtype", "(m.ones(1) * 2**70).item() == 2.0**70", True, OverflowError),
    Claim("Numbers beyond a dtype", "m.ones(1).clamp(min=1e39).item()", math.inf, RuntimeError),
    Claim("Numbers beyond a dtype", "m.where(m.ones(1) > 0, 1e39, m.ones(1)).item()", math.inf, RuntimeError),
    Claim(
        "Numbers beyond a dtype",
        "m.nn.functional.leaky_relu(-m.ones(1), 1e39).item()",
        -math.inf,
        RuntimeError,
    ),
    Claim("Numbers beyond a dtype", "(m.tensor([1]) + 2**63).item()", OverflowError, 1 - 2**63),
    Claim(
        "Numbers beyond a dtype", "m.add(m.tensor([1]), m.tensor([2]), alpha=True).item()", 3, RuntimeError
    ),
    Claim("Numbers beyond a dtype", "m.add(m.ones(1), m.ones(1), alpha=2 + 0j).item()", 3.0, RuntimeError),
    Claim("Numbers beyond a dtype", "m.zeros(2**63).shape", RuntimeError, TypeError),
    Claim("Numbers beyond a dtype", "m.ones(2).reshape(2**63).shape", RuntimeError, TypeError),
    Claim(
        "Numbers beyond a dtype",
        "m.ones(2).index_fill(0, m.tensor([0]), 2 + 0j).tolist()",
        [2.0, 1.0],
        RuntimeError,
    ),
    Claim("Numbers beyond a dtype", "m.ones(4).norm(2 + 0j).item()", 2.0, RuntimeError),
    *(
        Claim(
            "Dtypes of parameters",
            f"x, w = m.zeros(2, 3), m.ones(3, dtype=m.float64)\nm.nn.functional.{call}.dtype is x.dtype",
            True,
            RuntimeError,
        )
        for call in (
            "layer_norm(x, (3,), w)",
            "group_norm(x, 1, w)",
            "batch_norm(x, m.zeros(3), m.ones(3), w)",
            "instance_norm(x[None], weight=w[:2])",
        )
    ),
    Claim(
        "Dtypes of parameters",
        "target = m.ones(2, dtype=m.int64)\n"
        "m.nn.functional.binary_cross_entropy_with_logits(m.zeros(2), target).dtype is m.float32",
        True,
        RuntimeError,
    ),
    Claim("Eigenvalues by `lobpcg`", HERMITIAN + "largest(a, x, tol=1e-9)", True, False),
    Claim("Eigenvalues by `lobpcg`", SYMMETRIC + "largest(a, x, method='basic')", True, False),
    Claim(
        "Eigenvalues by `lobpcg`",
        SYMMETRIC + "before = x.copy()\nlargest(a, x, method='basic')\n(x == before).all().item()",
        True,
        False,
    ),
    Claim("Random numbers", "m.manual_seed(0)\nm.randperm(5).tolist()", [2, 4, 3, 0, 1], [4, 0, 1, 3, 2]),
    Claim("Random numbers", "len(m.get_rng_state())", 45, 5056),
    Claim(
        "Distributions",
        """
x = m.tensor([0.5625], dtype=m.float64)
moves = m._standard_gamma_grad(x, m.full_like(x, 0.75))
abs(moves.item() - 1.5070528933940461) < 1e-12  # of 80 digits, tests/pointwise/test_moves_of_samples.py
""",
        True,
        False,
    ),
    Claim(
        "Distributions",
        """
d = m.distributions
p, q = d.ContinuousBernoulli(m.tensor(0.5)), d.Uniform(0.0, 1.0)
[round(d.kl_divergence(*pair).item(), 6) for pair in ((p, q), (q, p))]
""",
        [0.0, 0.0],
        [math.inf, math.inf],
    ),
    Claim(
        "Distributions",
        """
rate = m.tensor(2.0, requires_grad=True)
p = m.distributions.Exponential(rate)
m.distributions.kl._kl_expfamily_expfamily(p, m.distributions.Exponential(m.tensor(1.0))).backward()
rate.grad is not None and round(rate.grad.item(), 4)
""",
        0.25,
        False,
    ),
    Claim(
        "Distributions",
        """
_ = m.manual_seed(0)
factors = m.distributions.LKJCholesky(3, 1.0).sample((20000,))
# The square of a correlation of three has the mean 1 / 4.
abs(((factors @ factors.mT)[:, 2, 0] ** 2).mean().item() - 0.25) < 0.01
""",
        True,
        False,
    ),
    Claim(
        "Distributions",
        """
d = m.distributions
modes = d.Kumaraswamy(2.0, 3.0).mode, d.Weibull(1.0, 0.5).mode
[round(mode.item(), 4) for mode in modes if not mode.isnan()]
""",
        [0.4472, 0.0],
        [1.0],
    ),
    Claim(
        "Distributions",
        """
p = m.distributions.GeneralizedPareto(*m.ones(3, dtype=m.float64))
p.log_prob(m.ones((), dtype=m.float64)).item()
""",
        0.0,
        RuntimeError,
    ),
    Claim(
        "Distributions",
        "m.distributions.ContinuousBernoulli(m.tensor(2.0)).batch_shape == ()",
        ValueError,
        True,
    ),
    Claim(
        "Distributions",
        """
_ = m.manual_seed(0)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    _ = m.distributions.Wishart(5.0, m.eye(2)).rsample((3,))
len(told)
""",
        0,
        1,
    ),
    Claim(
        "Distributions",
        "m.distributions.Normal(0.0, 1.0).cdf(m.tensor(-10.0)).item() > 0",
        True,
        False,
    ),
    Claim(
        "Distributions",
        """
middle = m.distributions.Binomial(1 << 20, m.tensor(0.5)).log_prob(m.tensor(float(1 << 19))).item()
abs(middle + 7.1573) < 1e-3
""",
        True,
        False,
    ),
]
