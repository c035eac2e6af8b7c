"""Random numbers: drawn on the host, the same as on the CPU, and moved; or by the library, from a source.

Whether it has one, for a generator, says the namespace's ``random_source``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import random as host
from . import keyed_random as keyed
from .common import Array, cast, made_on_host


def _drawn(function: Callable[..., Any], by_source: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel that makes an array of numbers alone, before a generator and the dtype."""
    on_host = made_on_host(function)

    def kernel(xp: Any, *arguments: Any) -> Array:
        *numbers, generator, dtype = arguments
        source = xp.random_source(generator)
        return on_host(xp, *arguments) if source is None else by_source(xp, source, *numbers, dtype)

    return kernel


def _drawn_like(function: Callable[..., Any], by_source: Callable[..., Array]) -> Callable[..., Array]:
    """A kernel of arrays, and a generator, whose result has the first one's dtype."""

    def kernel(xp: Any, *arguments: Any) -> Array:
        *given, generator = arguments
        source = xp.random_source(generator)
        if source is not None:
            return by_source(xp, source, *given)
        made = function(*[xp.to_host(a) for a in given], generator)
        first = next((a.dtype for a in given if hasattr(a, "dtype")), None)
        return cast(xp, xp.from_host(made), first)

    return kernel


random_uniform = _drawn(host.random_uniform, keyed.random_uniform)
random_normal = _drawn(host.random_normal, keyed.random_normal)
random_integers = _drawn(host.random_integers, keyed.random_integers)
randperm = _drawn(host.randperm, keyed.randperm)
normal_sized = _drawn(host.normal_sized, keyed.normal_sized)
bernoulli = _drawn_like(host.bernoulli, keyed.bernoulli)
bernoulli_by = _drawn_like(host.bernoulli_by, keyed.bernoulli_by)
bernoulli_of = _drawn_like(host.bernoulli_of, keyed.bernoulli_of)
binomial = _drawn_like(host.binomial, keyed.binomial)
cauchy = _drawn_like(host.cauchy, keyed.cauchy)
exponential = _drawn_like(host.exponential, keyed.exponential)
geometric = _drawn_like(host.geometric, keyed.geometric)
log_normal = _drawn_like(host.log_normal, keyed.log_normal)
normal = _drawn_like(host.normal, keyed.normal)
normal_like = _drawn_like(host.normal_like, keyed.normal_like)
poisson = _drawn_like(host.poisson, keyed.poisson)
sample_dirichlet = _drawn_like(host.sample_dirichlet, keyed.sample_dirichlet)
standard_gamma = _drawn_like(host.standard_gamma, keyed.standard_gamma)
random_any = _drawn_like(host.random_any, keyed.random_any)
random_from = _drawn_like(host.random_from, keyed.integers_from)
random_to = _drawn_like(host.random_to, keyed.random_to)
uniform = _drawn_like(host.uniform, keyed.uniform)


def multinomial(xp: Any, self: Array, num_samples: int, replacement: bool, generator: Any) -> Array:
    """Indices drawn with probabilities in proportion to the rows."""
    source = xp.random_source(generator)
    if source is not None:
        return keyed.multinomial(xp, source, self, num_samples, replacement)
    return xp.from_host(host.multinomial(xp.to_host(self), num_samples, replacement, generator))
