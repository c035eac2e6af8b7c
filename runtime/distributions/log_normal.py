"""The log-normal distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import exp, expm1

from ..tensors.tensor import Tensor
from . import constraints
from .normal import Normal
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform

__all__ = ["LogNormal"]


class LogNormal(TransformedDistribution):
    """Values whose logarithms have the normal distribution with ``loc`` and ``scale``."""

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True
    base_dist: Normal

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogNormal, _instance))

    @property
    def loc(self) -> Tensor:
        """The mean of the logarithm."""
        return self.base_dist.loc

    @property
    def scale(self) -> Tensor:
        """The standard deviation of the logarithm."""
        return self.base_dist.scale

    @property
    def mean(self) -> Tensor:
        return exp(self.loc + self.scale.pow(2) / 2)

    @property
    def mode(self) -> Tensor:
        return exp(self.loc - self.scale.pow(2))

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return expm1(square) * exp(2 * self.loc + square)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc
