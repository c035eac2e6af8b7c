"""The inverse gamma distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import digamma, lgamma, log, special_gammaincc as gammaincc, where

from ..tensors.tensor import Tensor
from . import constraints
from .gamma import Gamma
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import PowerTransform

__all__ = ["InverseGamma"]


class InverseGamma(TransformedDistribution):
    """The inverse of a variable that has a gamma distribution with ``concentration`` and ``rate``.

    The mean is inf for a concentration up to 1, the variance for one up to 2.
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Gamma

    def __init__(self, concentration: Parameter, rate: Parameter, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(base.rate.new_full((), -1)), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(InverseGamma, _instance))

    @property
    def concentration(self) -> Tensor:
        """The shape of the gamma distribution."""
        return self.base_dist.concentration

    @property
    def rate(self) -> Tensor:
        """The rate of the gamma distribution, the scale of this one."""
        return self.base_dist.rate

    @property
    def mean(self) -> Tensor:
        return where(self.concentration > 1, self.rate / (self.concentration - 1), math.inf)

    @property
    def mode(self) -> Tensor:
        return self.rate / (self.concentration + 1)

    @property
    def variance(self) -> Tensor:
        shape = self.concentration
        finite = self.rate.pow(2) / ((shape - 1).pow(2) * (shape - 2))
        return where(shape > 2, finite, math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return gammaincc(self.concentration, self.rate / value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape + log(self.rate) + lgamma(shape) - (1 + shape) * digamma(shape)
