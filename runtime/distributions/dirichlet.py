"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import _sample_dirichlet, digamma, lgamma, where, xlogy
from tengen.generated.nn_functions import one_hot

from ..tensors.tensor import Tensor
from . import constraints
from .exp_family import ExponentialFamily
from .parameters import expanded

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """The Dirichlet distribution of shares that sum to 1, with a ``concentration`` for each, (..., K).

    ValueError for a concentration without dimensions.
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, Dirichlet, batch_shape, _instance, "concentration")

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        above = (self.concentration - 1).clamp(min=0)
        mode = above / above.sum(-1, True)
        # Where no density has an inner maximum, a corner: that of the first.
        corner = one_hot(above.argmax(-1), above.shape[-1]).to(mode)
        return where((self.concentration < 1).all(-1, True), corner, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        return _sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        powers = xlogy(self.concentration - 1, value).sum(-1)
        return powers + lgamma(self.concentration.sum(-1)) - lgamma(self.concentration).sum(-1)

    def entropy(self) -> Tensor:
        count, total = self.concentration.shape[-1], self.concentration.sum(-1)
        normalizer = lgamma(self.concentration).sum(-1) - lgamma(total)
        logs = ((self.concentration - 1) * digamma(self.concentration)).sum(-1)
        return normalizer + (total - count) * digamma(total) - logs

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:
        return lgamma(x).sum(-1) - lgamma(x.sum(-1))
