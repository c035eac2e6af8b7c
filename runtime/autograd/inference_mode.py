"""Inference mode: tensors made inside have the plain Type and can never be part of a graph."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from tengen.autograd.grad_mode import ContextDecorator, grad_mode


def is_inference_mode_enabled() -> bool:
    """Whether this thread is inside ``inference_mode``."""
    return grad_mode.inference


class inference_mode(ContextDecorator):  # the user's spelling
    """Nothing is recorded, and new tensors have Types that do not know how to record.

    ``with inference_mode(): ...``, ``@inference_mode()``, ``@inference_mode``;
    ``inference_mode(False)`` suspends it, and records.
    """

    def __new__(cls, mode: bool | Callable[..., Any] = True) -> Any:
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = True
        return made(mode)

    def __init__(self, mode: bool = True) -> None:
        self.mode = mode

    def __enter__(self) -> None:
        self.previous = grad_mode.inference, grad_mode.enabled
        grad_mode.inference = self.mode
        grad_mode.enabled = not self.mode

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        grad_mode.inference, grad_mode.enabled = self.previous

    def clone(self) -> inference_mode:
        cloned: inference_mode = type(self)(self.mode)
        return cloned
