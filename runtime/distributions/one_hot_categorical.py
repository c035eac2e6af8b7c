"""The categorical distribution of vectors with a single 1."""

from __future__ import annotations

from typing import Any

from tengen.generated.functions import eye
from tengen.generated.nn_functions import one_hot

from ..core.size import Size
from ..tensors.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution
from .parameters import enumerated, expanded

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OfCategorical(Distribution):
    """A distribution of vectors of K elements, made of a categorical one, whose parameters are its own."""

    _categorical: Categorical

    def _set_categorical(self, probs: Tensor | None, logits: Tensor | None) -> tuple[Size, Size]:
        """Keep a Categorical, and return the shapes of the batch and of an event."""
        self._categorical = Categorical(probs, logits)
        shape = self._categorical.param_shape
        return shape[:-1], shape[-1:]

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        return self._categorical._new(*args, **kwargs)

    @property
    def probs(self) -> Tensor:
        """The probabilities, (..., K)."""
        return self._categorical.probs

    @property
    def logits(self) -> Tensor:
        """The logarithms of the probabilities, (..., K)."""
        return self._categorical.logits

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter, (..., K)."""
        return self._categorical.param_shape


class OneHotCategorical(OfCategorical):
    """Vectors of which one element is 1 and the others are 0, by ``probs``, (..., K), or ``logits``.

    Samples have the dtype of the parameter. ValueError unless exactly one of the two is given.
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | None = None,
        logits: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        super().__init__(*self._set_categorical(probs, logits), validate_args=validate_args)

    def expand(self, batch_shape: Any, _instance: Any = None) -> Any:
        return expanded(self, OneHotCategorical, batch_shape, _instance, "_categorical")

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    def _one_hot(self, indices: Tensor) -> Tensor:
        return one_hot(indices, self._categorical._num_events).to(self.probs)

    @property
    def mean(self) -> Tensor:
        return self.probs

    @property
    def mode(self) -> Tensor:
        return self._one_hot(self.probs.argmax(-1))

    @property
    def variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape: Any = ()) -> Tensor:
        return self._one_hot(self._categorical.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        return self._categorical.log_prob(value.argmax(-1))

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._event_shape[0]
        values = eye(count, dtype=self._param.dtype, device=self._param.device)
        return enumerated(self, values, expand)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """A OneHotCategorical whose samples have the gradient that ``probs`` would have in their place."""

    has_rsample = True

    def rsample(self, sample_shape: Any = ()) -> Tensor:
        samples, probs = self.sample(sample_shape), self.probs
        return samples + (probs - probs.detach())
