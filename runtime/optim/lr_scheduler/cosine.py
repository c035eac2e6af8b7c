"""Schedules along a cosine."""

from __future__ import annotations

import math

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Value


class CosineAnnealingLR(LRScheduler):
    """The rate goes to ``eta_min`` in ``T_max`` epochs, along half a cosine, and back."""

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        epoch, half, low = self.last_epoch, self.T_max, self.eta_min
        if self._is_initial:
            return self._tengen_same()
        groups = self.optimizer.param_groups
        if self._step_count == 1 and epoch > 0:
            return [
                low + (base - low) * (1 + math.cos((epoch) * math.pi / half)) / 2 for base in self.base_lrs
            ]
        if (epoch - 1 - half) % (2 * half) == 0:  # at the bottom the quotient below is 0 / 0
            rise = 1 - math.cos(math.pi / half)
            return [
                group["lr"] + (base - low) * rise / 2
                for base, group in zip(self.base_lrs, groups, strict=True)
            ]
        ratio = (1 + math.cos(math.pi * epoch / half)) / (1 + math.cos(math.pi * (epoch - 1) / half))
        return [ratio * (group["lr"] - low) + low for group in groups]

    def _get_closed_form_lr(self) -> list[Value]:
        height = 1 + math.cos(math.pi * self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate goes down to ``eta_min`` along half a cosine, and begins anew from the initial one.

    The first time it takes ``T_0`` epochs, then ``T_mult`` times as many each time. ``step`` may be given an
    epoch with a fraction. ValueError for a ``T_0`` that is no positive int, a ``T_mult`` that is no int of at
    least 1, and an ``eta_min`` that is no number.
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if not isinstance(T_0, int) or T_0 <= 0:
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if not isinstance(T_mult, int) or T_mult < 1:
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = T_0
        self.T_i: float = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``T_cur`` of ``T_i`` epochs since the last restart."""
        self._tengen_warn_outside_of_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Go on to the next epoch, or to ``epoch``, a number. ValueError if it is negative."""
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        elif epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        else:
            self._find(epoch)
        self.last_epoch = math.floor(epoch)
        with self._tengen_computing():
            values = self.get_lr()
        self._tengen_set(values)

    def _find(self, epoch: float) -> None:
        """Find out in which of the falls an epoch is, and where."""
        first, times = self.T_0, self.T_mult
        if epoch < first:
            self.T_i, self.T_cur = first, epoch
        elif times == 1:
            self.T_cur = epoch % first
        else:
            falls = int(math.log(epoch / first * (times - 1) + 1, times))
            self.T_cur = epoch - first * (times**falls - 1) / (times - 1)
            self.T_i = first * times**falls
