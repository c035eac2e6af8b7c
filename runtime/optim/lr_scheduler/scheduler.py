"""LRScheduler: what all schedules share."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from ..optimizer import Group, Optimizer, scalar

#: A learning rate, a momentum: a number, or a tensor of one element.
Value = Any

EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where possible. "
    "Please use `scheduler.step()` to step the scheduler. During the deprecation, if epoch is different from "
    "None, the closed form is used instead of the new chainable form, where available."
)


class LRScheduler:
    """Changes the learning rates of an optimiser's groups, once for each call of ``step``.

    A subclass has ``get_lr``, which gives the rates for the epoch ``last_epoch``. With ``last_epoch=-1`` the
    schedule begins, and ``initial_lr`` of each group is its rate now; otherwise it goes on behind that epoch,
    and KeyError when a group has no ``initial_lr``. TypeError for what is no optimiser.
    """

    optimizer: Optimizer
    base_lrs: list[Value]
    last_epoch: int
    _last_lr: list[Value]
    _step_count: int
    _get_lr_called_within_step: bool = False
    _is_initial: bool = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for number, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", copied(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{number}] when resuming scheduler "
                    "with last_epoch >= 0. This typically happens when the optimizer's state was not loaded, "
                    "or with last_epoch >= 0 for a fresh training run."
                )
        self.base_lrs = values_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _note_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned."""
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Value]:
        """The rates of the groups since the last step."""
        return self._last_lr

    def get_lr(self) -> list[Value]:
        """The rates of the groups for the epoch ``last_epoch``; for ``step`` to call."""
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go on to the next epoch, or (deprecated) to ``epoch``."""
        if self._step_count == 1:
            self._tengen_check_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(EPOCH_WARNING, UserWarning, stacklevel=program_stacklevel())
        self._update_lr(epoch)

    def _tengen_check_order(self) -> None:
        """Warn when the optimiser has not had a step since the schedule began."""
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before `lr_scheduler.step()`.",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. You should call them in "
                "the opposite order: `optimizer.step()` before `lr_scheduler.step()`. Failure to do this "
                "will result in skipping the first value of the learning rate schedule.",
                UserWarning,
                stacklevel=program_stacklevel(),
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        with self._tengen_computing():
            closed = None
            if epoch is None:
                self.last_epoch += 1
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", None)
            values = self.get_lr() if closed is None else closed()
        self._tengen_set(values)

    @contextmanager
    def _tengen_computing(self) -> Iterator[None]:
        """``get_lr`` is called by the step."""
        self._get_lr_called_within_step = True
        try:
            yield
        finally:
            self._get_lr_called_within_step = False

    def _tengen_set(self, values: list[Value]) -> None:
        """Give the groups their rates."""
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", value)
        self._last_lr = values_of(self.optimizer, "lr")

    def _tengen_warn_outside_of_step(self) -> None:
        """Warn when ``get_lr`` was called by a user."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=program_stacklevel(),
            )

    def _tengen_times(self, factor: Value) -> list[Value]:
        """The rates now, multiplied."""
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _tengen_same(self) -> list[Value]:
        """The rates now."""
        return values_of(self.optimizer, "lr")


def check_optimizer(optimizer: Any) -> None:
    """Raise TypeError for what is no optimiser."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def copied(value: Value) -> Value:
    """The value, a tensor's own copy."""
    return value.clone() if isinstance(value, Tensor) else value


def values_of(optimizer: Optimizer, key: str) -> list[Value]:
    """An option of all groups."""
    return [copied(group[key]) for group in optimizer.param_groups]


def set_value(group: Group, key: str, value: Value) -> None:
    """Change an option of a group; in place where it is a tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(scalar(value))
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Value]:
    """A value for each group: of a list its own, else the same. ValueError for a list of another length."""
    groups = optimizer.param_groups
    if not isinstance(value, (list, tuple)):
        return [copied(value) for _ in groups]
    if len(value) != len(groups):
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has {len(value)} values, "
            f"param_groups has {len(groups)}."
        )
    return [copied(v) for v in value]


def _note_steps(optimizer: Optimizer) -> None:
    """Let the optimiser remember that its ``step`` was called."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function: Callable[..., Any] = optimizer.step.__func__  # type: ignore[attr-defined]
    known = weakref.ref(optimizer)  # the method must not keep the optimiser alive

    @wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        found: Any = known()
        found._opt_called = True
        return function(found, *args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]
