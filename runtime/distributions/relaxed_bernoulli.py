"""The relaxed Bernoulli distribution, and that of its log odds."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import log, log1p, log_sigmoid, rand

from ..tensors.tensor import Tensor
from . import constraints
from .parameters import BinaryParameters, Parameter, expanded
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import broadcast_all, clamp_probs

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(BinaryParameters):
    """The log odds of a RelaxedBernoulli: a logistic variable, moved by ``logits``, over ``temperature``.

    ``probs`` may be given in place of ``logits``. ValueError unless one of the two is.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(self._set_odds(probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        names, kept = ("probs", "logits", "_param"), ("temperature",)
        return expanded(self, LogitRelaxedBernoulli, batch_shape, _instance, *names, kept=kept)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        logits, shape = self.logits, self._extended_shape(sample_shape)
        shares = clamp_probs(rand(shape, dtype=logits.dtype, device=logits.device))
        return (log(shares) - log1p(-shares) + logits) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        away = logits - value * self.temperature
        return log(self.temperature) + log_sigmoid(away) + log_sigmoid(-away)


class RelaxedBernoulli(TransformedDistribution):
    """Values in (0, 1), with gradients, that are near 0 or 1 where ``temperature`` is low.

    They are 1 rather than 0 with the probability ``probs``, or the log odds ``logits``. ValueError unless one
    of the two is given.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    base_dist: LogitRelaxedBernoulli

    def __init__(
        self,
        temperature: Tensor,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return super().expand(batch_shape, _instance=self._get_checked_instance(RelaxedBernoulli, _instance))

    @property
    def temperature(self) -> Tensor:
        """How far values are from 0 and 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The log odds of 1."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities of 1."""
        return self.base_dist.probs
