"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import digamma, exp, expm1, log, log1p, ones_like, where

from ..tensors.tensor import Tensor
from . import constraints
from .log_gamma import log_beta
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all, euler_constant

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Values in [0, 1] with the cdf ``1 - (1 - x**concentration1)**concentration0``.

    The mode is nan where a concentration is below 1, or both are 1.
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True

    def __init__(
        self,
        concentration1: Parameter,
        concentration0: Parameter,
        validate_args: bool | None = None,
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        one = ones_like(self.concentration0)
        base = Uniform(0 * one, one, validate_args=validate_args)
        super().__init__(base, self._transforms(), validate_args=validate_args)

    def _transforms(self) -> list[Any]:
        """From a uniform u to ``(1 - u**(1 / concentration0))**(1 / concentration1)``."""
        return [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Kumaraswamy, _instance)
        new.concentration1 = self.concentration1.expand(batch_shape)
        new.concentration0 = self.concentration0.expand(batch_shape)
        return super().expand(batch_shape, _instance=new)

    def _moment(self, n: int) -> Tensor:
        b = self.concentration0
        return b * exp(log_beta(1 + n / self.concentration1, b))

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1)
        return where(inside, ((a - 1) / (a * b - 1)) ** (1 / a), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -expm1(self.concentration0 * log1p(-(value**self.concentration1)))

    def icdf(self, value: Tensor) -> Tensor:
        return (-expm1(log1p(-value) / self.concentration0)) ** (1 / self.concentration1)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = digamma(b + 1) + euler_constant
        return (1 - 1 / b) + (1 - 1 / a) * harmonic - log(a) - log(b)
