"""Whether forward mode is on, the tangents of a tensor by level, and the newest of them.

The levels themselves are in ``tengen.autograd.forward``.
"""

from __future__ import annotations

import threading
from typing import Any

from ..core.interception import Layer, active, layers
from ..core.thread_state import propagated
from .grad_mode import grad_mode


class ForwardMode(threading.local):
    """Whether tangents are computed in this thread."""

    enabled: bool = True

    def is_on(self) -> bool:
        """Whether tangents are computed here: not in inference mode."""
        return self.enabled and not grad_mode.inference


forward_mode = propagated(ForwardMode())


class DualLevel(Layer):
    """A layer at which tensors have tangents."""

    def tangent(self, tensor: Any) -> Any:
        """The tangent of a tensor at this level, or None."""
        raise NotImplementedError


class ForwardGrad:
    """The tangents of one tensor by level. None says that there is none, whatever the base has."""

    __slots__ = ("__weakref__", "tangents")

    def __init__(self) -> None:
        self.tangents: dict[DualLevel, Any] = {}


def levels() -> list[DualLevel]:
    """The levels of this thread, the newest last."""
    return [found for found in layers() if isinstance(found, DualLevel)]


def newest_tangent(tensor: Any) -> Any:
    """The tangent of a tensor at the newest level of this thread at which it has one, or None."""
    found = [level.tangent(tensor) for level in reversed(levels())] if forward_mode.is_on() else []
    return next((tangent for tangent in found if tangent is not None), None)


def is_differentiated(tensor: Any) -> bool:
    """Whether what is computed from a tensor will be differentiated, in reverse or forward mode."""
    recorded: bool = tensor._requires_grad and grad_mode.enabled
    return recorded or (bool(active) and newest_tangent(tensor) is not None)
