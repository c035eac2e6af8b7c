"""The relaxed categorical (Gumbel-softmax, Concrete) distribution, and that of its logarithms."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import log, logsumexp

from ..core.scalar_type import finfo
from ..tensors.tensor import Tensor
from . import constraints
from .one_hot_categorical import OfCategorical
from .parameters import expanded
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OfCategorical):
    """The logarithms of a RelaxedOneHotCategorical, with ``temperature`` and ``probs`` or ``logits``."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # a part of it: the exponentials sum to 1
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        super().__init__(*self._set_categorical(probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        kept = ("temperature",)
        return expanded(self, ExpRelaxedCategorical, batch_shape, _instance, "_categorical", kept=kept)

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        logits = self.logits
        noise = logits.new_empty(self._extended_shape(sample_shape)).exponential_()
        scores = (logits - log(noise.clamp(min=finfo(noise.dtype).tiny))) / self.temperature
        return scores - logsumexp(scores, dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        count = self._categorical._num_events
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        scores = logits - value * self.temperature
        normalized = (scores - logsumexp(scores, dim=-1, keepdim=True)).sum(-1)
        return normalized + math.lgamma(count) + (count - 1) * log(self.temperature)


class RelaxedOneHotCategorical(TransformedDistribution):
    """Shares that sum to 1, with gradients, of which one is near 1 where ``temperature`` is low.

    Which one is by ``probs``, (..., K), or ``logits``. ValueError unless exactly one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True
    base_dist: ExpRelaxedCategorical

    def __init__(
        self,
        temperature: Tensor,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = self._get_checked_instance(RelaxedOneHotCategorical, _instance)
        return super().expand(batch_shape, _instance=new)

    @property
    def temperature(self) -> Tensor:
        """How far values are from a single 1."""
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities, (..., K)."""
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        """The probabilities, (..., K)."""
        return self.base_dist.probs
