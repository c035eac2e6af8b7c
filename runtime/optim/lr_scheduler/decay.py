"""Schedules by which the rates fall, or rise, in simple steps."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Value


class StepLR(LRScheduler):
    """The rate is multiplied by ``gamma`` every ``step_size`` epochs."""

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._tengen_same()
        return self._tengen_times(self.gamma)

    def _get_closed_form_lr(self) -> list[Value]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """The rate is multiplied by ``gamma`` at each epoch in ``milestones``; twice if it is there twice."""

    def __init__(
        self, optimizer: Optimizer, milestones: Iterable[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        if self.last_epoch not in self.milestones:
            return self._tengen_same()
        return self._tengen_times(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[Value]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The initial rate times ``factor``, and from the epoch ``total_iters`` on the initial rate.

    ValueError for a factor that is not between 0 and 1.
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError(
                f"Constant multiplicative factor expected to be between 0 and 1, but got {factor}."
            )
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        if self.last_epoch == 0:
            return self._tengen_times(self.factor)
        if self.last_epoch != self.total_iters:
            return self._tengen_same()
        return self._tengen_times(1.0 / self.factor)

    def _get_closed_form_lr(self) -> list[Value]:
        factor = self.factor + (self.last_epoch >= self.total_iters) * (1 - self.factor)
        return [base * factor for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The initial rate times what goes from ``start_factor`` to ``end_factor`` in ``total_iters`` epochs.

    ValueError for factors that are not between 0 and 1, and for a ``start_factor`` of 0.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal to 1, but "
                f"got {start_factor}."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError(
                f"Ending multiplicative factor expected to be between 0 and 1, but got {end_factor}."
            )
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        if self.last_epoch == 0:
            return self._tengen_times(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._tengen_same()
        change = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * change
        return self._tengen_times(1.0 + change / before)

    def _get_closed_form_lr(self) -> list[Value]:
        change = self.end_factor - self.start_factor
        part = min(self.total_iters, self.last_epoch)
        return [base * (self.start_factor + change * part / self.total_iters) for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """The rate is multiplied by ``gamma`` every epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        return self._tengen_same() if self._is_initial else self._tengen_times(self.gamma)

    def _get_closed_form_lr(self) -> list[Value]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """The initial rate times ``(1 - epoch / total_iters) ** power``; 0 from the epoch ``total_iters`` on."""

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._tengen_same()
        now, before = 1.0 - self.last_epoch / self.total_iters, 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._tengen_times((now / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Value]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]
