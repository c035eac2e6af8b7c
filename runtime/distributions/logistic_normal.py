"""The logistic-normal distribution."""

from __future__ import annotations

from typing import Any

from ..tensors.tensor import Tensor
from . import constraints
from .normal import Normal
from .parameters import Parameter
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Shares that sum to 1, broken off one after another by K normal variables: K + 1 of them.

    ``loc`` and ``scale`` are the means and standard deviations of the variables, (..., K).
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Parameter, scale: Parameter, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(LogisticNormal, _instance))

    @property
    def _normal(self) -> Any:
        # The base is an Independent over the last dimension.
        return self.base_dist.base_dist

    @property
    def loc(self) -> Tensor:
        """The means of the normal variables."""
        loc: Tensor = self._normal.loc
        return loc

    @property
    def scale(self) -> Tensor:
        """The standard deviations of the normal variables."""
        scale: Tensor = self._normal.scale
        return scale
