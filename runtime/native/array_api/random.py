"""Random numbers: drawn on the host by the generator that is given, the same as on the CPU, and moved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .. import random as host
from .common import Array, cast, made_on_host


def _drawn_like(function: Callable[..., Any]) -> Callable[..., Array]:
    """A kernel of arrays whose result has the first one's dtype."""

    def kernel(xp: Any, *arguments: Any) -> Array:
        made = function(*[xp.to_host(a) for a in arguments])
        first = next((a.dtype for a in arguments if hasattr(a, "dtype")), None)
        return cast(xp, xp.from_host(made), first)

    return kernel


random_uniform = made_on_host(host.random_uniform)
random_normal = made_on_host(host.random_normal)
random_integers = made_on_host(host.random_integers)
randperm = made_on_host(host.randperm)
normal_sized = made_on_host(host.normal_sized)
bernoulli = _drawn_like(host.bernoulli)
bernoulli_by = _drawn_like(host.bernoulli_by)
bernoulli_of = _drawn_like(host.bernoulli_of)
binomial = _drawn_like(host.binomial)
cauchy = _drawn_like(host.cauchy)
exponential = _drawn_like(host.exponential)
geometric = _drawn_like(host.geometric)
log_normal = _drawn_like(host.log_normal)
normal = _drawn_like(host.normal)
normal_like = _drawn_like(host.normal_like)
poisson = _drawn_like(host.poisson)
random_any = _drawn_like(host.random_any)
random_from = _drawn_like(host.random_from)
random_to = _drawn_like(host.random_to)
uniform = _drawn_like(host.uniform)


def multinomial(xp: Any, self: Array, num_samples: int, replacement: bool, generator: Any) -> Array:
    """Indices drawn with probabilities in proportion to the rows."""
    return xp.from_host(host.multinomial(xp.to_host(self), num_samples, replacement, generator))
