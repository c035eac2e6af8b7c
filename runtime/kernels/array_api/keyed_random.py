"""Random numbers that the array library draws itself, from a source with a key, so that they may be traced.

``source`` has ``uniform`` and ``normal`` of a shape and dtype, ``integers``, ``permutation``, ``poisson``,
``binomial`` and ``gamma``. The functions are called and check as those of ``kernels.random`` that have their
names; what only values tell, as probabilities in a tensor, is checked as soon as it is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi
from typing import Any

import numpy as np

from .. import random as host
from ..creation import check_size
from ..dtypes import real_dtype
from .common import Array, cast, is_array, is_complex, is_integral

Shape = Sequence[int]


def random_uniform(xp: Any, source: Any, size: Shape, dtype: Any) -> Array:
    """Uniform in [0, 1); both parts of a complex number are."""
    shape = check_size(size)
    if not xp.isdtype(dtype, "complex floating"):
        return source.uniform(shape, dtype)
    parts = source.uniform((2, *shape), real_dtype(xp.numpy_dtype(dtype)))
    return xp.astype(parts[0] + 1j * parts[1], dtype)


def random_normal(xp: Any, source: Any, size: Shape, dtype: Any) -> Array:
    """Standard normal; complex numbers have a variance of one half in each part."""
    return source.normal(check_size(size), dtype)


def normal_sized(xp: Any, source: Any, mean: float, std: float, size: Shape, dtype: Any) -> Array:
    """Normal with this mean of both parts of complex numbers."""
    host.check_deviation(std)
    both = mean + 1j * mean if xp.isdtype(dtype, "complex floating") else mean
    return xp.astype(random_normal(xp, source, size, dtype) * std + both, dtype)


def normal_like(xp: Any, source: Any, self: Array, mean: float, std: float) -> Array:
    """``normal_sized`` in the shape and dtype of ``self``."""
    return normal_sized(xp, source, mean, std, self.shape, self.dtype)


def _check_deviations(values: Any) -> None:
    if values.size and values.min() < 0:
        raise RuntimeError("normal expects all elements of std >= 0.0")


def normal(xp: Any, source: Any, mean: Any, std: Any) -> Array:
    """Normal with means and standard deviations of which one may be a number. RuntimeError for a standard
    deviation that is negative or complex."""
    if not is_array(std):
        host.check_deviation(std)
    elif is_complex(xp, std):
        raise RuntimeError("normal expects standard deviation to be non-complex")
    else:
        std = xp.checked(std, _check_deviations)
    like = mean if is_array(mean) else std
    shape = np.broadcast_shapes(*[v.shape if is_array(v) else () for v in (mean, std)])
    return xp.astype(source.normal(shape, like.dtype) * std + mean, like.dtype)


def uniform(xp: Any, source: Any, self: Array, low: float, high: float) -> Array:
    """Uniform in [low, high)."""
    host.check_range(low, high, real_dtype(xp.numpy_dtype(self.dtype)))
    if is_complex(xp, self):
        drawn = random_uniform(xp, source, self.shape, self.dtype)
        return xp.astype(drawn * (high - low) + (low + 1j * low), self.dtype)
    start = xp.asarray(low, dtype=self.dtype)
    values = xp.astype(source.uniform(self.shape, self.dtype) * (high - low) + low, self.dtype)
    return values if low == high else xp.where(values >= high, start, values)


def _positive(xp: Any, source: Any, self: Array) -> Array:
    """Uniform in (0, 1], in float64 for integers."""
    dtype = xp.float64 if is_integral(xp, self) else self.dtype
    return 1 - source.uniform(self.shape, dtype)


def exponential(xp: Any, source: Any, self: Array, lambd: float) -> Array:
    """Exponential with the rate ``lambd``."""
    host.check_rate(lambd)
    return cast(xp, -xp.log(_positive(xp, source, self)) / lambd, self.dtype)


def cauchy(xp: Any, source: Any, self: Array, median: float, sigma: float) -> Array:
    """Cauchy around ``median``, of half width ``sigma``."""
    host.check_width(sigma)
    turn = _positive(xp, source, self) - 0.5
    return cast(xp, xp.tan(turn * pi) * sigma + median, self.dtype)


def log_normal(xp: Any, source: Any, self: Array, mean: float, std: float) -> Array:
    """The exponential of normal numbers."""
    host.check_log_deviation(std)
    return cast(xp, xp.exp(source.normal(self.shape, self.dtype) * std + mean), self.dtype)


def bernoulli_of(xp: Any, source: Any, self: Array, p: float) -> Array:
    """1 with the probability ``p``, else 0."""
    host.check_probability(p)
    return xp.astype(source.uniform(self.shape, xp.float64) < p, self.dtype)


def _check_probabilities(values: Any) -> None:
    if not np.all((values >= 0) & (values <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


def bernoulli_by(xp: Any, source: Any, self: Array, p: Array) -> Array:
    """1 with the probability that ``p`` gives. NotImplementedError for integers or bools as probabilities,
    RuntimeError outside of [0, 1]."""
    if xp.isdtype(p.dtype, ("integral", "bool")):
        raise NotImplementedError(f"expected probabilities of a floating point dtype, but got {p.dtype}")
    p = xp.checked(p, _check_probabilities)
    return xp.astype(source.uniform(self.shape, xp.float64) < p, self.dtype)


def bernoulli(xp: Any, source: Any, self: Array) -> Array:
    """1 with the probability that each element gives."""
    return bernoulli_by(xp, source, self, self)


def geometric(xp: Any, source: Any, self: Array, p: float) -> Array:
    """The number of trials up to the first success."""
    host.check_trial(p)
    drawn = 1 - source.uniform(self.shape, xp.float64)
    return cast(xp, xp.maximum(xp.ceil(xp.log(drawn) / np.log1p(-p)), xp.ones_like(drawn)), self.dtype)


def _check_rates(values: Any) -> None:
    if not np.all(values >= 0):
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")


def poisson(xp: Any, source: Any, self: Array) -> Array:
    """Counts at the rates of ``self``."""
    rates = xp.astype(xp.checked(self, _check_rates), xp.float64)
    few = rates < host.NORMAL_RATE
    drawn = xp.astype(source.poisson(xp.where(few, rates, xp.zeros_like(rates))), xp.float64)
    normal = xp.round(rates + xp.sqrt(rates) * source.normal(rates.shape, xp.float64))
    return cast(xp, xp.where(few, drawn, xp.where(xp.isinf(rates), rates, normal)), self.dtype)


def binomial(xp: Any, source: Any, count: Array, prob: Array) -> Array:
    """Successes of probability ``prob`` in ``count`` trials."""
    dtype = xp.result_type(count, prob)
    count, prob = xp.broadcast_arrays(xp.astype(count, xp.float64), xp.astype(prob, xp.float64))
    unknown = xp.isnan(count) | xp.isnan(prob)
    zeros = xp.zeros_like(count)
    trials = xp.floor(xp.where(unknown, zeros, xp.clip(count, 0.0, 2.0**62)))
    drawn = source.binomial(trials, xp.where(unknown, zeros, xp.clip(prob, 0.0, 1.0)))
    return cast(xp, xp.where(unknown, xp.full_like(count, np.nan), drawn), dtype)


def standard_gamma(xp: Any, source: Any, self: Array) -> Array:
    """Of the gamma distributions of shape ``self`` and rate 1."""
    shape = xp.astype(self, xp.float64)
    unknown, some = xp.isnan(shape), shape > 0
    drawn = source.gamma(xp.where(some, shape, xp.ones_like(shape)))
    drawn = xp.maximum(xp.where(some, drawn, xp.zeros_like(drawn)), host.normal_least(_host(xp, self)))
    return cast(xp, xp.where(unknown, shape, drawn), self.dtype)


def sample_dirichlet(xp: Any, source: Any, self: Array) -> Array:
    """Of the Dirichlet distributions of the rows."""
    shape = xp.maximum(xp.astype(self, xp.float64), xp.asarray(host.DIRICHLET_LEAST))
    wait = -xp.log(1 - source.uniform(shape.shape, xp.float64))
    parts = xp.log(source.gamma(shape + 1)) - wait / shape
    parts = xp.exp(parts - xp.max(parts, axis=-1, keepdims=True)) if 0 not in shape.shape else parts
    least, most = host.inside_one(_host(xp, self))
    return cast(xp, xp.clip(parts / xp.sum(parts, axis=-1, keepdims=True), least, most), self.dtype)


def _host(xp: Any, like: Array) -> Any:
    return xp.numpy_dtype(like.dtype)


def random_integers(xp: Any, source: Any, low: int, high: int, size: Shape, dtype: Any) -> Array:
    """Uniform in [low, high)."""
    host.check_integers(low, high, xp.numpy_dtype(dtype))
    low, high = host.narrowed(low, high, xp.numpy_dtype(dtype))
    return cast(xp, source.integers(low, high, check_size(size)), dtype)


def integers_from(xp: Any, source: Any, self: Array, low: int, high: int | None) -> Array:
    """Uniform in [low, high), or up to the greatest integer of the dtype."""
    end = host.integer_limits(xp.numpy_dtype(self.dtype))[1] + 1 if high is None else high
    return random_integers(xp, source, low, end, self.shape, self.dtype)


def random_to(xp: Any, source: Any, self: Array, to: int) -> Array:
    """Uniform in [0, to)."""
    return random_integers(xp, source, 0, to, self.shape, self.dtype)


def random_any(xp: Any, source: Any, self: Array) -> Array:
    """Uniform over the integers from 0 on that the dtype holds."""
    return integers_from(xp, source, self, 0, None)


def randperm(xp: Any, source: Any, n: int, dtype: Any) -> Array:
    """The integers 0 to n - 1 in random order."""
    (count,) = check_size((n,))
    return cast(xp, source.permutation(count), dtype)


def _check_odds(values: Any) -> None:
    if not np.all(np.isfinite(values) & (values >= 0)):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not np.all(values.sum(-1) > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def multinomial(xp: Any, source: Any, self: Array, num_samples: int, replacement: bool) -> Array:
    """Indices drawn with the odds that each row gives, int64."""
    host.check_multinomial(tuple(self.shape), num_samples, replacement)
    odds = xp.astype(xp.checked(self, _check_odds), xp.float64)
    if not replacement:
        # The smallest of exponentials of these rates comes first with just these odds.
        waits = -xp.log(1 - source.uniform(odds.shape, xp.float64)) / odds
        waits = xp.where(odds > 0, waits, xp.full_like(waits, np.inf))
        return xp.astype(xp.argsort(waits, axis=-1, stable=True)[..., :num_samples], xp.int64)
    ends = xp.cumulative_sum(odds / xp.sum(odds, axis=-1, keepdims=True), axis=-1)
    drawn = source.uniform((*odds.shape[:-1], num_samples), xp.float64)
    found = xp.sum(xp.astype(drawn[..., None] >= ends[..., None, :], xp.int64), axis=-1, dtype=xp.int64)
    # Rounding may lead past the last index with any odds.
    last = odds.shape[-1] - 1 - xp.argmax(xp.astype(xp.flip(odds, axis=-1) > 0, xp.int8), axis=-1)
    return xp.minimum(found, xp.astype(last, xp.int64)[..., None])
