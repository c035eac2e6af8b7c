"""Random numbers have the distributions that they are declared to have, in each dtype; judged by SciPy.

Continuous ones by the Kolmogorov-Smirnov test, discrete ones by chi-square. The generator starts where it
is told, so a test passes always or never: a right sampler fails one of these with probability ``LEVEL``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tengen

COUNT = 20_000
LEVEL = 1e-4


def generator() -> tengen.Generator:
    return tengen.Generator().manual_seed(20_261)


def filled(name: str, *arguments: float) -> Callable[[Any], Any]:
    return lambda dtype: getattr(tengen.empty(COUNT, dtype=dtype), name)(*arguments, generator=generator())


CONTINUOUS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "rand": (lambda d: tengen.rand(COUNT, dtype=d, generator=generator()), stats.uniform),
    "randn": (lambda d: tengen.randn(COUNT, dtype=d, generator=generator()), stats.norm),
    "uniform_": (filled("uniform_", -2.0, 3.0), stats.uniform(-2, 5)),
    "normal_": (filled("normal_", 1.0, 2.0), stats.norm(1, 2)),
    "normal": (
        lambda d: tengen.normal(tengen.full((COUNT,), 3.0, dtype=d), 0.5, generator=generator()),
        stats.norm(3, 0.5),
    ),
    "exponential_": (filled("exponential_", 2.0), stats.expon(scale=0.5)),
    "cauchy_": (filled("cauchy_", 1.0, 2.0), stats.cauchy(1, 2)),
    **{
        f"_standard_gamma of {shape}": (
            lambda d, shape=shape: tengen._standard_gamma(whole(shape, d), generator=generator()),
            stats.gamma(shape),
        )
        for shape in (0.25, 1.0, 7.5)
    },
    **{
        f"_sample_dirichlet, part {i}": (
            lambda d, i=i: tengen._sample_dirichlet(
                tengen.tensor([0.5, 1.0, 3.0], dtype=d).expand(COUNT, 3), generator=generator()
            )[:, i],
            stats.beta(alpha, 4.5 - alpha),
        )
        for i, alpha in enumerate((0.5, 1.0, 3.0))
    },
    "log_normal_": (filled("log_normal_", 0.5, 0.25), stats.lognorm(0.25, scale=np.exp(0.5))),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous(name: str, dtype: str) -> None:
    draw, distribution = CONTINUOUS[name]
    drawn = draw(getattr(tengen, dtype)).numpy()
    assert drawn.dtype == dtype and drawn.shape == (COUNT,)
    assert stats.kstest(drawn.astype(np.float64), distribution.cdf).pvalue > LEVEL


def whole(value: float, dtype: Any) -> tengen.Tensor:
    return tengen.full((COUNT,), value, dtype=dtype)


DISCRETE: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "bernoulli": (lambda d: tengen.bernoulli(whole(0.3, d), generator=generator()), stats.bernoulli(0.3)),
    "bernoulli_": (filled("bernoulli_", 0.3), stats.bernoulli(0.3)),
    "binomial": (
        lambda d: tengen.binomial(whole(9.0, d), whole(0.4, d), generator=generator()),
        stats.binom(9, 0.4),
    ),
    "poisson": (lambda d: tengen.poisson(whole(4.0, d), generator=generator()), stats.poisson(4)),
    "geometric_": (filled("geometric_", 0.25), stats.geom(0.25)),
    "random_": (filled("random_", -3, 5), stats.randint(-3, 5)),
    "randint": (
        lambda d: tengen.randint(2, 9, (COUNT,), dtype=d, generator=generator()),
        stats.randint(2, 9),
    ),
    "multinomial": (
        lambda d: tengen.multinomial(
            tengen.tensor([1.0, 2.0, 0.0, 5.0], dtype=d), COUNT, True, generator=generator()
        ),
        stats.rv_discrete(values=([0, 1, 2, 3], [0.125, 0.25, 0.0, 0.625])),
    ),
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", DISCRETE)
def test_discrete(name: str, dtype: str) -> None:
    draw, distribution = DISCRETE[name]
    drawn = draw(getattr(tengen, dtype)).numpy()
    values, counts = np.unique(drawn, return_counts=True)
    expected = COUNT * distribution.pmf(values)
    assert (expected > 0).all(), "a value that cannot be"
    common = expected >= 5  # the others are one class, for which chi-square is an approximation
    seen = np.append(counts[common], COUNT - counts[common].sum())
    wanted = np.append(expected[common], COUNT - expected[common].sum())
    kept = wanted > 1e-6 * COUNT
    assert stats.chisquare(seen[kept], wanted[kept] * seen[kept].sum() / wanted[kept].sum()).pvalue > LEVEL


def test_permutations_are_all_alike() -> None:
    start = generator()
    drawn = [tuple(tengen.randperm(4, generator=start).tolist()) for _ in range(4_800)]
    _, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(counts) == 24 and stats.chisquare(counts).pvalue > LEVEL


def test_draws_without_replacement() -> None:
    start = generator()
    odds = tengen.tensor([1.0, 2.0, 1.0])
    drawn = [tuple(tengen.multinomial(odds, 2, generator=start).tolist()) for _ in range(6_000)]
    pairs, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(pairs) == 6
    weights = np.array([0.25, 0.5, 0.25])
    expected = [weights[a] * weights[b] / (1 - weights[a]) * len(drawn) for a, b in pairs]
    assert stats.chisquare(counts, expected).pvalue > LEVEL


def test_counts_out_of_range() -> None:
    nan = float("nan")
    count = tengen.tensor([-1.0, 2.5, 5.0, 5.0, nan, 3.0])
    prob = tengen.tensor([0.5, 1.0, 1.5, -0.5, 0.5, nan])
    assert str(tengen.binomial(count, prob).tolist()) == "[0.0, 2.0, 5.0, 0.0, nan, nan]"
    rates = tengen.tensor([0.0, 1e20, float("inf")], dtype=tengen.float64)
    none, many, endless = tengen.poisson(rates, generator=generator()).tolist()
    assert none == 0 and abs(many - 1e20) < 1e11 and endless == float("inf")


def test_counts_have_no_gradient() -> None:
    rates = tengen.full((3,), 2.0, requires_grad=True)
    tengen.poisson(rates).sum().backward()
    assert rates.grad is not None and rates.grad.tolist() == [0, 0, 0]
