"""Fisher's F distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import log, log1p, where

from ..core.scalar_type import finfo
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .log_gamma import log_binomial
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["FisherSnedecor"]


class FisherSnedecor(Distribution):
    """The F distribution: the ratio of two chi-squared variables, each by its degrees of freedom.

    The mean is nan for ``df2 <= 2``, the variance for ``df2 <= 4``, the mode for ``df1 <= 2``.
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Parameter, df2: Parameter, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, FisherSnedecor, batch_shape, _instance, "df1", "df2", "_gamma1", "_gamma2")

    @property
    def mean(self) -> Tensor:
        df2 = where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        df1 = where(self.df1 > 2, self.df1, math.nan)
        return (df1 - 2) / df1 * self.df2 / (self.df2 + 2)

    @property
    def variance(self) -> Tensor:
        df2 = where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (self.df1 + df2 - 2) / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        above, below = self._gamma1.rsample(sample_shape), self._gamma2.rsample(sample_shape)
        return (above / below).clamp(min=finfo(above.dtype).tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        a, b, odds = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2 * value
        # The powers of the odds are those of a binomial distribution, whose logarithm does not cancel.
        powers = log_binomial(a, b, -log1p(1 / odds), -log1p(odds))
        return powers + log(a) - log1p(a / b) - log(value)
