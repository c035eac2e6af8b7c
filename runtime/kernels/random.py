"""Random kernels, and the generator they draw from when none is given.

``generator`` is a tengen.Generator, whose ``numpy`` is the np.random.Generator to draw from,
or None for the default one. Fills return the new values; ``self`` only gives shape and dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .creation import check_size
from .dtypes import is_complex, real_dtype

Array = Any
DType = np.dtype[Any]
Shape = Sequence[int]


#: The process's generator: tengen.random puts its own here. (One of our own would have to import
#: numpy.random, which costs an eighth of NumPy's import, before anybody draws a number.)
default: Any = None


def source(generator: Any) -> np.random.Generator:
    """The NumPy generator to draw from."""
    found: np.random.Generator = (default if generator is None else generator).numpy
    return found


def _only(parameter: Array) -> Any:
    """The number that all elements are that are one in memory, as those of an expanded number; else None."""
    return parameter.item(0) if parameter.size and not any(parameter.strides) else None


def _drawn(draw: Any, parameter: Array) -> Array:
    """What NumPy draws in float64, one for each parameter: of one number for all the same, and faster."""
    only = _only(parameter)
    if only is None:
        return np.asarray(draw(parameter.astype(np.float64, copy=False)))
    return np.asarray(draw(float(only), parameter.shape))


def _complex(parts: Array, dtype: DType) -> Array:
    """Complex numbers of pairs of their parts."""
    return parts.view(dtype)[..., 0]


# -- continuous distributions -------------------------------------------------------------


@functools.cache
def _digits(dtype: DType) -> int:
    """The bits of a number's significand."""
    import ml_dtypes

    found: Any = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    return int(found.nmant) + 1


def random_uniform(size: Shape, generator: Any, dtype: DType) -> Array:
    """Uniform in [0, 1); both parts of a complex number are. Raises RuntimeError for a negative dimension."""
    shape, numbers = check_size(size), source(generator)
    if is_complex(dtype):
        return _complex(random_uniform((*shape, 2), generator, real_dtype(dtype)), dtype)
    if dtype == np.float64:
        return np.asarray(numbers.random(shape))
    if dtype == np.float32:
        return np.asarray(numbers.random(shape, np.float32))
    # Rounded to a shorter significand a number could become 1: draw with that many bits.
    scale = 1 << _digits(dtype)
    return (np.asarray(numbers.integers(0, scale, shape)) / scale).astype(dtype)


def random_normal(size: Shape, generator: Any, dtype: DType) -> Array:
    """Standard normal; complex numbers have a variance of one half in each part.

    Raises RuntimeError for a negative dimension.
    """
    if is_complex(dtype):
        return normal_sized(0.0, 1.0, size, generator, dtype)
    shape, numbers = check_size(size), source(generator)
    if dtype == np.float32:
        return np.asarray(numbers.standard_normal(shape, np.float32))
    return np.asarray(numbers.standard_normal(shape)).astype(dtype)


# "from" and "lambda" are words of Python: these parameters have other names than in the schemas.


