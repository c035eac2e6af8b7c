"""Mixtures: a component is drawn, then a sample of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tengen.generated.functions import gather, log_softmax, logsumexp

from ..autograd.grad_mode import no_grad
from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last batch dimension of ``component_distribution``, of K.

    ``mixture_distribution``, a Categorical over K, says how often each is drawn; its batch shape broadcasts
    to the rest of the components'. ValueError where the two do not fit, or are no such distributions.
    """

    arg_constraints: Any = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                "The Mixture distribution needs to be an instance of distributions.Categorical, "
                f"not {type(mixture_distribution).__name__}"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of distributions.Distribution, "
                f"not {type(component_distribution).__name__}"
            )
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        odds, batch = mixture_distribution.batch_shape, component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(odds), reversed(batch), strict=False):
            if one not in (1, other) and other != 1:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({odds}) is not compatible with "
                    f"`component_distribution.batch_shape`({batch})"
                )
        count, components = mixture_distribution.logits.shape[-1], component_distribution.batch_shape[-1]
        if count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args=validate_args)

    def expand(self, batch_shape: Iterable[int], _instance: Any = None) -> Any:
        new = self._get_checked_instance(MixtureSameFamily, _instance)
        batch_shape = Size(batch_shape)
        new._component_distribution = self._component_distribution.expand((*batch_shape, self._num_component))
        new._mixture_distribution = self._mixture_distribution.expand(batch_shape)
        new._num_component = self._num_component
        new._event_ndims = self._event_ndims
        super(MixtureSameFamily, new).__init__(batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @constraints.dependent_property
    def support(self) -> Any:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """How often each component is drawn."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, along the last batch dimension."""
        return self._component_distribution

    def _averaged(self, values: Tensor) -> Tensor:
        """The mean over the components of a value that each has, of shape ``batch + (K,) + event``."""
        odds = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (odds * values).sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Tensor:
        return self._averaged(self.component_distribution.mean)

    @property
    def variance(self) -> Tensor:
        # The mean of the variances, and the variance of the means.
        away = self.component_distribution.mean - self._pad(self.mean)
        return self._averaged(self.component_distribution.variance) + self._averaged(away.pow(2.0))

    def cdf(self, x: Tensor) -> Tensor:
        below = self.component_distribution.cdf(self._pad(x))
        return (below * self.mixture_distribution.probs).sum(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(x)
        found = self.component_distribution.log_prob(self._pad(x))
        return logsumexp(found + log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape: Iterable[int] = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        with no_grad():
            chosen = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            dim = len(sample_shape) + len(self.batch_shape)
            missing = dim - chosen.dim()
            chosen = chosen.reshape((*sample_shape, *[1] * missing, *chosen.shape[len(sample_shape) :]))
            chosen = chosen.reshape((*chosen.shape, *[1] * (1 + self._event_ndims)))
            chosen = chosen.expand((*drawn.shape[:dim], 1, *self.event_shape))
            return gather(drawn, dim, chosen).squeeze(dim)

    def _pad(self, x: Tensor) -> Tensor:
        """A value with a dimension for the components."""
        return x.unsqueeze(-1 - self._event_ndims)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        """What the mixture has for each component, with dimensions for the events."""
        return x.reshape((*x.shape, *[1] * self._event_ndims))

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
