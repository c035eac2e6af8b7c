"""What concrete distributions do with their parameters: take, expand and turn them into each other."""

from __future__ import annotations

from typing import Any

from ..core.size import Size
from ..tensors.tensor import Tensor
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, logits_to_probs, probs_to_logits

#: What a parameter may be: a tensor, or a number, which is of the default dtype where no tensor is with it.
Parameter = Tensor | float


def expanded(
    self: Any,
    owner: type[Distribution],
    batch_shape: Any,
    instance: Any,
    *names: str,
    event_dims: int | None = None,
    kept: tuple[str, ...] = (),
) -> Any:
    """``instance``, or a new distribution of the class of ``self``, with parameters of the new batch shape.

    ``names`` are those of tensors, of which those that ``self`` holds are expanded in all dimensions but the
    last ``event_dims``, by default as many as events have, or of distributions, which are expanded
    themselves. What ``kept`` names is handed on. NotImplementedError where ``owner``, the class with this
    ``expand``, has a subclass with another ``__init__`` and no ``expand``.
    """
    new = self._get_checked_instance(owner, instance)
    batch_shape, event_shape = Size(batch_shape), self._event_shape
    dims = len(event_shape) if event_dims is None else event_dims
    held, made = self.__dict__, {}
    for name in names:
        value = held.get(name)
        if value is None:
            continue
        if id(value) not in made:  # one parameter may have two names
            rest = () if isinstance(value, Distribution) else value.shape[value.dim() - dims :]
            made[id(value)] = value.expand((*batch_shape, *rest))
        new.__dict__[name] = made[id(value)]
    for name in kept:
        new.__dict__[name] = held[name]
    Distribution.__init__(new, batch_shape, event_shape, validate_args=False)
    new._validate_args = self._validate_args
    return new


def enumerated(self: Distribution, values: Tensor, expand: bool) -> Tensor:
    """All values of a support, (count, *event_shape), for each distribution of a batch.

    With ``expand`` (count, *batch_shape, *event_shape), else with batch dimensions of size 1.
    """
    count, batch, event = values.shape[:1], self._batch_shape, self._event_shape
    values = values.view((*count, *(1,) * len(batch), *event))
    return values.expand((*count, *batch, *event)) if expand else values


def check_one_of(probs: Any, logits: Any) -> None:
    """ValueError unless exactly one is given."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


class BinaryParameters(Distribution):
    """A distribution with ``probs`` in [0, 1], or in their place ``logits``, their log odds."""

    _param: Tensor

    def _set_odds(self, probs: Parameter | None, logits: Parameter | None) -> Size:
        """Keep the one that is given, and return its shape. ValueError unless exactly one is."""
        check_one_of(probs, logits)
        (param,) = broadcast_all(logits if probs is None else probs)
        return self._keep(param, probs is None)

    def _keep(self, param: Tensor, by_logits: bool) -> Size:
        self.__dict__["logits" if by_logits else "probs"] = self._param = param
        return param.size()

    @property
    def _by_logits(self) -> bool:
        """Whether the logits were given, and not only computed since."""
        return self._param is self.__dict__.get("logits")

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds."""
        return probs_to_logits(self.probs, is_binary=True)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return logits_to_probs(self.logits, is_binary=True)

    @property
    def param_shape(self) -> Size:
        """The shape of the parameter."""
        return self._param.size()

    def _new(self, *args: Any, **kwargs: Any) -> Tensor:
        new: Tensor = self._param.new(*args, **kwargs)
        return new


class CountedParameters(BinaryParameters):
    """The same with ``total_count`` trials."""

    def _set_counts(self, total_count: Parameter, probs: Parameter | None, logits: Parameter | None) -> Size:
        """Keep both, broadcast, and return their shape. ValueError unless one of the last two is given."""
        check_one_of(probs, logits)
        count, param = broadcast_all(total_count, logits if probs is None else probs)
        self.total_count = count.type_as(param)
        return self._keep(param, probs is None)

    def _with_batch_shape(self, owner: type[Distribution], batch_shape: Any, instance: Any) -> Any:
        return expanded(self, owner, batch_shape, instance, "total_count", "probs", "logits", "_param")