@functools.cache
def _greatest(dtype: DType) -> float:
    """The greatest finite number of a floating dtype."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def check_range(low: float, high: float, dtype: DType) -> None:
    """RuntimeError when low > high, and for ends or a distance that the (real) dtype cannot hold."""
    most = _greatest(dtype)
    for name, value in (("from", low), ("to", high)):
        if abs(value) > most:
            raise RuntimeError(f"{name} is out of bounds for {dtype}, got {value:g}")
    if not low <= high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to - from to be at most {most:g}, but found {low:g} and {high:g}"
        )


def uniform(self: Array, low: float, high: float, generator: Any) -> Array:
    """Uniform in [low, high). Raises RuntimeError as ``check_range`` does."""
    check_range(low, high, real_dtype(self.dtype))
    if is_complex(self.dtype):
        parts = np.empty((*self.shape, 2), real_dtype(self.dtype))
        return _complex(uniform(parts, low, high, generator), self.dtype)
    drawn = random_uniform(self.shape, generator, self.dtype)
    values = (drawn * (high - low) + low).astype(self.dtype)
    if low == high:
        return values
    # The sum may round up to the end that is not included.
    return np.where(values >= high, np.array(low, self.dtype), values)


def check_deviation(std: float) -> None:
    """RuntimeError for a negative one."""
    if not std >= 0.0:
        raise RuntimeError(f"expects std >= 0.0, but found std {std:g}")


def normal_sized(mean: float, std: float, size: Shape, generator: Any, dtype: DType) -> Array:
    """Normal with this standard deviation, and this mean, of both parts of complex numbers.

    Raises RuntimeError for a negative deviation.
    """
    check_deviation(std)
    if is_complex(dtype):
        parts = source(generator).standard_normal((*check_size(size), 2)) * (std * 0.5**0.5) + mean
        return _complex(parts.astype(real_dtype(dtype)), dtype)
    return (random_normal(size, generator, dtype) * std + mean).astype(dtype)


def normal_like(self: Array, mean: float, std: float, generator: Any) -> Array:
    """``normal_sized`` in the shape and dtype of ``self``."""
    return normal_sized(mean, std, self.shape, generator, self.dtype)


def normal(mean: Array, std: Array, generator: Any) -> Array:
    """Normal with means and standard deviations of which one may be a number.

    Raises RuntimeError for a negative or complex deviation.
    """
    if isinstance(std, np.ndarray):
        if std.dtype.kind == "c":
            raise RuntimeError("normal expects standard deviation to be non-complex")
        if std.size and std.min() < 0:
            raise RuntimeError("normal expects all elements of std >= 0.0")
    else:
        check_deviation(std)
    dtype = mean.dtype if isinstance(mean, np.ndarray) else std.dtype
    drawn = random_normal(np.broadcast_shapes(np.shape(mean), np.shape(std)), generator, dtype)
    return (drawn * std + mean).astype(dtype)


def check_rate(lambd: float) -> None:
    """RuntimeError unless the rate is positive."""
    if not lambd > 0.0:
        raise RuntimeError(f"expects lambda > 0.0, but found lambda={lambd:g}")


def exponential(self: Array, lambd: float, generator: Any) -> Array:
    """Exponential with the rate ``lambd``. Raises RuntimeError unless it is positive."""
    check_rate(lambd)
    return np.asarray(source(generator).standard_exponential(self.shape) / lambd).astype(self.dtype)


def check_width(sigma: float) -> None:
    """RuntimeError unless the half width is positive."""
    if not sigma > 0.0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")


def cauchy(self: Array, median: float, sigma: float, generator: Any) -> Array:
    """Cauchy around ``median``, of half width ``sigma``. Raises RuntimeError unless that is positive."""
    check_width(sigma)
    return np.asarray(source(generator).standard_cauchy(self.shape) * sigma + median).astype(self.dtype)


def check_log_deviation(std: float) -> None:
    """RuntimeError unless the deviation is positive."""
    if not std > 0.0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")


def log_normal(self: Array, mean: float, std: float, generator: Any) -> Array:
    """The exponential of normal numbers. Raises RuntimeError unless the deviation is positive."""
    check_log_deviation(std)
    return np.asarray(source(generator).lognormal(mean, std, self.shape)).astype(self.dtype)


@functools.cache
def normal_least(dtype: DType) -> float:
    """The smallest normal number: what stands for a positive one that the dtype cannot hold."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).smallest_normal)  # type: ignore[no-untyped-call]


def standard_gamma(self: Array, generator: Any) -> Array:
    """Of the gamma distributions of shape ``self`` and rate 1; see the declaration for those out of range."""
    draw, least = source(generator).standard_gamma, normal_least(self.dtype)
    try:
        drawn = _drawn(draw, self)  # NaN where the shape is
    except ValueError:  # a shape with a sign: nothing was drawn
        drawn = _drawn(draw, np.where(self > 0, self, np.where(np.isnan(self), self, 0)))
    return np.maximum(drawn, least, out=drawn).astype(self.dtype)


#: A parameter of 0 or less: of such parts one becomes 1.
DIRICHLET_LEAST = 1e-300


def sample_dirichlet(self: Array, generator: Any) -> Array:
    """Of the Dirichlet distributions of the rows; see the declaration."""
    numbers, shape = source(generator), np.maximum(self.astype(np.float64), DIRICHLET_LEAST)
    unknown = np.isnan(shape)
    # Of a small parameter a gamma variate is 0 where its logarithm, which says who is first, is a number.
    parts = np.log(numbers.standard_gamma(np.where(unknown, 1, shape) + 1))
    parts -= numbers.standard_exponential(shape.shape) / shape
    parts = _shares(parts)
    return np.asarray(np.clip(parts, *inside_one(self.dtype), out=parts)).astype(self.dtype)


def _shares(parts: Array) -> Array:
    """What has these logarithms, by rows that sum to 1."""
    parts = np.exp(parts - parts.max(-1, keepdims=True, initial=-np.inf))
    return parts / parts.sum(-1, keepdims=True)


