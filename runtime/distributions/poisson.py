"""The Poisson distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import exp, log, poisson, where

from ..autograd.grad_mode import no_grad
from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .log_gamma import HALF_LOG_2PI, deviance, stirling_remainder
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["Poisson"]


class Poisson(ExponentialFamily):
    """The Poisson distribution: how often something happens that happens ``rate`` times on average."""

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Parameter, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, Poisson, batch_shape, _instance, "rate")

    @property
    def mean(self) -> Tensor:
        return self.rate

    @property
    def mode(self) -> Tensor:
        return self.rate.floor()

    @property
    def variance(self) -> Tensor:
        return self.rate

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return poisson(self.rate.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rate, value = broadcast_all(self.rate, value)
        # By Stirling's formula: value * log(rate), rate and lgamma(value + 1) would cancel.
        some, mean = where(value > 0, value, 1), where(value > 0, rate, 1)
        near = -deviance(some, mean, log(mean)) - stirling_remainder(some)
        log_some = near - 0.5 * log(some) - HALF_LOG_2PI
        return where(value > 0, log_some, where(value < 0, -math.inf, -rate))

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (log(self.rate),)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return exp(x)
