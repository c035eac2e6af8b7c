"""The binomial distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import arange, binomial, exp, log_sigmoid

from ..autograd.grad_mode import no_grad
from ..tensors.tensor import Tensor
from . import constraints
from .log_gamma import log_binomial
from .parameters import CountedParameters, Parameter, enumerated

__all__ = ["Binomial"]


class Binomial(CountedParameters):
    """How many of ``total_count`` trials succeed, each with the probability ``probs``.

    ``logits`` are its log odds, in its place. Samples have the dtype of the parameter. ValueError unless one
    of the two is given.
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self,
        total_count: Tensor | int = 1,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        shape = self._set_counts(total_count, probs, logits)
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return self._with_batch_shape(Binomial, batch_shape, _instance)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        rest = self.total_count - value
        return log_binomial(value, rest, log_sigmoid(self.logits), log_sigmoid(-self.logits))

    def _common_count(self, method: str) -> int:
        """The count of all, as a number; NotImplementedError where they differ."""
        count = int(self.total_count.max())
        if int(self.total_count.min()) != count:
            raise NotImplementedError(f"Inhomogeneous total count not supported by `{method}`.")
        return count

    def entropy(self) -> Tensor:
        self._common_count("entropy")
        logs = self.log_prob(self.enumerate_support(False))
        return -(exp(logs) * logs).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._common_count("enumerate_support")
        values = arange(1 + count, dtype=self._param.dtype, device=self._param.device)
        return enumerated(self, values, expand)
