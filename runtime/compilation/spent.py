"""Results of a call in which a backward pass went through their history: nothing goes through it again."""

from __future__ import annotations

from typing import Any, NoReturn

from ..autograd.node import Node
from ..autograd.saved_variable import BACKWARD_TWICE, FREED


class Spent(Node):
    """The history of such a result; it has the name of what others have."""

    __slots__ = ()

    def apply_graph(self, grad: Any) -> NoReturn:
        """Raise RuntimeError, as Nodes do whose saved values are freed."""
        raise RuntimeError(BACKWARD_TWICE)


Spent.__name__ = Spent.__qualname__ = "CompiledBackward"


def is_spent(tensor: Any) -> bool:
    """Whether a backward pass through a tensor's history meets what another one has freed."""
    waiting = [] if tensor._edge is None else [tensor._edge[0]]
    seen: set[int] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        slots = [slot for kind in type(node).__mro__ for slot in vars(kind).get("__slots__", ())]
        if any([getattr(node, slot, None) is FREED for slot in slots if slot != "__weakref__"]):
            return True
        waiting += [edge[0] for edge in node.next_edges if edge is not None]
    return False


def spend(tensor: Any) -> None:
    """Give a result such a history."""
    tensor._edge = (Spent((), tensor._array.shape, tensor._type), 0)
    tensor._requires_grad = True
