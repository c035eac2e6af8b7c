"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import exp, expm1, log, log1p, rand, where

from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Excesses over a threshold ``loc``, with ``scale`` and ``concentration``, the index of the tail.

    A concentration of 0 is an exponential distribution; below 0 values are bounded. The mean is nan from a
    concentration of 1 on, the variance from 0.5 on.
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(
        self,
        loc: Parameter,
        scale: Parameter,
        concentration: Parameter,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        super().__init__(self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, GeneralizedPareto, batch_shape, _instance, "loc", "scale", "concentration")

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        below = self.concentration < 0
        end = self.loc - self.scale / where(below, self.concentration, -1)
        return constraints.interval(self.loc, where(below, end, math.inf))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return self.icdf(rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _tail(self) -> tuple[Tensor, Tensor]:
        """Where the concentration is 0; the concentration, but 1 there."""
        zero = self.concentration == 0
        return zero, where(zero, 1, self.concentration)

    def _hazard(self, value: Tensor) -> Tensor:
        """Minus the logarithm of the probability of larger values: ``log1p(c z) / c``."""
        if self._validate_args:
            self._validate_sample(value)
        z, (zero, tail) = (value - self.loc) / self.scale, self._tail()
        return where(zero, z, log1p(tail * z) / tail)

    def log_prob(self, value: Tensor) -> Tensor:
        hazard = self._hazard(value)
        # With a concentration of -1 values are uniform, at the end too, where the hazard is infinite.
        flat = self.concentration == -1
        return -log(self.scale) - where(flat, 0, (1 + self.concentration) * where(flat, 0, hazard))

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of values larger than ``value``."""
        return -self._hazard(value)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the cumulative distribution function at ``value``."""
        hazard = self._hazard(value)
        likely = hazard > 1
        far = log1p(-exp(-where(likely, hazard, 1)))
        return where(likely, far, log(-expm1(-where(likely, 1, hazard))))

    def cdf(self, value: Tensor) -> Tensor:
        return -expm1(-self._hazard(value))

    def icdf(self, value: Tensor) -> Tensor:
        hazard, (zero, tail) = -log1p(-value), self._tail()
        return self.loc + self.scale * where(zero, hazard, expm1(tail * hazard) / tail)

    @property
    def mean(self) -> Tensor:
        tail = where(self.concentration < 1, self.concentration, math.nan)
        return self.loc + self.scale / (1 - tail)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        tail = where(self.concentration < 0.5, self.concentration, math.nan)
        return self.scale.pow(2) / ((1 - tail).pow(2) * (1 - 2 * tail))

    def entropy(self) -> Tensor:
        return log(self.scale) + self.concentration + 1
