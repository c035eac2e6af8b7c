"""How an average of parameters moves: all models alike, or the last ones most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...autograd.grad_mode import no_grad
from ...tensors.tensor import Tensor

Count: TypeAlias = Tensor | int
#: The average anew, of the average, the parameter and the number of models in the average.
Average: TypeAlias = Callable[[Tensor, Tensor, Any], Tensor]
#: The same for lists of averages, which it changes, and parameters.
MultiAverage: TypeAlias = Callable[[Sequence[Tensor], Sequence[Tensor], Any], None]


def get_ema_multi_avg_fn(decay: float = 0.999) -> MultiAverage:
    """A function that moves averages to ``decay * average + (1 - decay) * parameter``, in place.

    It takes a list of averages, one of parameters, and a number of models that it does not use. ValueError
    for ``decay`` outside of [0, 1].
    """
    _check_decay(decay)

    def ema_update(ema_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], _: Any) -> None:
        with no_grad():
            for average, param in zip(ema_param_list, current_param_list, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(param, 1 - decay)
                else:
                    average.copy_(average * decay + param * (1 - decay))

    return ema_update


def get_swa_multi_avg_fn() -> MultiAverage:
    """A function that moves averages by ``(parameter - average) / (num_averaged + 1)``, in place.

    It takes a list of averages, one of parameters, and the number of models in the averages.
    """

    def swa_update(
        averaged_param_list: Sequence[Tensor], current_param_list: Sequence[Tensor], num_averaged: Count
    ) -> None:
        count = _number(num_averaged) + 1
        with no_grad():
            for average, param in zip(averaged_param_list, current_param_list, strict=True):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(param, 1 / count)
                else:
                    average.copy_(average + (param - average) / count)

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> Average:
    """A function that returns ``decay * average + (1 - decay) * parameter``.

    It takes the average, the parameter, and a number of models that it does not use. ValueError for ``decay``
    outside of [0, 1].
    """
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_swa_avg_fn() -> Average:
    """A function that returns ``average + (parameter - average) / (num_averaged + 1)``."""

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Count) -> Tensor:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def _number(count: Count) -> int:
    return int(count.item()) if isinstance(count, Tensor) else count


def _check_decay(decay: float) -> None:
    """Raise ValueError for a decay outside of [0, 1]."""
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")
