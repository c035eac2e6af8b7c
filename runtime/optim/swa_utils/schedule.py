"""SWALR: a learning rate that goes to a constant one."""

from __future__ import annotations

import math
from typing import Any

from ..lr_scheduler.scheduler import LRScheduler, Value, for_each_group
from ..optimizer import Optimizer

__all__ = ["SWALR"]


class SWALR(LRScheduler):
    """The rate of each group goes to ``swa_lr`` in ``anneal_epochs`` epochs, and stays.

    ``swa_lr`` is a number, or a list of one for each group; ``anneal_strategy`` says how it goes there:
    ``"cos"`` along half a cosine, or ``"linear"``. ValueError for another strategy, for ``anneal_epochs``
    that is no int of at least 0, and for a list of another length.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        rates = for_each_group("swa_lr", optimizer, swa_lr)
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["swa_lr"] = rate
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for the epoch that this step begins."""
        self._tengen_warn_outside_of_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._way(step - 1), self._way(step)
        return [
            group["swa_lr"] * now + _start(group["lr"], group["swa_lr"], before) * (1 - now)
            for group in self.optimizer.param_groups
        ]

    def _way(self, step: int) -> float:
        """How much of the way is done after a step, from 0 to 1."""
        part = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2


def _start(rate: Value, end: Value, way: float) -> Value:
    """The rate at the start of the way, of what it is now."""
    return end if way == 1 else (rate - way * end) / (1 - way)
