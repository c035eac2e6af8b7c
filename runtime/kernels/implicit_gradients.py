"""How samples of gamma and beta distributions move with the parameters, on the host.

A sample ``x`` at the fixed quantile ``F(x; a)`` moves by ``dx/da = -(dF/da) / f``, with the density ``f``.
``F`` is an integral up to ``x``, and 1 less one from ``x`` on; of either ``dF/da`` is the integral of the
density times ``G = d(log density)/da``, which rises with the sample and changes its sign once.

Nearly all samples take a power series. Its terms are of one sign where ``G(x)`` is negative; else the first
are negative, and what they take away is known when all are added up. Where that is too much, as far out in a
tail, or where there are too many terms, as of large parameters, it is an integral over the side of ``x`` on
which nothing cancels: over the half line of ``exp(exponent(t)) * G(t)``, in a variable in which the density
decays exponentially, by the double exponential rule: ``t = scale * exp(u - exp(-u))``, in equal steps of u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .native_kernels import kernels

Array = Any

HALF = 0.5
#: Series that need more terms than these cost more than the integral.
TERMS = 1024
#: How many of them a native kernel adds, and after how many it is asked which series have ended: when a
#: term is below this part of the sum, and changes nothing.
TOGETHER = 4
CHECKED = 16
ENDED = 2.0**-55
#: How much larger than a sum its terms may be, by the bytes of what it is rounded to: of 53 bits 45 or 29
#: are right.
CANCELLED = {8: 2.0**8, 4: 2.0**24, 2: 2.0**24}
#: The rule's error is some exp(-2 pi d / STEP): d is about 1 where the density is near normal.
STEP = 1 / 16
NODES = np.arange(-3.8, 6.5, STEP)
#: How many elements at once are summed, or integrated, so that what is computed of them stays in the caches.
SUMMED = 16384
INTEGRATED = 512


def standard_gamma_grad(self: Array, output: Array) -> Array:
    """How samples ``output`` of the gamma distributions of shape ``self`` move with these.

    0 where the sample is 0, NaN where one of both is negative, NaN or infinite. Computed in float64.
    """
    dtype = np.result_type(self, output)
    a, x = _wide(self, output)
    valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    found = _of_valid(valid, _gamma, CANCELLED[dtype.itemsize], a, x, _of_distinct(_digamma, a))
    return np.where((x == 0) & (a > 0), 0.0, found).astype(dtype)


def dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """How parts ``x`` of Dirichlet distributions move with their own ``alpha``, by ``1 - x``.

    A part has the beta distribution of ``alpha`` and ``total - alpha``. 0 where the part is 0, NaN where it
    is not in [0, 1], or a parameter is not positive and finite. Computed in float64.
    """
    dtype = np.result_type(x, alpha, total)
    x, a, b = _wide(x, alpha, _of_distinct(np.subtract, total, alpha, dtype=np.float64))
    valid = (a > 0) & (b > 0) & (x > 0) & (x <= 1) & np.isfinite(a) & np.isfinite(b)
    digamma = _of_distinct(_digamma_beyond, a, b)
    found = _of_valid(valid, _beta, CANCELLED[dtype.itemsize], x, a, b, digamma)
    return np.where((x == 0) & (a > 0), 0.0, found).astype(dtype)


def _wide(*arguments: Array) -> list[Array]:
    """All in float64, in one shape; what was expanded stays so."""
    return list(np.broadcast_arrays(*[_of_distinct(np.positive, a, dtype=np.float64) for a in arguments]))


def _of_distinct(function: Callable[..., Array], *arguments: Array, **options: Any) -> Array:
    """An elementwise function, computed once of each element that is in memory once, and expanded."""
    given = np.broadcast_arrays(*arguments)
    strides = zip(*[a.strides for a in given], strict=True)
    once = tuple([slice(None) if any(s) else slice(1) for s in strides])
    return np.broadcast_to(function(*[a[once] for a in given], **options), given[0].shape)


def _of_valid(valid: Array, function: Callable[..., Array], allowed: float, *arguments: Array) -> Array:
    """``function`` of columns of the elements that are valid, SUMMED at once; of the others NaN.

    ``allowed``: how much larger than a sum its terms may be.
    """
    whole = bool(valid.all())
    flat = [a.reshape(-1) if whole else a[valid] for a in arguments]
    columns = np.empty(flat[0].shape)
    with np.errstate(all="ignore"):
        for start in range(0, columns.size, SUMMED):
            rows = slice(start, start + SUMMED)
            columns[rows] = function(allowed, *[a[rows] for a in flat])
    if whole:
        return columns.reshape(valid.shape)
    found = np.full(valid.shape, np.nan)
    found[valid] = columns
    return found


def _where(mask: Array, way: Callable[..., Array], found: Array, *arguments: Any) -> None:
    """Put into ``found`` what the way gives of the rows that the mask has."""
    if mask.all():
        found[:] = way(*arguments)
    elif mask.any():
        found[mask] = way(*[a[mask] if isinstance(a, np.ndarray) else a for a in arguments])


def _digamma(a: Array) -> Array:
    from scipy.special import digamma

    return digamma(a)


# -- gamma


def _gamma(allowed: float, a: Array, x: Array, digamma: Array) -> Array:
    at_x = np.log(x) - digamma  # G(x)
    found = np.full(x.shape, np.nan)
    _where(_terms(x, x - a) < TERMS, _gamma_series, found, allowed, a, x, at_x)
    _where(np.isnan(found), _gamma_integral, found, a, x, at_x)
    return found


def _gamma_series(allowed: float, a: Array, x: Array, at_x: Array) -> Array:
    """The sum of x**n / (a ... (a + n)) * (digamma(a + n + 1) - log(x)), times x."""
    return _series("gamma_terms", _gamma_step, allowed, x / a, 1 / a - at_x, a, x)


def _gamma_step(a: Array, x: Array, n: float) -> tuple[Array, Array]:
    rise = 1 / (a + n)
    return x * rise, rise


def _gamma_integral(a: Array, x: Array, at_x: Array) -> Array:
    sign = np.where(at_x < 0, -1.0, 1.0)  # the lower integral goes to the left
    return _half_line(
        lambda t, a, x, _: a * t - x * np.expm1(t),
        lambda t, a, x, at_x: x * (at_x + t),
        sign,
        _scale(sign * (x - a), x),
        *(a, x, at_x),
    )


# -- beta


def _digamma_beyond(a: Array, b: Array) -> Array:
    return _digamma(a) - _digamma(a + b)


def _beta(allowed: float, x: Array, a: Array, b: Array, digamma: Array) -> Array:
    at_x = np.log(x) - digamma  # G(x)
    y, found = 1 - x, np.full(x.shape, np.nan)
    lower = x <= HALF
    few = _terms((a + b) * x, ((a + b) * x - a) / y) < TERMS
    _where(lower & few, _beta_series, found, allowed, x, a, b, at_x)
    few = _terms((a + b) * y, ((a + b) * y - b) / x) < TERMS
    _where(~lower & few, _beta_upper_series, found, allowed, x, a, b, at_x)
    _where(np.isnan(found), _beta_integral, found, x, a, b, at_x)
    return found


def _beta_series(allowed: float, x: Array, a: Array, b: Array, at_x: Array) -> Array:
    """x / a times the sum of (a + b)_n / (a + 1)_n * x**n * slope, for
    slope = digamma(a + 1 + n) - digamma(a + b + n) - log(x).
    """
    return _series("beta_terms", _beta_step, allowed, x / a, 1 / a - at_x, x, a, b)


def _beta_step(x: Array, a: Array, b: Array, n: float) -> tuple[Array, Array]:
    rise, above = 1 / (a + n), a + b + n - 1
    return x * above * rise, rise - 1 / above


def _beta_upper_series(allowed: float, x: Array, a: Array, b: Array, at_x: Array) -> Array:
    """x / b times the sum of (a + b)_n / (b + 1)_n * (1 - x)**n * slope, for
    slope = log(x) - digamma(a) + digamma(a + b + n).
    """
    return _series("beta_upper_terms", _beta_upper_step, allowed, x / b, at_x, 1 - x, b, a)


def _beta_upper_step(y: Array, b: Array, a: Array, n: float) -> tuple[Array, Array]:
    above = a + b + n - 1
    return y * above / (b + n), 1 / above


def _beta_integral(x: Array, a: Array, b: Array, at_x: Array) -> Array:
    """In the logit of the sample, from that of ``x`` on."""
    sign = np.where(at_x < 0, -1.0, 1.0)
    return _half_line(
        lambda t, x, a, b, _: a * t - (a + b) * _log_rise(x, t),
        lambda t, x, a, b, at_x: x * (at_x + t - _log_rise(x, t)),
        sign,
        _scale(sign * ((a + b) * x - a), (a + b) * x * (1 - x)),
        *(x, a, b, at_x),
    )


def _log_rise(x: Array, t: Array) -> Array:
    """log(1 - x + x * exp(t)), of large t too."""
    return np.where(
        t > 1, t + np.log(x + (1 - x) * np.exp(-np.abs(t))), np.log1p(x * np.expm1(np.minimum(t, 1)))
    )


# -- series


def _terms(square: Array, peak: Array) -> Array:
    """About how many terms a series needs whose largest is the one of the number ``peak``."""
    return 2 * np.maximum(peak, 0) + 9 * np.sqrt(square) + 60


def _series(
    name: str,
    step: Callable[..., tuple[Array, Array]],
    allowed: float,
    weight: Array,
    slope: Array,
    *parameters: Array,
) -> Array:
    """The sums of weights times slopes, or NaN where the terms cancel, or are more than TERMS.

    ``step(*parameters, n)`` gives by what the n-th weight is multiplied, and what is added to the slope; the
    kernel of the name does that, and adds up.
    """
    first, found, spread = np.abs(slope), np.full(weight.shape, np.nan), np.full(weight.shape, np.nan)
    kernel, rows = getattr(kernels, name), np.arange(weight.size)
    state = [np.zeros_like(weight), np.zeros_like(weight), weight, slope.copy()]
    for n in np.arange(1.0, TERMS, TOGETHER):
        if kernel is not None:
            kernel(*state, *parameters, n, out=tuple(state))
        else:
            for k in range(TOGETHER):
                _add_term(state, *step(*parameters, n + k))
        if (n + TOGETHER - 1) % CHECKED:
            continue
        total, size, weight, slope = state
        # A term that is left out would leave the sum as it is: it does not matter who is beside an element.
        ended = weight * (np.abs(slope) + 1) <= ENDED * np.abs(total)
        count = np.count_nonzero(ended)
        if 2 * count < ended.size:
            continue
        found[rows], spread[rows] = np.where(ended, total, np.nan), size
        if count == ended.size:
            break
        left = np.flatnonzero(~ended)
        rows, state, parameters = rows[left], [v[left] for v in state], tuple([v[left] for v in parameters])
    return np.where(spread * first < allowed * np.abs(found), found, np.nan)


def _add_term(state: list[Array], ratio: Array, rise: Array) -> None:
    total, size, weight, slope = state
    total += weight * slope
    size += weight
    weight *= ratio
    slope += rise


# -- integrals


def _scale(linear: Array, square: Array) -> Array:
    """Where ``linear * t + square * t**2 / 2`` is 1: how far the density goes."""
    return 2 / (linear + np.sqrt(linear * linear + 2 * square))


def _half_line(
    exponent: Callable[..., Array], slope: Callable[..., Array], sign: Array, scale: Array, *parameters: Array
) -> Array:
    """The integral of ``exp(exponent(t)) * |slope(t)|`` over the half line of a sign, for each row."""
    decay = np.exp(-NODES)
    steps = np.exp(NODES - decay)
    found = np.empty(sign.shape)
    for start in range(0, found.size, INTEGRATED):
        rows = slice(start, start + INTEGRATED)
        ahead, far, *given = [v[rows, None] for v in (sign, scale, *parameters)]
        t = ahead * far * steps
        weights = np.exp(exponent(t, *given))
        terms = np.where(weights > 0, weights * slope(t, *given) * ahead, 0.0) * (steps * (1 + decay))
        found[rows] = terms.sum(-1) * (STEP * scale[rows])
    return found
