"""CyclicLR: the rates go up and down."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from ..optimizer import Optimizer
from .momentum import begin_momentum, set_momentum, uses_beta1
from .scheduler import LRScheduler, Value, check_optimizer, for_each_group, set_value

_MODES = ("triangular", "triangular2", "exp_range")


class CyclicLR(LRScheduler):
    """The rate goes from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and back in ``step_size_down``.

    Step it after each batch. ``mode`` says what the height is multiplied by: "triangular" 1; "triangular2"
    1/2 for each cycle; "exp_range" ``gamma**step``; or ``scale_fn`` does, a function of the cycle, or
    as ``scale_mode`` says of the step ("iterations"). With ``cycle_momentum`` the momentum, or Adam's first
    beta, goes from ``max_momentum`` to ``base_momentum`` and back. What may differ between groups may be a
    list.

    ValueError for an unknown mode, lists of other lengths, and an optimiser without momentum; TypeError for
    what is no optimiser.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float = 0.8,
        max_momentum: float = 0.9,
        last_epoch: int = -1,
    ) -> None:
        check_optimizer(optimizer)
        if mode not in _MODES and scale_fn is None:
            raise ValueError(f"mode is invalid and scale_fn is None: got {mode!r}, expected one of {_MODES}")
        self.optimizer = optimizer
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1 = uses_beta1(optimizer)
        base_lrs = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for lr, group in zip(base_lrs, optimizer.param_groups, strict=True):
                set_value(group, "lr", lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else _scale_mode(mode)
        if cycle_momentum:
            self.base_momentums, self.max_momentums = begin_momentum(
                optimizer, self.use_beta1, base_momentum, max_momentum, last_epoch
            )
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """What the height of a cycle is multiplied by; ``x`` is its number, or that of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        found: float = 1 / 2.0 ** (x - 1) if self.mode == "triangular2" else self.gamma**x
        return found

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``; the momenta are changed at once."""
        self._tengen_warn_outside_of_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        part = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            ranges = zip(self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True)
            for group, low, high in ranges:
                set_momentum(group, self.use_beta1, high - (high - low) * part * scale)
        return [
            low + (high - low) * part * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser; of ``scale_fn`` only those of a callable object are saved."""
        found = super().state_dict()
        function = found["_scale_fn_custom"]
        plain = function is None or isinstance(function, types.FunctionType)
        found["_scale_fn_custom"] = None if plain else function.__dict__.copy()
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned."""
        attributes = state_dict["_scale_fn_custom"]
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        if attributes is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(attributes)


def _scale_mode(mode: str) -> str:
    return "iterations" if mode == "exp_range" else "cycle"
