"""The multinomial distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated.functions import exp, lgamma, where

from ..core.scalar_type import finfo
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from .binomial import Binomial
from .one_hot_categorical import OfCategorical
from .parameters import expanded
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OfCategorical):
    """How often each of K outcomes happens in ``total_count`` trials, by ``probs``, (..., K), or ``logits``.

    Samples have the dtype of the parameter. NotImplementedError for a ``total_count`` that is no int;
    ValueError unless exactly one of ``probs`` and ``logits`` is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    total_count: int

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        shapes = self._set_categorical(probs, logits)
        self._binomial = Binomial(total_count=total_count, probs=self.probs)
        super().__init__(*shapes, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        new = expanded(self, Multinomial, batch_shape, _instance, "_categorical", kept=("total_count",))
        new._binomial = self._binomial.expand((*new._batch_shape, *new._event_shape))
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> constraints.Constraint:
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        trials = self._categorical.sample((self.total_count, *sample_shape)).movedim(0, -1)
        # Counted in the dtype of the samples, if that has all counts; in place there would be more to check.
        exact = self.total_count * finfo(self.probs.dtype).eps <= 1
        counts = (self.probs if exact else trials).new_zeros(self._extended_shape(sample_shape))
        counted = counts.scatter_add(-1, trials, counts.new_ones((1,)).expand(trials.shape))
        return counted if exact else counted.type_as(self.probs)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        # What cannot happen, and did not, has no part in it.
        powers = value * where((value == 0) & (logits == -math.inf), 0, logits)
        return lgamma(value.sum(-1) + 1) + (powers - lgamma(value + 1)).sum(-1)

    def entropy(self) -> Tensor:
        # -E[log p] is that of the trials, without the logarithms of the numbers of their orders.
        counts = self._binomial.enumerate_support(expand=False)[1:]
        orders = (exp(self._binomial.log_prob(counts)) * lgamma(counts + 1)).sum([0, -1])
        return self.total_count * self._categorical.entropy() - math.lgamma(self.total_count + 1) + orders
