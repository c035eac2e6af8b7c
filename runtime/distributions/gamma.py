"""The gamma distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import (
    _standard_gamma,
    digamma,
    lgamma,
    log,
    special_gammainc as gammainc,
    xlogy,
)

from ..core.scalar_type import finfo
from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .parameters import Parameter, expanded
from .utils import broadcast_all

__all__ = ["Gamma"]


class Gamma(ExponentialFamily):
    """The gamma distribution with shape ``concentration`` and ``rate``, the inverse of the scale."""

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Parameter, rate: Parameter, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.size(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, Gamma, batch_shape, _instance, "concentration", "rate")

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.rate

    @property
    def mode(self) -> Tensor:
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        # Never 0, where densities may be infinite; the gradient is that of the sample before.
        value.detach().clamp_(min=finfo(value.dtype).tiny)
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        if not isinstance(value, Tensor):
            value = self.rate.new_tensor(value)
        if self._validate_args:
            self._validate_sample(value)
        powers = xlogy(self.concentration, self.rate) + xlogy(self.concentration - 1, value)
        return powers - self.rate * value - lgamma(self.concentration)

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return gammainc(self.concentration, self.rate * value)

    def entropy(self) -> Tensor:
        shape = self.concentration
        return shape - log(self.rate) + lgamma(shape) + (1 - shape) * digamma(shape)

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return self.concentration - 1, -self.rate

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:
        return lgamma(x + 1) - (x + 1) * log(-y)
