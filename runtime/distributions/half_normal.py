"""The half-normal distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import special_erf as erf, special_erfinv as erfinv, where

from ..tensors.tensor import Tensor
from . import constraints
from .normal import Normal
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfNormal"]


class HalfNormal(TransformedDistribution):
    """The size of a variable that has a normal distribution around 0, with ``scale``."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Normal

    def __init__(self, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfNormal, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the normal distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self) -> Tensor:
        return self.scale.new_zeros(self.scale.shape)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return erf(value / (self.scale * math.sqrt(2)))

    def icdf(self, value: Tensor) -> Tensor:
        return self.scale * math.sqrt(2) * erfinv(value)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
