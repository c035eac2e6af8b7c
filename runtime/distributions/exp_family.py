"""Exponential families: densities ``exp(<t(x), eta> - F(eta) + k(x))``, of which F gives entropies."""

from __future__ import annotations

from ..autograd import grad
from ..tensors.tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with natural parameters ``eta`` and a log normalizer ``F``.

    Subclasses give ``_natural_params``, ``_log_normalizer``, and in ``_mean_carrier_measure`` the mean of
    ``k(x)``.
    """

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        """The tensors ``eta``."""
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """``F(eta)``, of shape ``batch_shape``."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        """The mean of ``k(x)``."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """``F(eta) - <eta, dF/deta> - E k(x)``, of shape ``batch_shape``; no gradients to the parameters."""
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        # The means of t(x), by the derivative of F.
        means = grad(normalizer.sum(), params, create_graph=True)
        result = normalizer - self._mean_carrier_measure
        for param, mean in zip(params, means, strict=True):
            result = result - (param * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return result
