"""Kullback-Leibler divergences of pairs of distributions, ``kl_divergence``, and how pairs are added.

Between different families ``KL(p || q)`` is the cross entropy, the mean of ``-log q`` under p, less the
entropy of p: so there is a function for each family of q, which needs a few means under p.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import singledispatch
from typing import Any

from tengen.generated.functions import (
    digamma,
    exp,
    expm1,
    full,
    lgamma,
    log,
    log1p,
    softplus,
    special_erf as erf,
    special_xlog1py as xlog1py,
    where,
    xlogy,
)
from tengen.generated.linalg_functions import solve_triangular

from ..core.user_stack import program_stacklevel
from ..functional import broadcast_shapes
from ..tensors.tensor import Tensor
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .continuous_bernoulli import ContinuousBernoulli
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .log_gamma import HALF_LOG_2PI, log_beta
from .lowrank_multivariate_normal import LowRankMultivariateNormal, _batch_lowrank_logdet
from .multivariate_normal import MultivariateNormal
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import _sum_rightmost, euler_constant

__all__ = ["kl_divergence", "register_kl"]

Divergence = Callable[[Any, Any], Tensor]

_KL_REGISTRY: dict[tuple[type, type], Divergence] = {}
_KL_MEMOIZE: dict[tuple[type, type], Divergence | None] = {}


def register_kl(type_p: type, type_q: type) -> Callable[[Divergence], Divergence]:
    """Decorates the function of ``kl_divergence`` for distributions of two classes, and of their subclasses.

    The most specific pair counts. The classes can be a program's own, without ``Distribution`` among their
    bases. TypeError for what is no class.
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"Expected {name} to be a class, as Distribution's subclasses, but got {cls!r}")

    def register(function: Divergence) -> Divergence:
        _KL_REGISTRY[type_p, type_q] = function
        _KL_MEMOIZE.clear()
        return function

    return register


