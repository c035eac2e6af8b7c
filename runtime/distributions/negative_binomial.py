"""The negative binomial distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import exp, log, log_sigmoid, poisson, where

from ..autograd.grad_mode import no_grad
from ..tensors.tensor import Tensor
from . import constraints
from .gamma import Gamma
from .log_gamma import log_binomial
from .parameters import CountedParameters, Parameter
from .utils import lazy_property

__all__ = ["NegativeBinomial"]


class NegativeBinomial(CountedParameters):
    """How many trials succeed, with the probability ``probs``, before ``total_count`` of them fail.

    ``logits`` are its log odds, in its place. ``total_count`` may be no integer. ValueError unless one of
    ``probs`` and ``logits`` is given.
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self,
        total_count: Parameter,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_counts(total_count, probs, logits)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._with_batch_shape(NegativeBinomial, batch_shape, _instance)

    @property
    def mean(self) -> Tensor:
        return self.total_count * exp(self.logits)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * exp(self.logits)).floor().clamp(min=0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

    @lazy_property
    def _gamma(self) -> Gamma:
        # Its samples are the rates of Poisson distributions, which are mixed to this one.
        return Gamma(concentration=self.total_count, rate=exp(-self.logits), validate_args=False)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        with no_grad():
            return poisson(self._gamma.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        # Where nothing was to fail nothing succeeded: 0 has the probability 1.
        total = self.total_count + value
        safe = where(total == 0, 1, total)
        last = where(total == 0, 0, log(self.total_count / safe))
        return last + log_binomial(
            self.total_count, value, log_sigmoid(-self.logits), log_sigmoid(self.logits)
        )
