"""Student's t distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import digamma, log, log1p, rsqrt, where

from ..tensors.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .log_gamma import log_beta
from .parameters import Parameter, expanded
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with ``df`` degrees of freedom, moved by ``loc`` and stretched by ``scale``.

    The mean is nan for ``df <= 1``; the variance is inf for ``df <= 2``, and nan for ``df <= 1``.
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        df: Parameter,
        loc: Parameter = 0.0,
        scale: Parameter = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, StudentT, batch_shape, _instance, "df", "loc", "scale", "_chi2")

    @property
    def mean(self) -> Tensor:
        return where(self.df > 1, self.loc, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        return where(self.df > 2, finite, where(self.df > 1, math.inf, math.nan))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        noise = _standard_normal(self._extended_shape(sample_shape), self.df.dtype, self.df.device)
        return self.loc + self.scale * noise * rsqrt(self._chi2.rsample(sample_shape) / self.df)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        z = (value - self.loc) / self.scale
        half = 0.5 * self.df
        powers = (half + 0.5) * log1p(z**2 / self.df)
        return -powers - log(self.scale) - 0.5 * log(self.df) - self._log_beta(half)

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        curve = (half + 0.5) * (digamma(half + 0.5) - digamma(half))
        return log(self.scale) + curve + 0.5 * log(self.df) + self._log_beta(half)

    @staticmethod
    def _log_beta(half: Tensor) -> Tensor:
        return log_beta(half, half.new_full((), 0.5))
