"""Where plain formulas cancel or overflow: float32 results beside SciPy's in float64, to the last digits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats as stats

import tengen

#: (distribution, parameters, method, values, SciPy's distribution and method).
CASES: list[Any] = [
    ("Normal", (0.0, 1.0), "cdf", [-12.0, -5.0, 0.5, 3.0], stats.norm(0, 1).cdf),
    ("Normal", (0.0, 1.0), "icdf", [1e-30, 1e-8, 0.3, 0.75], stats.norm(0, 1).ppf),
    ("Normal", (0.0, 2.0**-80), "log_prob", [0.0, 2.0**-80, 2.0**-79], stats.norm(0, 2.0**-80).logpdf),
    ("HalfNormal", (2.0,), "cdf", [1e-20, 0.5, 3.0], stats.halfnorm(scale=2).cdf),
    ("Cauchy", (0.0, 1.0), "cdf", [-1e20, -1e5, 0.5, 1e3], stats.cauchy(0, 1).cdf),
    ("Cauchy", (0.0, 1.0), "icdf", [1e-20, 1e-6, 0.3, 0.5625], stats.cauchy(0, 1).ppf),
    ("HalfCauchy", (1.0,), "icdf", [1e-20, 0.3, 1 - 2.0**-22], stats.halfcauchy.ppf),
    ("Laplace", (0.0, 1.0), "cdf", [-80.0, -20.0, 0.5, 3.0], stats.laplace(0, 1).cdf),
    ("Laplace", (0.0, 1.0), "icdf", [1e-30, 1e-8, 0.3, 0.75], stats.laplace(0, 1).ppf),
    ("Exponential", (1.0,), "cdf", [1e-30, 1e-6, 0.5], stats.expon.cdf),
    ("Exponential", (1.0,), "icdf", [1e-30, 1e-6, 0.5], stats.expon.ppf),
    ("Weibull", (1.0, 2.0), "cdf", [1e-15, 1e-6, 0.5], stats.weibull_min(2).cdf),
    ("Weibull", (1.0, 2.0), "icdf", [1e-30, 1e-6, 0.5], stats.weibull_min(2).ppf),
    ("Gumbel", (0.0, 1.0), "cdf", [-1.0, 0.5, 9.0], stats.gumbel_r.cdf),
    ("GeneralizedPareto", (0.0, 1.0, 1e-6), "cdf", [1e-20, 0.5, 3.0], stats.genpareto(1e-6).cdf),
    (
        "Poisson",
        (2.0**20,),
        "log_prob",
        [2.0**20, 2.0**20 - 2048, 2.0**20 + 4096],
        stats.poisson(2**20).logpmf,
    ),
    ("Poisson", (0.5,), "log_prob", [0.0, 1.0, 40.0, 1000.0], stats.poisson(0.5).logpmf),
    ("Binomial", (65536, 0.5), "log_prob", [32768.0, 32000.0, 0.0, 65536.0], stats.binom(65536, 0.5).logpmf),
    ("NegativeBinomial", (4096.0, 0.5), "log_prob", [4096.0, 4500.0, 0.0], stats.nbinom(4096, 0.5).logpmf),
    ("StudentT", (2.0**24,), "log_prob", [0.0, 1.0, 5.0], stats.t(2.0**24).logpdf),
    ("FisherSnedecor", (8192.0, 8192.0), "log_prob", [0.984375, 1.0, 1.015625], stats.f(8192, 8192).logpdf),
    ("VonMises", (0.0, 4096.0), "log_prob", [0.0, 0.0078125, 0.5], stats.vonmises(4096).logpdf),
]


def shown(value):
    """What stands for a value in the name of a test: of a function its name, not its place."""
    return getattr(value, "__name__", str(value))


@pytest.mark.parametrize(("name", "parameters", "method", "values", "exact"), CASES, ids=shown)
def test_float32_is_right_to_its_digits(name, parameters, method, values, exact):
    given = tengen.tensor(values)
    d = getattr(tengen.distributions, name)(*(tengen.tensor(p) for p in parameters))
    found = getattr(d, method)(given).double().numpy()
    expected = exact(given.double().numpy())
    # An absolute error of a logarithm is a relative one of what it is of; others are relative.
    slack = np.maximum(np.abs(expected), 2.0) if method == "log_prob" else np.abs(expected)
    assert (np.abs(found - expected) <= 8 * np.finfo(np.float32).eps * slack).all(), (found, expected)


@pytest.mark.oracle
@pytest.mark.parametrize(("name", "parameters", "method", "values", "exact"), CASES, ids=shown)
def test_no_error_is_larger_than_torchs(name, parameters, method, values, exact):
    torch = pytest.importorskip("torch")
    expected = exact(tengen.tensor(values).double().numpy())
    errors = []
    for lib in (tengen, torch):
        d = getattr(lib.distributions, name)(*(lib.tensor(p) for p in parameters))
        found = getattr(d, method)(lib.tensor(values)).double().numpy()
        errors.append(np.nan_to_num(np.abs(found - expected), nan=np.inf).max())
    slack = 4 * np.finfo(np.float32).eps * np.abs(expected).max()
    assert errors[0] <= errors[1] + slack


@pytest.mark.parametrize("logits", [-200.0, -30.0, -1e-3, 0.0, 1e-3, 30.0, 200.0])
def test_continuous_bernoulli_is_right_for_all_odds(logits):
    d = tengen.distributions.ContinuousBernoulli(logits=tengen.tensor(logits, dtype=tengen.float64))
    shares = tengen.linspace(0.0, 1.0, 11, dtype=tengen.float64)
    values = d.icdf(shares)
    assert ((values >= 0) & (values <= 1)).all() and (values.diff() > 0).all()
    assert tengen.allclose(d.cdf(values), shares, atol=1e-12)
    # The density over equal steps of the cdf, by quadrature at the middles of steps.
    middles = (tengen.arange(200000, dtype=tengen.float64) + 0.5) / 200000
    density = d.log_prob(middles).exp()
    assert abs(float(density.mean()) - 1) < 1e-6
    assert abs(float((density * middles).mean() - d.mean)) < 1e-6
    assert abs(float((density * (middles - d.mean) ** 2).mean() - d.variance)) < 1e-6
    assert abs(float(-(density * d.log_prob(middles)).mean() - d.entropy())) < 1e-4


def test_relaxed_odds_do_not_overflow():
    d = tengen.distributions.RelaxedBernoulli(tengen.tensor(0.5), logits=tengen.tensor([-200.0, 200.0]))
    assert d.base_dist.log_prob(tengen.tensor([0.0, 0.0])).isfinite().all()
    assert d.base_dist.rsample((100,)).isfinite().all()


def test_gradients_at_a_rate_of_0():
    rate = tengen.tensor([0.0, 2.0], requires_grad=True)
    tengen.distributions.Poisson(rate).log_prob(tengen.tensor([0.0, 0.0])).sum().backward()
    assert rate.grad.tolist() == [-1.0, -1.0]


def test_factors_of_lkj_have_rows_of_length_1():
    factors = tengen.distributions.LKJCholesky(4, 0.5).sample((1000,))
    assert tengen.allclose(factors.pow(2).sum(-1), tengen.ones(1000, 4), atol=1e-6)
    assert (factors.diagonal(dim1=-2, dim2=-1) > 0).all()
