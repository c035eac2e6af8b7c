"""Divergences of all pairs: against the mean of the log ratio of samples, and against torch."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from divergences import MADE

import tengen
from tengen import distributions
from tengen.distributions import Normal, kl, kl_divergence, register_kl

#: Those of abstract classes have no distributions of their own.
PAIRS = sorted(
    {(p.__name__, q.__name__) for p, q in kl._KL_REGISTRY if p is not distributions.ExponentialFamily}
)
SAMPLES = 4000
#: Of the 200 numbers compared one is beyond six standard errors by chance once in 2.5 million seeds.
ERRORS = 6


def doubles(value: Any) -> Any:
    return tengen.tensor(value, dtype=tengen.float64)


def pair(p: str, q: str, library: Any = distributions, made: Any = doubles) -> tuple[Any, Any]:
    return MADE[p][0](library, made), MADE[q][1](library, made)


@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_it_is_the_mean_of_the_log_ratio(p: str, q: str) -> None:
    """inf where a sample shows that it is; there are such samples in each pair of infinite divergence."""
    tengen.manual_seed(0)
    one, other = pair(p, q)
    found = kl_divergence(one, other)
    x = one.sample((SAMPLES,))
    other._validate_args = False
    shape = tengen.broadcast_shapes(one.batch_shape, other.batch_shape)
    assert found.shape == shape and found.dtype is tengen.float64
    if found.isinf().any():
        inside = other.support.check(x if not other.event_shape else x.expand(SAMPLES, *shape, -1))
        assert (found == math.inf).all() and not inside.all(0).any()
        return
    if len(shape) > len(one.batch_shape):
        x = x.unsqueeze(1).expand(SAMPLES, *shape, *one.event_shape)
    ratios = (one.log_prob(x) - other.log_prob(x)).numpy()
    error = ratios.std(0) / math.sqrt(SAMPLES)
    assert (np.abs(ratios.mean(0) - found.numpy()) <= ERRORS * error + 1e-12).all()
    assert (found.numpy() > 0).all()


@pytest.mark.parametrize("name", sorted({p for p, q in PAIRS if p == q}))
def test_of_a_distribution_with_itself_it_is_zero(name: str) -> None:
    for made in MADE[name]:
        one = made(distributions, doubles)
        tengen.testing.assert_close(
            kl_divergence(one, one), tengen.zeros(one.batch_shape), atol=1e-13, rtol=0, check_dtype=False
        )


@pytest.mark.oracle
@pytest.mark.parametrize(("p", "q"), PAIRS)
def test_pytorch_gives_the_same(torch: Any, p: str, q: str) -> None:
    if (p, q) == ("ContinuousBernoulli", "Uniform"):
        return  # inf in PyTorch, wherever the uniform distribution ends
    theirs = torch.distributions
    ours = kl_divergence(*pair(p, q))
    expected = theirs.kl_divergence(*pair(p, q, theirs, lambda v: torch.tensor(v, dtype=torch.float64)))
    np.testing.assert_allclose(ours.numpy(), np.broadcast_to(expected.numpy(), ours.shape), rtol=1e-9)


@pytest.mark.oracle
def test_all_pairs_of_pytorch_are_here(torch: Any) -> None:
    theirs = {(p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY}
    assert {(p.__name__, q.__name__) for p, q in kl._KL_REGISTRY} == theirs


@pytest.mark.parametrize(
    ("p", "q", "expected"),
    [
        (
            "Bernoulli([0., 1., 0.5, 0.5])",
            "Bernoulli([0.5, 0.5, 0., 1.])",
            [math.log(2), math.log(2), "inf", "inf"],
        ),
        ("Bernoulli([0., 1.])", "Bernoulli([0., 1.])", [0.0, 0.0]),
        (
            "Binomial(3, [0., 1., 0.5])",
            "Binomial(3, [0.5, 0.5, 0.])",
            [3 * math.log(2), 3 * math.log(2), "inf"],
        ),
        ("Binomial(4, [0.5])", "Binomial(3, [0.5])", ["inf"]),
        ("Categorical([[0.0, 1.0]])", "Categorical([[0.5, 0.5]])", [math.log(2)]),
        ("Categorical([[0.5, 0.5]])", "Categorical([[0.0, 1.0]])", ["inf"]),
        ("Poisson([0., 0., 2.])", "Poisson([0., 2., 0.])", [0.0, 2.0, "inf"]),
        ("Uniform([0., 0.2], [1., 0.8])", "Uniform([0.1, 0.], [2., 1.])", ["inf", -math.log(0.6)]),
        ("Uniform([0.], [1.])", "Beta([1.], [1.])", [0.0]),
        ("Uniform([0., -0.1], [1., 0.5])", "ContinuousBernoulli([0.5, 0.5])", [0.0, "inf"]),
        ("Uniform([-0.1], [1.])", "Exponential([1.])", ["inf"]),
        ("Uniform([-0.1], [1.])", "Gamma([1.], [1.])", ["inf"]),
        ("Uniform([0.5], [1.])", "Pareto([0.6], [1.])", ["inf"]),
        ("ContinuousBernoulli([0.5, 0.5])", "Uniform([0., 0.1], [1., 1.])", [0.0, "inf"]),
        ("Beta([1., 1.])", "Uniform([0., 0.], [0.9, 1.])", ["inf", 0.0]),
        ("Pareto([1.], [2.])", "Normal([0.], [1.])", ["inf"]),
        ("Pareto([1.], [1.])", "Exponential([1.])", ["inf"]),
        ("Pareto([1.], [2.])", "Pareto([1.5], [2.])", ["inf"]),
        ("Geometric([1.])", "Geometric([1.])", [0.0]),
    ],
)
def test_at_the_edges(p: str, q: str, expected: list[Any]) -> None:
    def made(text: str) -> Any:
        name, _, given = text.partition("(")
        arguments = eval(f"({given[:-1]},)")
        if name == "Beta" and len(arguments) == 1:
            arguments *= 2
        return getattr(distributions, name)(*[a if isinstance(a, int) else doubles(a) for a in arguments])

    found = kl_divergence(made(p), made(q))
    np.testing.assert_allclose(found.numpy(), [float(e) for e in expected], atol=1e-6)


def test_gradients_reach_both_distributions() -> None:
    """Of the Bregman divergence too, where PyTorch takes the parameters of p for constants."""

    def of(*parameters: Any) -> Any:
        p, q = distributions.Gamma(*parameters[:2]), distributions.Gamma(*parameters[2:])
        return kl._kl_expfamily_expfamily(p, q)

    given = [doubles(v).requires_grad_() for v in (1.5, 0.7, 2.5, 1.1)]
    explicit = kl_divergence(distributions.Gamma(*given[:2]), distributions.Gamma(*given[2:]))
    tengen.testing.assert_close(of(*given), explicit)
    for one, other in zip(
        tengen.autograd.grad(of(*given), given), tengen.autograd.grad(explicit, given), strict=True
    ):
        tengen.testing.assert_close(one, other)
    assert not of(*[g.detach() for g in given]).requires_grad


@pytest.mark.parametrize(("p", "q"), [(p, q) for p, q in PAIRS if (p, q) != ("Categorical", "Categorical")])
def test_no_gradient_is_nan(p: str, q: str) -> None:
    leaves: list[Any] = []

    def leaf(value: Any) -> Any:
        leaves.append(doubles(value).requires_grad_())
        return leaves[-1]

    found = kl_divergence(*pair(p, q, distributions, leaf))
    if found.requires_grad:
        found.sum().backward()
        assert all(t.grad is None or t.grad.isfinite().all() for t in leaves)


def test_different_sizes_and_kinds() -> None:
    mvn, low = distributions.MultivariateNormal, distributions.LowRankMultivariateNormal
    with pytest.raises(ValueError, match=r"different event shapes cannot be computed: \(2,\) and \(3,\)"):
        kl_divergence(
            mvn(tengen.zeros(2), tengen.eye(2)), low(tengen.zeros(3), tengen.ones(3, 1), tengen.ones(3))
        )
    with pytest.raises(NotImplementedError, match=r"q.total_count > p.total_count is not implemented"):
        kl_divergence(
            distributions.Binomial(2, tengen.tensor(0.5)), distributions.Binomial(3, tengen.tensor(0.5))
        )
    with pytest.raises(NotImplementedError, match="for p type Cauchy and q type Normal"):
        kl_divergence(distributions.Cauchy(0.0, 1.0), Normal(0.0, 1.0))
    with pytest.raises(NotImplementedError, match=r"different exponential families.*Poisson and Normal"):
        kl_divergence(distributions.Poisson(tengen.tensor(1.0)), Normal(0.0, 1.0))
    with pytest.raises(NotImplementedError, match="of different transforms"):
        kl_divergence(distributions.LogNormal(0.0, 1.0), distributions.HalfCauchy(1.0))
    batch = Normal(tengen.zeros(2, 2), 1.0)
    with pytest.raises(NotImplementedError, match="of different dimensions"):
        kl_divergence(distributions.Independent(batch, 1), distributions.Independent(batch, 2))


def test_the_most_specific_pair_counts() -> None:
    class Own(Normal):
        pass

    class Finer(Own):
        pass

    class Foreign:
        pass

    class Mixed(Foreign, distributions.Cauchy):
        pass

    before = dict(kl._KL_REGISTRY)
    try:
        register_kl(Own, Normal)(lambda p, q: "by p")  # type: ignore[arg-type, return-value]
        assert kl_divergence(Finer(0.0, 1.0), Normal(0.0, 1.0)) == "by p"
        register_kl(Normal, Own)(lambda p, q: "by q")  # type: ignore[arg-type, return-value]
        assert kl_divergence(Normal(0.0, 1.0), Finer(0.0, 1.0)) == "by q"
        with pytest.warns(
            RuntimeWarning, match=r"Ambiguous kl_divergence\(Finer, Finer\). Please register_kl\(Own, Own\)"
        ):
            assert kl_divergence(Finer(0.0, 1.0), Finer(0.0, 1.0)) == "by p"
        register_kl(Own, Own)(lambda p, q: "both")  # type: ignore[arg-type, return-value]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert kl_divergence(Finer(0.0, 1.0), Finer(0.0, 1.0)) == "both"
        register_kl(Foreign, Normal)(lambda p, q: "by a class of others")  # type: ignore[arg-type, return-value]
        assert kl_divergence(Mixed(0.0, 1.0), Normal(0.0, 1.0)) == "by a class of others"
        wrong: Any = 3
        with pytest.raises(TypeError, match=r"Expected type_q to be a class, .* but got 3"):
            register_kl(Normal, wrong)
    finally:
        kl._KL_REGISTRY.clear()
        kl._KL_REGISTRY.update(before)
        kl._KL_MEMOIZE.clear()
