"""What the schedules that also change momentum share."""

from __future__ import annotations

from typing import Any

from ..optimizer import Group, Optimizer
from .scheduler import Value, for_each_group


def uses_beta1(optimizer: Optimizer) -> bool:
    """Whether an optimiser's momentum is the first of its ``betas``. ValueError when it has none."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
    return "betas" in optimizer.defaults


def set_momentum(group: Group, beta1: bool, value: Value) -> None:
    """Change the momentum of a group."""
    if beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


def begin_momentum(
    optimizer: Optimizer, beta1: bool, base_momentum: Any, max_momentum: Any, last_epoch: int
) -> tuple[list[Value], list[Value]]:
    """The lowest and the highest momentum of each group; noted in it, and set, when the schedule begins."""
    lowest = for_each_group("base_momentum", optimizer, base_momentum)
    highest = for_each_group("max_momentum", optimizer, max_momentum)
    if last_epoch == -1:
        for group, low, high in zip(optimizer.param_groups, lowest, highest, strict=True):
            set_momentum(group, beta1, high)
            group["max_momentum"] = high
            group["base_momentum"] = low
    return lowest, highest
