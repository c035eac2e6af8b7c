"""Gradients that meet at a Node and are cheaper to sum before they are computed to the end.

What many steps send to one small parameter is often of a larger shape, to be reduced, or a product
whose factors can be joined with those of the next. Such a gradient waits beside the buffers, takes
in what comes after it, and is formed when its Node runs, or before anything could change what it
is made of.
"""

from __future__ import annotations

from typing import Any, Protocol

from tengen.autograd.input_buffer import Buffers, add_arrays, deliver
from tengen.autograd.input_metadata import broadcasts_to

Shape = tuple[int, ...]

#: Larger arrays are reduced at once: memory is what they cost, not calls.
_SMALL = 1 << 14


class Deferred(Protocol):
    """A sum that is not formed yet; kernels may give Nodes one in place of an array.

    ``dtype`` is None: it says that this is no array.
    """

    shape: Shape
    dtype: None

    def join(self, other: Any) -> bool:
        """Add an array or another such sum, if that is of the same making."""

    def total(self) -> Any:
        """The array. It is asked for once, and last."""


class Unreduced:
    """Arrays of one shape whose sum is to be reduced to the shape of ``target``."""

    __slots__ = ("held", "target")

    def __init__(self, value: Any, target: Any) -> None:
        self.held = {0: value}
        self.target = target

    def join(self, other: Any) -> bool:
        held = self.held
        if other.shape != held[0].shape or other.dtype is not held[0].dtype:
            return False
        add_arrays(self.target.type.backend.lib, held, 0, other)
        return True

    def total(self) -> Any:
        return self.target.type.backend.lib.sum_to(self.held.pop(0), self.target.shape)


def defer(deferred: dict[Any, Any], target: Any, value: Any) -> bool:
    """Whether ``value`` waits from now on for its turn at ``target``, a Node of one input."""
    held = deferred.get(target)
    if held is not None:
        joined: bool = held.join(value)
        return joined
    if value.dtype is None:
        deferred[target] = value
        return True
    if value.dtype is target.type.dtype and value.size <= _SMALL and broadcasts_to(target.shape, value.shape):
        deferred[target] = Unreduced(value, target)
        return True
    return False


def settle(deferred: dict[Any, Any], node: Any, grad: Any) -> Any:
    """The gradient of ``node``, of which ``grad`` has arrived already, or None."""
    total = deferred.pop(node).total()
    return total if grad is None else node.type.backend.lib.add(grad, total)


def settle_all(deferred: dict[Any, Any], buffers: Buffers) -> None:
    """Form all sums."""
    while deferred:
        node, value = deferred.popitem()
        deliver(buffers, node, 0, value.total(), False)


def settled(value: Any) -> Any:
    """What a Node has given, as an array."""
    return value.total() if value is not None and value.dtype is None else value


def all_settled(grads: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a Node has given, as arrays."""
    for value in grads:
        if value is not None and value.dtype is None:
            return tuple([settled(g) for g in grads])
    return grads