def _dispatch_kl(type_p: type, type_q: type) -> Divergence | None:
    """The function for two classes: of the pair nearest to them, first by p, then by q.

    RuntimeWarning where it is another one first by q.
    """
    found = [
        (type_p.__mro__.index(p), type_q.__mro__.index(q), p, q)
        for p, q in _KL_REGISTRY
        if issubclass(type_p, p) and issubclass(type_q, q)
    ]
    if not found:
        return None
    first = min(found, key=lambda match: match[:2])[2:]
    second = min(found, key=lambda match: (match[1], match[0]))[2:]
    if _KL_REGISTRY[first] is not _KL_REGISTRY[second]:
        warnings.warn(
            f"Ambiguous kl_divergence({type_p.__name__}, {type_q.__name__}). "
            f"Please register_kl({first[0].__name__}, {second[1].__name__})",
            RuntimeWarning,
            stacklevel=program_stacklevel(),
        )
    return _KL_REGISTRY[first]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The Kullback-Leibler divergence ``KL(p || q)``, the mean of ``log p(x) - log q(x)`` under p.

    Its shape is that to which the batches broadcast. It is inf where q does not allow all that p does.
    NotImplementedError where no function is registered for the two classes.
    """
    pair = type(p), type(q)
    if pair not in _KL_MEMOIZE:
        _KL_MEMOIZE[pair] = _dispatch_kl(*pair)
    function = _KL_MEMOIZE[pair]
    if function is None:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {pair[0].__name__} and q type {pair[1].__name__}"
        )
    return function(p, q)


# -- two of a family ---------------------------------------------------------------------------------


def _two_outcomes(p: Bernoulli | Binomial, q: Bernoulli | Binomial) -> Tensor:
    """Of one trial, by probabilities and log odds. What is not possible under p does not count."""
    one = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    none = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    one = where(p.probs == 0, 0, where(q.probs == 0, math.inf, one))
    return one + where(p.probs == 1, 0, where(q.probs == 1, math.inf, none))


@register_kl(Bernoulli, Bernoulli)
def _kl_bernoulli_bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    return _two_outcomes(p, q)


@register_kl(Binomial, Binomial)
def _kl_binomial_binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    return where(p.total_count > q.total_count, math.inf, p.total_count * _two_outcomes(p, q))


@register_kl(Categorical, Categorical)
def _kl_categorical_categorical(p: Categorical, q: Categorical) -> Tensor:
    found = p.probs * (p.logits - q.logits)
    return where(p.probs == 0, 0, where(q.probs == 0, math.inf, found)).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _kl_onehotcategorical_onehotcategorical(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _kl_categorical_categorical(p._categorical, q._categorical)


@register_kl(Dirichlet, Dirichlet)
def _kl_dirichlet_dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    a, b = p.concentration, q.concentration
    total = a.sum(-1, True)
    logs = ((a - b) * (digamma(a) - digamma(total))).sum(-1)
    return logs + lgamma(total.squeeze(-1)) - lgamma(b.sum(-1)) - (lgamma(a) - lgamma(b)).sum(-1)


@register_kl(Beta, Beta)
def _kl_beta_beta(p: Beta, q: Beta) -> Tensor:
    return _kl_dirichlet_dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Exponential, Exponential)
def _kl_exponential_exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return ratio - 1 - log(ratio)


@register_kl(Gamma, Gamma)
def _kl_gamma_gamma(p: Gamma, q: Gamma) -> Tensor:
    a, b = p.concentration, q.concentration
    ratio = q.rate / p.rate
    return lgamma(b) - lgamma(a) + (a - b) * digamma(a) - b * log(ratio) + (ratio - 1) * a


@register_kl(Geometric, Geometric)
def _kl_geometric_geometric(p: Geometric, q: Geometric) -> Tensor:
    return -log(q.probs) - xlog1py(1 / p.probs - 1, -q.probs) - p.entropy()


@register_kl(Normal, Normal)
def _kl_normal_normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio - 1 - log(ratio) + ((p.loc - q.loc) / q.scale).pow(2))


@register_kl(HalfNormal, HalfNormal)
def _kl_halfnormal_halfnormal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _kl_normal_normal(p.base_dist, q.base_dist)


@register_kl(Cauchy, Cauchy)
def _kl_cauchy_cauchy(p: Cauchy, q: Cauchy) -> Tensor:
    # ((sp + sq)^2 + d^2) / (4 sp sq), by what it is more than 1.
    return log1p(((p.scale - q.scale).pow(2) + (p.loc - q.loc).pow(2)) / (4 * p.scale * q.scale))


@register_kl(Pareto, Pareto)
def _kl_pareto_pareto(p: Pareto, q: Pareto) -> Tensor:
    ratio = q.alpha / p.alpha
    found = q.alpha * log(p.scale / q.scale) + ratio - 1 - log(ratio)
    return where(p.scale < q.scale, math.inf, found)


@register_kl(Poisson, Poisson)
def _kl_poisson_poisson(p: Poisson, q: Poisson) -> Tensor:
    return xlogy(p.rate, p.rate) - xlogy(p.rate, q.rate) - (p.rate - q.rate)


@register_kl(Uniform, Uniform)
def _kl_uniform_uniform(p: Uniform, q: Uniform) -> Tensor:
    found = log((q.high - q.low) / (p.high - p.low))
    return where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _kl_continuous_bernoulli_continuous_bernoulli(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    gain = q._log_normalizer(q.logits) - p._log_normalizer(p.logits)
    return p.mean * (p.logits - q.logits) + gain


@register_kl(ExponentialFamily, ExponentialFamily)
def _kl_expfamily_expfamily(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizer."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using "
            f"Bregman divergences: {type(p).__name__} and {type(q).__name__}"
        )
    params, normalizer, means = p._moments()
    others = q._natural_params
    result = q._log_normalizer(*others) - normalizer
    for param, other, mean in zip(params, others, means, strict=True):
        result = result - _sum_rightmost((other - param) * mean, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _kl_transformed_transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError("KL between distributions of different transforms is not implemented")
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Independent, Independent)
def _kl_independent_independent(p: Independent[Any], q: Independent[Any]) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError("KL between events of different dimensions is not implemented")
    return _sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


# -- normal distributions of vectors -----------------------------------------------------------------

OfVectors = MultivariateNormal | LowRankMultivariateNormal


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, MultivariateNormal)
def _kl_of_vectors(p: OfVectors, q: OfVectors) -> Tensor:
    """Half of ``trace(inv(Q) P) + d inv(Q) d - n + log det Q - log det P``, for covariances P and Q."""
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be "
            f"computed: {tuple(p.event_shape)} and {tuple(q.event_shape)}"
        )
    trace = _quadratic(q, (p.loc - q.loc).unsqueeze(-1))
    if isinstance(p, MultivariateNormal):
        trace = trace + _quadratic(q, p._unbroadcasted_scale_tril)
    else:
        trace = trace + _quadratic(q, p._unbroadcasted_cov_factor)
        trace = trace + _trace_of_diagonal(q, p._unbroadcasted_cov_diag)
    return 0.5 * (trace - p.event_shape[0] + _log_det(q) - _log_det(p))


def _log_det(d: OfVectors) -> Tensor:
    """Of the covariance."""
    if isinstance(d, MultivariateNormal):
        return 2 * d._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return _batch_lowrank_logdet(d._unbroadcasted_cov_factor, d._unbroadcasted_cov_diag, d._capacitance_tril)


def _projection(q: LowRankMultivariateNormal) -> Tensor:
    """B, with ``inv(Q) = inv(D) - B.mT @ B``, of a covariance of low rank: by Woodbury's identity."""
    scaled = q._unbroadcasted_cov_factor.mT / q._unbroadcasted_cov_diag.unsqueeze(-2)
    return solve_triangular(q._capacitance_tril, scaled, upper=False)


