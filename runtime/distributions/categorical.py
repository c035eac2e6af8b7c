"""The categorical distribution."""

from __future__ import annotations

import math
from typing import Any

from tengen.generated import scalar_types
from tengen.generated.functions import arange, full, logsumexp, multinomial

from ..core.scalar_type import finfo
from ..core.size import Size
from ..functional import broadcast_tensors
from ..tensors.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .parameters import check_one_of, enumerated, expanded
from .utils import lazy_property, logits_to_probs, probs_to_logits

__all__ = ["Categorical"]


class Categorical(Distribution):
    """An index from 0 to K - 1, int64, by weights ``probs``, (..., K), or their logarithms ``logits``.

    They are normalized over the last dimension. ValueError unless exactly one is given, and for one without
    dimensions.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        check_one_of(probs, logits)
        if probs is not None:
            _check_vector("probs", probs)
            self.probs = self._param = probs / probs.sum(-1, keepdim=True)
        elif logits is not None:
            _check_vector("logits", logits)
            self.logits = self._param = logits - logsumexp(logits, dim=-1, keepdim=True)
        self._num_events = self._param.size()[-1]
        super().__init__(self._param.size()[:-1], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        names = ("probs", "logits", "_param")
        return expanded(
            self, Categorical, batch_shape, _instance, *names, event_dims=1, kept=("_num_events",)
        )

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        new: Tensor = self._param.new(*args, **kwargs)
        return new

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self._num_events - 1)

    @lazy_property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities."""
        return probs_to_logits(self.probs)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter, (..., K)."""
        return self._param.size()

    def _no_number(self) -> Tensor:
        return full(self._extended_shape(), math.nan, dtype=self.probs.dtype, device=self.probs.device)

    @property
    def mean(self) -> Tensor:
        return self._no_number()

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._no_number()

    def sample(self, sample_shape: Any = ()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.reshape(-1, self._num_events)
        drawn = multinomial(rows, sample_shape.numel(), True)
        return (drawn if drawn.size(0) == 1 else drawn.T).reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        value, logs = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logs.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        # What cannot happen adds nothing: 0 * -inf would be nan.
        return -(self.logits.clamp(min=finfo(self.logits.dtype).min) * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = arange(self._num_events, dtype=scalar_types.int64, device=self._param.device)
        return enumerated(self, values, expand)


def _check_vector(name: str, param: Tensor) -> None:
    if param.dim() < 1:
        raise ValueError(f"`{name}` parameter must be at least one-dimensional.")
