"""The geometric distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import exp, log, log1p, log_sigmoid, rand, where

from ..autograd.grad_mode import no_grad
from ..core.scalar_type import finfo
from ..nn.functional import binary_cross_entropy_with_logits
from ..tensors.tensor import Tensor
from . import constraints
from .parameters import BinaryParameters, Parameter, expanded
from .utils import broadcast_all

__all__ = ["Geometric"]


class Geometric(BinaryParameters):
    """How many trials fail before the first succeeds, each succeeding with the probability ``probs``.

    ``logits`` are its log odds, in its place. ValueError unless one of the two is given, and for a ``probs``
    of 0.
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self,
        probs: Parameter | None = None,
        logits: Parameter | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(self._set_odds(probs, logits), validate_args=validate_args)
        if self._validate_args and probs is not None:
            value = self.probs
            valid = value > 0
            if not valid.all():
                raise ValueError(
                    f"Expected parameter probs ({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} to be positive but found invalid values:\n{value[~valid]}"
                )

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, Geometric, batch_shape, _instance, "probs", "logits", "_param")

    @property
    def mean(self) -> Tensor:
        if self._by_logits:
            return exp(-self.logits)
        return (1 - self.probs) / self.probs

    @property
    def mode(self) -> Tensor:
        return self.probs.new_zeros(self.probs.shape)

    @property
    def variance(self) -> Tensor:
        return self.mean / self.probs

    def sample(self, sample_shape: Any = ()) -> Tensor:
        shape, probs = self._extended_shape(sample_shape), self.probs
        with no_grad():
            shares = rand(shape, dtype=probs.dtype, device=probs.device)
            return (log(shares.clamp(min=finfo(probs.dtype).tiny)) / log1p(-probs)).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        if self._by_logits:
            logits, value = broadcast_all(self.logits, value)
            return value * log_sigmoid(-logits) + log_sigmoid(logits)
        probs, value = broadcast_all(self.probs, value)
        # With probs of 1 all first trials succeed: 0 * log(0) is 0.
        failing = where((probs == 1) & (value == 0), 0, probs)
        return value * log1p(-failing) + log(probs)

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs
