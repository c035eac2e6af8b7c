"""OneCycleLR: up once and down, by Smith's and Topin's one-cycle policy."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from ..optimizer import Group, Optimizer
from .momentum import begin_momentum, set_momentum, uses_beta1
from .scheduler import LRScheduler, Value, check_optimizer, for_each_group


class _Phase(NamedTuple):
    """Until which step, and between which options of the groups."""

    end_step: float
    start_lr: str
    end_lr: str
    start_momentum: str
    end_momentum: str


class OneCycleLR(LRScheduler):
    """The rate goes from ``max_lr / div_factor`` to ``max_lr``, and then far down.

    Step it after each batch: ``total_steps`` times, or ``epochs * steps_per_epoch``, of which the part
    ``pct_start`` goes up. It ends at the initial rate over ``final_div_factor``; with ``three_phase`` it
    comes back to the initial rate in as many steps as it went up. ``anneal_strategy`` is "cos" or "linear".
    With ``cycle_momentum`` the momentum, or Adam's first beta, goes from ``max_momentum`` to
    ``base_momentum`` and back. What may differ between groups may be a list.

    ValueError for numbers of steps that are no positive ints, or are not given, for other numbers out of
    range, and for an optimiser without momentum; TypeError for what is no optimiser. A step beyond the last
    is a ValueError.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if not isinstance(pct_start, float) or pct_start < 0 or pct_start > 1:
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._schedule_phases = [p._asdict() for p in _phases(self.total_steps, pct_start, three_phase)]
        self._anneal_func_type = anneal_strategy
        highest = for_each_group("max_lr", optimizer, max_lr)
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highest, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            begin_momentum(optimizer, self.use_beta1, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``; the momenta are changed at once. ValueError beyond the last step."""
        self._tengen_warn_outside_of_step()
        if self.last_epoch > self.total_steps:
            raise ValueError(
                f"Tried to step {self.last_epoch} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        phase, part = self._place()
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group, phase["start_lr"], phase["end_lr"], part))
            if self.cycle_momentum:
                momentum = self._between(group, phase["start_momentum"], phase["end_momentum"], part)
                set_momentum(group, self.use_beta1, momentum)
        return rates

    def _place(self) -> tuple[dict[str, Any], float]:
        """The phase, and how much of it is over."""
        begin = 0.0
        for phase in self._schedule_phases[:-1]:
            if self.last_epoch <= phase["end_step"]:
                break
            begin = phase["end_step"]
        else:
            phase = self._schedule_phases[-1]
        return phase, (self.last_epoch - begin) / (phase["end_step"] - begin)

    def _between(self, group: Group, start: str, end: str, part: float) -> Value:
        first, last = group[start], group[end]
        if self._anneal_func_type == "linear":
            return (last - first) * part + first
        return last + (first - last) / 2.0 * (math.cos(math.pi * part) + 1)


def _total(total_steps: Any, epochs: Any, steps_per_epoch: Any) -> int:
    """The number of steps."""
    if total_steps is not None:
        return _positive("total_steps", total_steps)
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    return _positive("epochs", epochs) * _positive("steps_per_epoch", steps_per_epoch)


def _positive(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"Expected positive integer {name}, but got {value}")
    return value


def _phases(total: int, up: float, three: bool) -> list[_Phase]:
    turn = float(up * total) - 1
    rise = _Phase(turn, "initial_lr", "max_lr", "max_momentum", "base_momentum")
    if not three:
        return [rise, _Phase(total - 1, "max_lr", "min_lr", "base_momentum", "max_momentum")]
    back = float(2 * up * total) - 2
    return [
        rise,
        _Phase(back, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
        _Phase(total - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
    ]