def inside_one(dtype: DType) -> tuple[float, float]:
    """The ends of what lies between 0 and 1, both left out: a part that is there has a logarithm."""
    return normal_least(dtype), 1 - 2.0 ** -_digits(dtype)


# -- discrete distributions ---------------------------------------------------------------


def check_probability(p: float) -> None:
    """RuntimeError for one outside [0, 1]."""
    if not 0.0 <= p <= 1.0:
        raise RuntimeError(f"expects p to be in [0, 1], but got p={p:g}")


def bernoulli_of(self: Array, p: float, generator: Any) -> Array:
    """1 with the probability ``p``, else 0. Raises RuntimeError for p outside [0, 1]."""
    check_probability(p)
    return np.asarray(source(generator).random(self.shape) < p).astype(self.dtype)


def bernoulli_by(self: Array, p: Array, generator: Any) -> Array:
    """1 with the probability that ``p`` gives.

    Raises RuntimeError for one outside [0, 1], NotImplementedError for integers.
    """
    if p.dtype.kind in "biu":
        raise NotImplementedError(f"expected probabilities of a floating point dtype, but got {p.dtype}")
    least, most = _extremes(p)
    if p.size and not (least >= 0 and most <= 1):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")
    return np.asarray(source(generator).random(self.shape) < p).astype(self.dtype)


def _extremes(parameter: Array) -> tuple[Any, Any]:
    """The least and the greatest element, NaN where there is one; of none, numbers that are neither."""
    only = _only(parameter)
    if only is not None:
        return only, only
    ends = ((np.minimum, np.inf), (np.maximum, -np.inf))
    least, most = [end.reduce(parameter, axis=None, initial=first) for end, first in ends]
    return least, most


def bernoulli(self: Array, generator: Any) -> Array:
    """1 with the probability that each element gives. Raises RuntimeError for one outside [0, 1]."""
    return bernoulli_by(self, self, generator)


def check_trial(p: float) -> None:
    """RuntimeError for a probability outside (0, 1)."""
    if not 0.0 < p < 1.0:
        raise RuntimeError(f"expects p to be in (0, 1), but got p={p:g}")


def geometric(self: Array, p: float, generator: Any) -> Array:
    """The number of trials up to the first success. Raises RuntimeError for p outside (0, 1)."""
    check_trial(p)
    return np.asarray(source(generator).geometric(p, self.shape)).astype(self.dtype)


#: From here on the Poisson distribution is normal to float64's precision, and NumPy's counts overflow.
NORMAL_RATE = 1e18


def poisson(self: Array, generator: Any) -> Array:
    """Counts at the rates of ``self``. Raises RuntimeError for one that is negative or NaN."""
    draw = source(generator).poisson
    least, most = _extremes(self)
    if self.size and not least >= 0:
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    if most < NORMAL_RATE:
        return _drawn(draw, self).astype(self.dtype)
    rates = self.astype(np.float64)
    few = rates < NORMAL_RATE
    drawn = draw(np.where(few, rates, 0))
    normal = rates + np.sqrt(rates) * source(generator).standard_normal(rates.shape)
    return np.where(few, drawn, np.where(np.isinf(rates), rates, np.rint(normal))).astype(self.dtype)


def binomial(count: Array, prob: Array, generator: Any) -> Array:
    """Successes of probability ``prob`` in ``count`` trials; see the declaration for those out of range."""
    dtype = np.result_type(count, prob)
    count, prob = np.broadcast_arrays(count.astype(np.float64), prob.astype(np.float64))
    unknown = np.isnan(count) | np.isnan(prob)
    trials = np.floor(np.where(unknown, 0, np.clip(count, 0, 2.0**62))).astype(np.int64)
    drawn = source(generator).binomial(trials, np.where(unknown, 0, np.clip(prob, 0, 1)))
    return np.where(unknown, np.nan, drawn).astype(dtype)


def integer_limits(dtype: DType) -> tuple[int, int]:
    """The least and the greatest integer up to which the dtype holds every integer."""
    if dtype.kind == "b":
        return 0, 1
    if dtype.kind in "iu":
        found = np.iinfo(dtype)
        return int(found.min), int(found.max)
    return -(1 << _digits(dtype)), 1 << _digits(dtype)


def random_integers(low: int, high: int, size: Shape, generator: Any, dtype: DType) -> Array:
    """Uniform in [low, high).

    Raises RuntimeError when that is empty or the dtype cannot hold its ends.
    """
    check_integers(low, high, dtype)
    low, high = narrowed(low, high, dtype)
    kind = np.uint64 if high > 1 << 63 else np.int64
    return np.asarray(source(generator).integers(low, high, check_size(size), dtype=kind)).astype(dtype)