def _quadratic(q: OfVectors, columns: Tensor) -> Tensor:
    """``trace(columns.mT @ inv(Q) @ columns)``."""
    if isinstance(q, MultivariateNormal):
        return solve_triangular(q._unbroadcasted_scale_tril, columns, upper=False).pow(2).sum((-2, -1))
    own = columns.pow(2) / q._unbroadcasted_cov_diag.unsqueeze(-1)
    return own.sum((-2, -1)) - (_projection(q) @ columns).pow(2).sum((-2, -1))


def _trace_of_diagonal(q: OfVectors, diagonal: Tensor) -> Tensor:
    """``trace(inv(Q) @ diag(diagonal))``, without a matrix of it where Q is of low rank."""
    if isinstance(q, MultivariateNormal):
        return _quadratic(q, diagonal.sqrt().diag_embed())
    shared = _projection(q).pow(2) * diagonal.unsqueeze(-2)
    return (diagonal / q._unbroadcasted_cov_diag).sum(-1) - shared.sum((-2, -1))


# -- means under p -----------------------------------------------------------------------------------


@singledispatch
def _mean_log(p: Any) -> Tensor:
    """The mean of ``log(x)``."""
    raise NotImplementedError


@_mean_log.register
def _(p: Beta) -> Tensor:
    return digamma(p.concentration1) - digamma(p.concentration1 + p.concentration0)


@_mean_log.register
def _(p: Exponential) -> Tensor:
    return -euler_constant - log(p.rate)


@_mean_log.register
def _(p: Gamma) -> Tensor:
    return digamma(p.concentration) - log(p.rate)


@_mean_log.register
def _(p: Pareto) -> Tensor:
    return log(p.scale) + 1 / p.alpha


@_mean_log.register
def _(p: Uniform) -> Tensor:
    return _mean_log_between(p.low, p.high)


def _mean_log_between(low: Tensor, high: Tensor) -> Tensor:
    """The mean of ``log(x)`` between two numbers, of which what is below 0 does not count."""
    low, high = low.clamp(min=0), high.clamp(min=0)
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


@singledispatch
def _mean_exp(p: Any, rate: Tensor) -> Tensor:
    """The mean of ``exp(-rate * x)``."""
    raise NotImplementedError


@_mean_exp.register
def _(p: Exponential, rate: Tensor) -> Tensor:
    return p.rate / (p.rate + rate)


@_mean_exp.register
def _(p: Gamma, rate: Tensor) -> Tensor:
    return exp(-p.concentration * log1p(rate / p.rate))


@_mean_exp.register
def _(p: Gumbel, rate: Tensor) -> Tensor:
    return exp(lgamma(1 + p.scale * rate) - p.loc * rate)


@_mean_exp.register
def _(p: Normal, rate: Tensor) -> Tensor:
    return exp(0.5 * (p.scale * rate).pow(2) - p.loc * rate)


@_mean_exp.register
def _(p: Uniform, rate: Tensor) -> Tensor:
    width = (p.high - p.low) * rate
    return exp(-p.low * rate) * -expm1(-width) / width


@singledispatch
def _mean_distance(p: Any, loc: Tensor) -> Tensor:
    """The mean of ``|x - loc|``."""
    raise NotImplementedError


@_mean_distance.register
def _(p: Laplace, loc: Tensor) -> Tensor:
    away = (p.loc - loc).abs()
    return away + p.scale * exp(-away / p.scale)


@_mean_distance.register
def _(p: Normal, loc: Tensor) -> Tensor:
    away = (p.loc - loc) / (math.sqrt(2) * p.scale)
    return p.scale * math.sqrt(2 / math.pi) * exp(-away.pow(2)) + (p.loc - loc) * erf(away)


# -- different families ------------------------------------------------------------------------------


def _register_cross(type_q: type, *types_p: type) -> Callable[[Divergence], Divergence]:
    """Decorates the cross entropy of distributions of these classes with one of ``type_q``."""

    def register(cross_entropy: Divergence) -> Divergence:
        def divergence(p: Distribution, q: Distribution) -> Tensor:
            return cross_entropy(p, q) - p.entropy()

        for type_p in types_p:
            register_kl(type_p, type_q)(divergence)
        return cross_entropy

    return register


