"""Gradients that are summed before they are reduced to the shape of where they go.

What many steps send to one small parameter, as a bias, has a larger shape. Such a gradient waits
beside the buffers and takes in what comes after it: an addition instead of a reduction and an
addition. It is reduced when its Node runs, or before anything could change what waits.
"""

from __future__ import annotations

from typing import Any

from ..core.costs import DEFERRED_SMALL
from .input_buffer import Buffers, add_arrays, deliver
from .input_metadata import broadcasts_to

#: What waits, by the Node where it goes. The array has a dictionary of its own, so that who holds
#: it can be counted as in buffers.
Deferred = dict[Any, dict[int, Any]]


def defer(deferred: Deferred, target: Any, value: Any) -> bool:
    """Whether ``value`` waits from now on for its turn at ``target``, a Node of one input."""
    if value.dtype is not target.type.dtype:
        return False
    held = deferred.get(target)
    if held is not None:
        if value.shape != held[0].shape:
            return False
        add_arrays(target.type.backend.lib, held, 0, value)
        return True
    if value.size > DEFERRED_SMALL or not broadcasts_to(target.shape, value.shape):
        return False
    deferred[target] = {0: value}
    return True


def settle(deferred: Deferred, node: Any, grad: Any) -> Any:
    """The gradient of ``node``, of which ``grad`` has arrived already, or None."""
    lib = node.type.backend.lib
    total = lib.sum_to(deferred.pop(node).pop(0), node.shape)
    return total if grad is None else lib.add(grad, total)


def settle_all(deferred: Deferred, buffers: Buffers) -> None:
    """Deliver all that waits."""
    while deferred:
        node, held = deferred.popitem()
        deliver(buffers, node, 0, node.type.backend.lib.sum_to(held.pop(0), node.shape), False)