def check_integers(low: int, high: int, dtype: DType) -> None:
    """RuntimeError where [low, high) is empty, or the dtype cannot hold its ends."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    least, most = integer_limits(dtype) if dtype.kind in "biu" else (-_greatest(dtype), _greatest(dtype))
    for name, value in (("from", low), ("to - 1", high - 1)):
        if not least <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtype}")


def narrowed(low: int, high: int, dtype: DType) -> tuple[int, int]:
    """Ends within [low, high) that are not rounded out of it; these, where the dtype has none between."""
    if dtype.kind in "biu":
        return low, high
    first, last = np.array(low).astype(dtype), np.array(high - 1).astype(dtype)
    if int(first) < low:
        first = np.nextafter(first, np.array(np.inf, dtype))
    if int(last) >= high:
        last = np.nextafter(last, np.array(-np.inf, dtype))
    return (int(first), int(last) + 1) if first <= last else (low, high)


def random_from(self: Array, low: int, high: int | None, generator: Any) -> Array:
    """Uniform in [low, high), or up to the greatest integer of the dtype."""
    end = integer_limits(self.dtype)[1] + 1 if high is None else high
    return random_integers(low, end, self.shape, generator, self.dtype)


def random_to(self: Array, to: int, generator: Any) -> Array:
    """Uniform in [0, to)."""
    return random_integers(0, to, self.shape, generator, self.dtype)


def random_any(self: Array, generator: Any) -> Array:
    """Uniform over the integers from 0 on that the dtype holds."""
    numbers = source(generator).integers(0, integer_limits(self.dtype)[1], self.shape, endpoint=True)
    return np.asarray(numbers).astype(self.dtype)


def randperm(n: int, generator: Any, dtype: DType) -> Array:
    """The integers 0 to n - 1 in random order. Raises RuntimeError for a negative n."""
    (count,) = check_size((n,))
    return source(generator).permutation(count).astype(dtype)


def multinomial(self: Array, num_samples: int, replacement: bool, generator: Any) -> Array:
    """Indices drawn with the odds that each row gives, int64.

    Raises RuntimeError for odds that are negative, infinite or all 0, no or too many samples,
    and more than two dimensions.
    """
    check_multinomial(self.shape, num_samples, replacement)
    odds = self.astype(np.float64)
    ends = np.add.accumulate(odds, -1)
    totals = ends[..., -1] if odds.size else ends
    # NaN and what is negative are seen in the least, what is infinite in a sum.
    possible = odds.size > 0 and np.minimum.reduce(odds, axis=None) >= 0
    if not (possible and np.maximum.reduce(totals, axis=None) < np.inf) and not _are_odds(odds):
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if not odds.shape[-1] or (totals.size and not np.minimum.reduce(totals, axis=None) > 0):
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    numbers = source(generator)
    if replacement:
        # The last end is 1, which no number reaches: what has no odds behind it is never drawn.
        return _places(ends / ends[..., -1:], numbers.random((*odds.shape[:-1], num_samples)))
    # The smallest of exponentials of these rates comes first with just these odds.
    waits = np.full(odds.shape, np.inf)
    np.divide(numbers.standard_exponential(odds.shape), odds, out=waits, where=odds > 0)
    return np.argsort(waits, axis=-1, kind="stable")[..., :num_samples]


def _are_odds(odds: Array) -> bool:
    return bool(((odds >= 0) & (odds < np.inf)).all())


def _places(ends: Array, drawn: Array) -> Array:
    """How many of the ends of its row each number has reached: (..., n) of (..., k) and (..., n)."""
    if drawn.size == drawn.shape[-1]:  # one row
        places = ends.reshape(-1).searchsorted(drawn.reshape(-1), side="right")
        return places.astype(np.int64, copy=False).reshape(drawn.shape)
    if drawn.size <= drawn.shape[-1] ** 2:  # fewer rows than numbers in each
        rows = zip(ends, drawn, strict=True)
        found = [row.searchsorted(numbers, side="right") for row, numbers in rows]
        return np.array(found, np.int64).reshape(drawn.shape)
    return (drawn[..., None] >= ends[..., None, :]).sum(-1)


def check_multinomial(shape: Shape, num_samples: int, replacement: bool) -> None:
    """Raises RuntimeError for shapes and numbers of samples that cannot be."""
    if len(shape) not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
