"""``check_sparse_tensor_invariants``: whether new sparse tensors are looked at closely."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from ..kernels.sparse.invariants import checking

__all__ = ["check_sparse_tensor_invariants"]


def __dir__() -> list[str]:
    return sorted(__all__)


P = ParamSpec("P")
R = TypeVar("R")


class check_sparse_tensor_invariants:
    """While it is entered, or enabled, the order of indices is checked where sparse tensors are made.

    ``check_sparse_tensor_invariants(enable=False)`` turns it off. A context manager, and a decorator of
    functions. Bounds and sizes are checked always. ``check_invariants`` of a call says so for that call.
    """

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.saved_state: bool | None = None

    @staticmethod
    def is_enabled() -> bool:
        """Whether they are checked."""
        return checking.enabled

    @staticmethod
    def enable() -> None:
        """Check from now on."""
        checking.enabled = True

    @staticmethod
    def disable() -> None:
        """Do not check from now on."""
        checking.enabled = False

    def __enter__(self) -> None:
        if self.saved_state is not None:
            raise RuntimeError(
                "This context manager instance is already activated. Use a different instance."
            )
        self.saved_state = checking.enabled
        checking.enabled = self.state

    def __exit__(self, *_: Any) -> None:
        assert self.saved_state is not None
        checking.enabled, self.saved_state = self.saved_state, None

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def checked(*args: P.args, **keywords: P.kwargs) -> R:
            with type(self)(self.state):
                return function(*args, **keywords)

        return checked
