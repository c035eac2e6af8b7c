"""The half-Cauchy distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import atan, tan, where

from ..tensors.tensor import Tensor
from . import constraints
from .cauchy import Cauchy
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import AbsTransform

__all__ = ["HalfCauchy"]


class HalfCauchy(TransformedDistribution):
    """The size of a variable that has a Cauchy distribution around 0, with ``scale``."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    base_dist: Cauchy

    def __init__(self, scale: Parameter, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), AbsTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(HalfCauchy, _instance))

    @property
    def scale(self) -> Tensor:
        """The scale of the Cauchy distribution."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return self.base_dist._filled(math.inf)

    @property
    def mode(self) -> Tensor:
        return self.scale.new_zeros(self.scale.shape)

    @property
    def variance(self) -> Tensor:
        return self.base_dist.variance

    def log_prob(self, value: Tensor) -> Tensor:
        if not isinstance(value, Tensor):
            value = self.scale.new_tensor(value)
        if self._validate_args:
            self._validate_sample(value)
        return where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return 2 / math.pi * atan(value / self.scale)

    def icdf(self, value: Tensor) -> Tensor:
        # Above the median by the distance from 1: tan near pi / 2 would have the error of pi / 2.
        low = value < 0.5
        angle = math.pi / 2 * where(low, value, 1 - value)
        return self.scale * where(low, tan(angle), 1 / tan(angle))

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)
