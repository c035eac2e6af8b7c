"""The Weibull distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import exp, expm1, lgamma, log, log1p, ones_like

from ..tensors.tensor import Tensor
from . import constraints
from .exponential import Exponential
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .utils import broadcast_all, euler_constant

__all__ = ["Weibull"]


class Weibull(TransformedDistribution):
    """Positive values, larger than x with the probability ``exp(-(x / scale)**concentration)``."""

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Parameter, concentration: Parameter, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(ones_like(self.scale), validate_args=validate_args)
        super().__init__(base, self._transforms(), validate_args=validate_args)

    def _transforms(self) -> list[Any]:
        power = PowerTransform(exponent=self.concentration_reciprocal)
        return [power, AffineTransform(loc=0, scale=self.scale)]

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(Weibull, _instance)
        for name in ("scale", "concentration", "concentration_reciprocal"):
            setattr(new, name, getattr(self, name).expand(batch_shape))
        base = self.base_dist.expand(batch_shape)
        TransformedDistribution.__init__(new, base, new._transforms(), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.scale * exp(lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self) -> Tensor:
        # Below a concentration of 1 the density is highest at 0.
        share = (self.concentration - 1).clamp(min=0) / self.concentration
        return self.scale * share**self.concentration_reciprocal

    @property
    def variance(self) -> Tensor:
        inverse = self.concentration_reciprocal
        once = 2 * lgamma(1 + inverse)
        return self.scale.pow(2) * exp(once) * expm1(lgamma(1 + 2 * inverse) - once)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return -expm1(-((value / self.scale) ** self.concentration))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * (-log1p(-value)) ** self.concentration_reciprocal

    def entropy(self) -> Tensor:
        inverse = self.concentration_reciprocal
        return euler_constant * (1 - inverse) + log(self.scale * inverse) + 1
