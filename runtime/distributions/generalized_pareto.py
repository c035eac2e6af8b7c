"""The generalized Pareto distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

from tengen.generated.functions import abs, exp, expm1, log, log1p, rand, where

from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["GeneralizedPareto"]

#: The coefficients of the powers of x in log1p(x) / x and expm1(x) / x.
_LOG1P: Final = tuple((-1) ** k / (k + 1) for k in range(8))
_EXPM1: Final = tuple(1 / math.factorial(k + 1) for k in range(8))


def _near_one(x: Tensor, function: Callable[[Tensor], Tensor], series: tuple[float, ...]) -> Tensor:
    """``function(x) / x``, and around 0, where derivatives of that would cancel, the sum of its series."""
    small = abs(x) < 0.01
    near, far = where(small, x, 0), where(small, 1, x)
    total: Tensor | float = series[-1]
    for coefficient in series[-2::-1]:
        total = total * near + coefficient
    return where(small, total, function(far) / far)


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

    def _hazard(self, value: Tensor) -> Tensor:
        """Minus the logarithm of the probability of larger values: ``log1p(c z) / c``."""
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        return z * _near_one(self.concentration * z, log1p, _LOG1P)

    def log_prob(self, value: Tensor) -> Tensor:
        hazard = self._hazard(value)
        # With a concentration of -1 values are uniform, at the end too, where the hazard is infinite.
        end = (self.concentration == -1) & (hazard == math.inf)
        return -log(self.scale) - (1 + self.concentration) * where(end, 0, hazard)

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
        hazard = -log1p(-value)
        return self.loc + self.scale * hazard * _near_one(self.concentration * hazard, expm1, _EXPM1)

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
