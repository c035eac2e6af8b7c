"""Distributions made of others, beside what they are by their definition."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen import distributions as d


def doubles(value: Any) -> Any:
    return tengen.tensor(value, dtype=tengen.float64)


def mixture() -> Any:
    parts = d.Independent(d.Normal(doubles([[0.0, 1.0], [2.0, -1.0], [4.0, 0.5]]), doubles(0.5)), 1)
    return d.MixtureSameFamily(d.Categorical(doubles([0.2, 0.5, 0.3])), parts)


def test_a_mixture_is_the_weighted_sum() -> None:
    mixed, x = mixture(), doubles([[0.1, 0.9], [2.0, -0.5]])
    parts = mixed.component_distribution.log_prob(x.unsqueeze(1)).exp()
    tengen.testing.assert_close(mixed.log_prob(x).exp(), parts @ doubles([0.2, 0.5, 0.3]))
    tengen.testing.assert_close(mixed.mean, doubles([2.2, -0.15]))
    wide = mixed.expand((4,))
    assert wide.batch_shape == (4,) and wide.sample((5, 2)).shape == (5, 2, 4, 2)


def test_samples_of_a_mixture_have_its_moments() -> None:
    """Within six standard errors, of 20000 samples: once in 10**8 seeds they would not be."""
    tengen.manual_seed(0)
    mixed = mixture()
    x = mixed.sample((20000,))
    assert ((x.mean(0) - mixed.mean).abs() <= 6 * (mixed.variance / 20000).sqrt()).all()


def test_a_transformed_distribution_expands_with_its_base() -> None:
    made = d.TransformedDistribution(d.Normal(doubles([0.0, 1.0, 2.0]), 1.0), d.StickBreakingTransform())
    wide = made.expand((5,))
    assert (made.batch_shape, made.event_shape) == ((), (4,)) and wide.batch_shape == (5,)
    x = wide.sample()
    tengen.testing.assert_close(wide.log_prob(x), made.log_prob(x))


def test_what_does_not_fit() -> None:
    with pytest.raises(ValueError, match=r"actual 2 vs 1"):
        d.Independent(d.Normal(tengen.zeros(3), 1.0), 2)
    with pytest.raises(ValueError, match=r"\(2\) does not equal .*\(3\)"):
        d.MixtureSameFamily(d.Categorical(tengen.ones(2)), d.Normal(tengen.zeros(3), 1.0))
    with pytest.raises(ValueError, match="must be a Transform or a list of Transforms"):
        d.TransformedDistribution(d.Normal(0.0, 1.0), [1.0])  # type: ignore[list-item]


def test_parameters_are_checked_under_vmap() -> None:
    scales = doubles([1.0, 2.0])
    found = tengen.vmap(lambda s: d.Normal(0.0, s).log_prob(s))(scales)
    tengen.testing.assert_close(found, d.Normal(0.0, scales).log_prob(scales))
