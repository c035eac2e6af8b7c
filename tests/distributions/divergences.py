"""Pairs of distributions with a divergence: what tests make of them, of tengen or of torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: A distribution, of a library and a function that makes its tensors.
Made = Callable[[Any, Callable[[Any], Any]], Any]

_SPD = [[2.0, 0.3, -0.2], [0.3, 1.0, 0.4], [-0.2, 0.4, 1.5]]
_COVARIANCE = [[1.5, -0.3, 0.1], [-0.3, 0.7, 0.2], [0.1, 0.2, 0.9]]

#: Two of each class that a pair names; the second is what the first of the same class is compared with.
MADE: dict[str, tuple[Made, Made]] = {
    "Bernoulli": (lambda d, t: d.Bernoulli(t([0.2, 0.7])), lambda d, t: d.Bernoulli(t([0.5, 0.1]))),
    "Beta": (lambda d, t: d.Beta(t([2.5, 0.7]), t([1.5, 3.0])), lambda d, t: d.Beta(t([1.2, 2.0]), t(2.2))),
    "Binomial": (lambda d, t: d.Binomial(7, t([0.2, 0.7])), lambda d, t: d.Binomial(7, t([0.5, 0.1]))),
    "Categorical": (
        lambda d, t: d.Categorical(t([[0.2, 0.5, 0.3]])),
        lambda d, t: d.Categorical(logits=t([[0.1, -1.0, 0.3], [0.0, 2.0, 1.0]])),
    ),
    "Cauchy": (lambda d, t: d.Cauchy(t([0.2, 1.0]), t(1.5)), lambda d, t: d.Cauchy(t(0.4), t([0.5, 2.0]))),
    "ContinuousBernoulli": (
        lambda d, t: d.ContinuousBernoulli(t([0.2, 0.5])),
        lambda d, t: d.ContinuousBernoulli(t([0.4, 0.9])),
    ),
    "Dirichlet": (
        lambda d, t: d.Dirichlet(t([[0.5, 1.5, 3.0]])),
        lambda d, t: d.Dirichlet(t([[1.0, 2.0, 0.7], [3.0, 1.0, 1.0]])),
    ),
    "Exponential": (lambda d, t: d.Exponential(t([0.7, 2.0])), lambda d, t: d.Exponential(t([1.5, 0.4]))),
    "Gamma": (
        lambda d, t: d.Gamma(t([0.7, 3.0]), t([1.5, 2.0])),
        lambda d, t: d.Gamma(t([1.5, 2.0]), t([0.4, 1.0])),
    ),
    "Geometric": (lambda d, t: d.Geometric(t([0.2, 0.7])), lambda d, t: d.Geometric(t([0.5, 0.3]))),
    "Gumbel": (
        lambda d, t: d.Gumbel(t([0.2, -1.0]), t([0.5, 1.2])),
        lambda d, t: d.Gumbel(t([0.0, 0.4]), t([1.5, 2.0])),
    ),
    "HalfNormal": (lambda d, t: d.HalfNormal(t([0.7, 2.0])), lambda d, t: d.HalfNormal(t([1.5, 0.9]))),
    "Independent": (
        lambda d, t: d.Independent(d.Normal(t([0.2, 1.0]), t([0.5, 1.5])), 1),
        lambda d, t: d.Independent(d.Normal(t([0.0, 0.4]), t([0.8, 1.2])), 1),
    ),
    "Laplace": (
        lambda d, t: d.Laplace(t([0.2, -1.0]), t([0.5, 1.2])),
        lambda d, t: d.Laplace(t([0.0, 0.4]), t([1.5, 2.0])),
    ),
    "LowRankMultivariateNormal": (
        lambda d, t: d.LowRankMultivariateNormal(
            t([0.1, 0.2, 0.3]), t([[0.5, 0.2], [-0.3, 1.0], [0.1, 0.1]]), t([0.6, 0.9, 1.2])
        ),
        lambda d, t: d.LowRankMultivariateNormal(
            t([[0.0, 0.1, -0.3], [1.0, 0.0, 0.0]]), t([[0.9], [0.3], [-0.2]]), t([1.0, 0.8, 0.5])
        ),
    ),
    "MultivariateNormal": (
        lambda d, t: d.MultivariateNormal(t([0.1, 0.2, 0.3]), t(_SPD)),
        lambda d, t: d.MultivariateNormal(t([[0.0, 0.1, -0.3], [1.0, 0.0, 0.0]]), t(_COVARIANCE)),
    ),
    "Normal": (
        lambda d, t: d.Normal(t([0.2, -1.0]), t([0.5, 1.2])),
        lambda d, t: d.Normal(t([0.0, 0.4]), t([1.5, 2.0])),
    ),
    "OneHotCategorical": (
        lambda d, t: d.OneHotCategorical(t([[0.2, 0.5, 0.3]])),
        lambda d, t: d.OneHotCategorical(logits=t([[0.1, -1.0, 0.3], [0.0, 2.0, 1.0]])),
    ),
    "Pareto": (
        lambda d, t: d.Pareto(t([0.7, 0.9]), t([3.0, 6.0])),
        lambda d, t: d.Pareto(t([0.4, 0.5]), t([1.5, 2.0])),
    ),
    "Poisson": (lambda d, t: d.Poisson(t([3.0, 9.0])), lambda d, t: d.Poisson(t([1.5, 4.0]))),
    "TransformedDistribution": (lambda d, t: _log_normal(d, t, 0.2), lambda d, t: _log_normal(d, t, -0.4)),
    "Uniform": (
        lambda d, t: d.Uniform(t([0.6, 0.65]), t([0.7, 0.95])),
        lambda d, t: d.Uniform(t([-0.5, 0.0]), t([1.0, 1.5])),
    ),
}


def _log_normal(d: Any, t: Callable[[Any], Any], loc: float) -> Any:
    return d.TransformedDistribution(d.Normal(t([loc, 0.0]), t(1.5 + loc)), [d.ExpTransform()])
