"""How samples of gamma and beta distributions move with the parameters, on the host.

A sample ``x`` at the fixed quantile ``F(x; a)`` moves by ``dx/da = -(dF/da) / f``, with the density ``f``.
``F`` is an integral up to ``x``, and 1 less one from ``x`` on; of either ``dF/da`` is the integral of the
density times ``G = d(log density)/da``, which rises with the sample and changes its sign once. So where
``G(x)`` is negative the lower integral has terms of one sign, and nothing cancels; else the upper one.

Of small ``x`` (and of ``x`` near 1, of a beta distribution) a power series has terms of one sign, too. The
others are integrals over the half line of ``exp(exponent(t)) * G(t)``, in a variable in which the density
decays exponentially, by the double exponential rule: ``t = scale * exp(u - exp(-u))``, in equal steps of u.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = Any

#: Below this, and where terms shrink by this at least, power series are summed: 2**-TERMS is below float64's.
HALF = 0.5
TERMS = 60
#: The rule's error is some exp(-2 pi d / STEP): d is about 1 where the density is near normal.
STEP = 1 / 16
NODES = np.arange(-3.8, 6.5, STEP)
#: How many elements at once are integrated, so that what is computed of them stays in the caches.
ROWS = 512


def standard_gamma_grad(self: Array, output: Array) -> Array:
    """How samples ``output`` of the gamma distributions of shape ``self`` move with these.

    0 where the sample is 0, NaN where one of both is negative, NaN or infinite. Computed in float64.
    """
    found = _by_rows(_gamma, self, output)
    return np.where((output == 0) & (self > 0), 0.0, found).astype(np.result_type(self, output))


def dirichlet_grad(x: Array, alpha: Array, total: Array) -> Array:
    """How parts ``x`` of Dirichlet distributions move with their own ``alpha``, by ``1 - x``.

    A part has the beta distribution of ``alpha`` and ``total - alpha``. 0 where the part is 0, NaN where it
    is not in [0, 1], or a parameter is not positive and finite. Computed in float64.
    """
    found = _by_rows(_beta, x, alpha, total.astype(np.float64) - alpha)
    return np.where((x == 0) & (alpha > 0), 0.0, found).astype(np.result_type(x, alpha, total))


def _by_rows(function: Callable[..., Array], *arguments: Array) -> Array:
    """``function`` of float64 columns of all elements, ROWS at once."""
    given = np.broadcast_arrays(*[np.asarray(a, np.float64) for a in arguments])
    flat = [a.reshape(-1) for a in given]
    found = np.empty(flat[0].shape)
    with np.errstate(all="ignore"):
        for start in range(0, found.size, ROWS):
            rows = slice(start, start + ROWS)
            found[rows] = function(*[a[rows] for a in flat])
    return found.reshape(given[0].shape)


def _chosen(masks: list[Array], ways: list[Callable[..., Array]], *arguments: Array) -> Array:
    """Each element by the first way whose mask has it, or NaN."""
    found = np.full(arguments[0].shape, np.nan)
    left = np.ones(found.shape, bool)
    for mask, way in zip(masks, ways, strict=True):
        own = mask & left
        left &= ~own
        if own.any():
            found[own] = way(*[a[own] for a in arguments])
    return found


# -- gamma


def _gamma(a: Array, x: Array) -> Array:
    from scipy.special import digamma

    valid = (a > 0) & (x > 0) & np.isfinite(a) & np.isfinite(x)
    at_x = np.log(np.where(valid, x, 1.0)) - digamma(np.where(valid, a, 1.0))  # G(x)
    return _chosen([valid & (x <= HALF), valid], [_gamma_series, _gamma_integral], a, x, at_x)


def _gamma_series(a: Array, x: Array, _: Array) -> Array:
    """The sum of x**n / (a ... (a + n)) * (digamma(a + n + 1) - log(x)), times x."""
    from scipy.special import digamma

    weight, slope, log = x / a, digamma(a + 1), np.log(x)
    found = np.zeros_like(x)
    for n in range(TERMS):
        found += weight * (slope - log)
        weight *= x / (a + n + 1)
        slope += 1 / (a + n + 1)
    return found


def _gamma_integral(a: Array, x: Array, at_x: Array) -> Array:
    a, x, at_x = a[:, None], x[:, None], at_x[:, None]
    sign = np.where(at_x < 0, -1.0, 1.0)  # the lower integral goes to the left
    return _half_line(
        lambda t: a * t - x * np.expm1(t),
        lambda t: x * (at_x + t),
        sign,
        _scale(sign * (x - a), x),
    )


# -- beta


def _beta(x: Array, a: Array, b: Array) -> Array:
    from scipy.special import digamma

    valid = (a > 0) & (b > 0) & (x > 0) & (x <= 1) & np.isfinite(a) & np.isfinite(b)
    a, b = np.where(valid, a, 1.0), np.where(valid, b, 1.0)
    at_x = np.log(np.where(valid, x, 1.0)) - digamma(a) + digamma(a + b)  # G(x)
    y = 1 - x
    lower = (x <= HALF) & (x * (a + b) <= HALF * (a + 1))
    upper = (y <= HALF) & (y * (a + b) <= HALF * (b + 1)) & (at_x >= 0)
    return _chosen(
        [valid & lower, valid & upper, valid],
        [_beta_series, _beta_upper_series, _beta_integral],
        *(x, a, b, at_x),
    )


def _beta_series(x: Array, a: Array, b: Array, _: Array) -> Array:
    """x / a times the sum of (a + b)_n / (a + 1)_n * x**n * slope, for
    slope = digamma(a + 1 + n) - digamma(a + b + n) - log(x).
    """
    from scipy.special import digamma

    weight, slope = x / a, digamma(a + 1) - digamma(a + b) - np.log(x)
    found = np.zeros_like(x)
    for n in range(TERMS):
        found += weight * slope
        weight *= x * (a + b + n) / (a + 1 + n)
        slope += 1 / (a + 1 + n) - 1 / (a + b + n)
    return found


def _beta_upper_series(x: Array, a: Array, b: Array, at_x: Array) -> Array:
    """x / b times the sum of (a + b)_n / (b + 1)_n * (1 - x)**n * slope, for
    slope = log(x) - digamma(a) + digamma(a + b + n).
    """
    weight, slope = x / b, at_x.copy()
    found = np.zeros_like(x)
    for n in range(TERMS):
        found += weight * slope
        weight *= (1 - x) * (a + b + n) / (b + 1 + n)
        slope += 1 / (a + b + n)
    return found


def _beta_integral(x: Array, a: Array, b: Array, at_x: Array) -> Array:
    """In the logit of the sample, from that of ``x`` on."""
    x, a, b, at_x = x[:, None], a[:, None], b[:, None], at_x[:, None]
    sign = np.where(at_x < 0, -1.0, 1.0)
    return _half_line(
        lambda t: a * t - (a + b) * _log_rise(x, t),
        lambda t: x * (at_x + t - _log_rise(x, t)),
        sign,
        _scale(sign * ((a + b) * x - a), (a + b) * x * (1 - x)),
    )


def _log_rise(x: Array, t: Array) -> Array:
    """log(1 - x + x * exp(t)), of large t too."""
    return np.where(
        t > 1, t + np.log(x + (1 - x) * np.exp(-np.abs(t))), np.log1p(x * np.expm1(np.minimum(t, 1)))
    )


# -- integrals


def _scale(linear: Array, square: Array) -> Array:
    """Where ``linear * t + square * t**2 / 2`` is 1: how far the density goes."""
    return 2 / (linear + np.sqrt(linear * linear + 2 * square))


def _half_line(
    exponent: Callable[[Array], Array], slope: Callable[[Array], Array], sign: Array, scale: Array
) -> Array:
    """The integral of ``exp(exponent(t)) * |slope(t)|`` over the half line of a sign, for each row."""
    decay = np.exp(-NODES)
    steps = np.exp(NODES - decay)
    t = sign * scale * steps
    weights = np.exp(exponent(t))
    terms = np.where(weights > 0, weights * slope(t) * sign, 0.0) * (steps * (1 + decay))
    return terms.sum(-1) * (STEP * scale[:, 0])