def _allowed(found: Tensor, p: Any, low: Any, high: Any = math.inf) -> Tensor:
    """``found``, but inf where a uniform ``p`` reaches beyond the support of q; no other p here does."""
    return where((p.low < low) | (p.high > high), math.inf, found) if isinstance(p, Uniform) else found


@_register_cross(Exponential, Beta, ContinuousBernoulli, Gamma, Pareto, Uniform)
def _with_exponential(p: Distribution, q: Exponential) -> Tensor:
    return _allowed(q.rate * p.mean - log(q.rate), p, 0)


@_register_cross(Gamma, Beta, Exponential, Pareto, Uniform)
def _with_gamma(p: Distribution, q: Gamma) -> Tensor:
    shape = q.concentration
    found = lgamma(shape) - shape * log(q.rate) + (1 - shape) * _mean_log(p) + q.rate * p.mean
    return _allowed(found, p, 0)


@_register_cross(Normal, Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform)
def _with_normal(p: Distribution, q: Normal) -> Tensor:
    squares = p.variance + (p.mean - q.loc).pow(2)
    return HALF_LOG_2PI + log(q.scale) + 0.5 * squares / q.scale.pow(2)


@_register_cross(Laplace, Normal)
def _with_laplace(p: Distribution, q: Laplace) -> Tensor:
    return log(2 * q.scale) + _mean_distance(p, q.loc) / q.scale


@_register_cross(Gumbel, Exponential, Gamma, Normal, Uniform)
def _with_gumbel(p: Distribution, q: Gumbel) -> Tensor:
    falling = exp(q.loc / q.scale) * _mean_exp(p, 1 / q.scale)
    return log(q.scale) + (p.mean - q.loc) / q.scale + falling


@register_kl(Gumbel, Gumbel)
def _kl_gumbel_gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    return away - log(ratio) + euler_constant * (ratio - 1) - 1 + exp(lgamma(1 + ratio) - away)


@register_kl(Laplace, Laplace)
def _kl_laplace_laplace(p: Laplace, q: Laplace) -> Tensor:
    return _mean_distance(p, q.loc) / q.scale - 1 - log(p.scale / q.scale)


@_register_cross(Beta, Uniform)
def _with_beta(p: Uniform, q: Beta) -> Tensor:
    a, b = q.concentration1, q.concentration0
    rest = _mean_log_between(1 - p.high, 1 - p.low)
    return _allowed(log_beta(a, b) - (a - 1) * _mean_log(p) - (b - 1) * rest, p, 0, 1)


@_register_cross(ContinuousBernoulli, Beta, Uniform)
def _with_continuous_bernoulli(p: Distribution, q: ContinuousBernoulli) -> Tensor:
    return _allowed(q._log_normalizer(q.logits) - p.mean * q.logits, p, 0, 1)


@_register_cross(Pareto, Uniform)
def _with_pareto(p: Uniform, q: Pareto) -> Tensor:
    found = (q.alpha + 1) * _mean_log(p) - log(q.alpha) - q.alpha * log(q.scale)
    return _allowed(found, p, q.scale)


@_register_cross(Uniform, Beta, ContinuousBernoulli)
def _with_uniform(p: Distribution, q: Uniform) -> Tensor:
    return where((q.low > 0) | (q.high < 1), math.inf, log(q.high - q.low) + 0 * p.mean)


@_register_cross(Poisson, Bernoulli)
def _with_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return q.rate - xlogy(p.probs, q.rate)


#: Where p always allows what q does not, by p.
_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_POSITIVE = (*_BOUNDED, Exponential, Gamma)
_INFINITE: dict[type, tuple[type, ...]] = {
    Beta: (Pareto,),
    ContinuousBernoulli: (Pareto,),
    Exponential: _BOUNDED,
    Gamma: _BOUNDED,
    Gumbel: _POSITIVE,
    Laplace: _POSITIVE,
    Normal: _POSITIVE,
    Pareto: (Beta, ContinuousBernoulli, Uniform),
    Poisson: (Bernoulli, Binomial),
}


def _infinite(p: Distribution, q: Distribution) -> Tensor:
    like = p.mean
    shape = broadcast_shapes(p.batch_shape, q.batch_shape)
    return full(shape, math.inf, dtype=like.dtype, device=like.device)


for _p, _types in _INFINITE.items():
    for _q in _types:
        register_kl(_p, _q)(_infinite)


def __dir__() -> list[str]:
    return sorted(__all__)
