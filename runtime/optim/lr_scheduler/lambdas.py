"""Schedules by functions of the user's."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

from ..optimizer import Optimizer
from .scheduler import LRScheduler, Value

Function = Callable[[int], float]


class _ByFunctions(LRScheduler):
    """A schedule by a function for each group."""

    lr_lambdas: list[Function]

    def __init__(
        self, optimizer: Optimizer, lr_lambda: Function | Sequence[Function], last_epoch: int = -1
    ) -> None:
        groups = len(optimizer.param_groups)
        functions: Any = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda] * groups
        if len(functions) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(functions)}")
        self.lr_lambdas = list(functions)
        self._check()
        super().__init__(optimizer, last_epoch)

    def _check(self) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        """All attributes but the optimiser; of the functions, only those of callable objects are saved."""
        found = super().state_dict()
        found["lr_lambdas"] = [
            None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in self.lr_lambdas
        ]
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict()`` returned."""
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for function, attributes in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if attributes is not None:
                function.__dict__.update(attributes)


class LambdaLR(_ByFunctions):
    """The initial rate times ``lr_lambda(epoch)``, a function, or a list with one for each group."""

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        return [
            base * function(self.last_epoch)
            for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_ByFunctions):
    """The rate is multiplied by ``lr_lambda(epoch)``, a function, or a list with one for each group.

    TypeError for what cannot be called.
    """

    def _check(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(f"lr_lambda should be a function, but got {type(function).__name__}")

    def get_lr(self) -> list[Value]:
        """The rates for ``last_epoch``."""
        self._tengen_warn_outside_of_step()
        if self._is_initial:
            return self._tengen_same()
        return [
            group["lr"] * function(self.last_epoch)
            for function, group in zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        ]
