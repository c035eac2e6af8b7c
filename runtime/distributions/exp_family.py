"""Exponential families: densities ``exp(<t(x), eta> - F(eta) + k(x))``, of which F gives entropies."""

from __future__ import annotations

from typing import Any

from ..autograd import grad
from ..autograd.grad_mode import enable_grad, is_grad_enabled
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

    def _log_normalizer(self, *natural_params: Any, **keywords: Any) -> Tensor:
        """``F(eta)``, of shape ``batch_shape``."""
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float | Tensor:
        """The mean of ``k(x)``."""
        raise NotImplementedError

    def _moments(self) -> tuple[list[Tensor], Tensor, tuple[Tensor, ...]]:
        """``eta``, ``F(eta)`` and its derivatives, the means of ``t(x)``; with gradients if ``eta`` has."""
        given = self._natural_params
        wanted = is_grad_enabled() and any([p.requires_grad for p in given])
        with enable_grad():
            # Views, so that none is made of another.
            params = [p.view_as(p) if wanted and p.requires_grad else _leaf(p) for p in given]
            normalizer = self._log_normalizer(*params)
            means = grad(normalizer.sum(), params, create_graph=wanted)
        if wanted:
            return params, normalizer, means
        return [p.detach() for p in params], normalizer.detach(), means

    def entropy(self) -> Tensor:
        """``F(eta) - <eta, dF/deta> - E k(x)``, of shape ``batch_shape``."""
        params, normalizer, means = self._moments()
        result = normalizer - self._mean_carrier_measure
        for param, mean in zip(params, means, strict=True):
            result = result - (param * mean).reshape((*self._batch_shape, -1)).sum(-1)
        return result


def _leaf(param: Tensor) -> Tensor:
    return param.detach().requires_grad_()
