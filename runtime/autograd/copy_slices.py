"""CopySlices: the history of a base that was written to through a view of it."""

from __future__ import annotations

from typing import Any

from .edge import Edge
from .graph_task import current
from .input_metadata import fit_array, fit_tensor
from .linear_maps import Erase, Gather, Scatter, add_tensors, apply_linear
from .node import Node
from .view_paths import Pair


class CopySlices(Node):
    """The Node of ``view.operation_(...)`` for the view's base.

    ``fn`` is the Node of the operation, ``number`` which of its results was written, and ``own``
    the index of the edge that led to the view's old value, or -1. The gradient of the base goes
    to the base as it was before, except that what lies under the view goes through ``fn``.
    """

    __slots__ = ("fn", "number", "own", "pair")

    def __init__(self, base: Edge | None, pair: Pair, fn: Node, number: int, own: int) -> None:
        others = tuple([edge for i, edge in enumerate(fn.next_edges) if i != own])
        super().__init__((base, *others), pair.base.shape, pair.base.type)
        self.pair = pair
        self.fn = fn
        self.number = number
        self.own = own

    def apply(self, grad: Any) -> tuple[Any, ...]:
        lib = self.pair.view.type.backend.lib
        opened = self.pair.open(grad)
        view = opened[1]
        fn = self.fn
        if fn.type.__class__ is not tuple:
            part = fit_array(lib.copy(view), fn.shape, fn.type, self, 0)
            grads = fn.apply(part)
        else:
            part = fit_array(lib.copy(view), fn.shape[self.number], fn.type[self.number], self, 0)
            grads = fn.apply(self._at_number(part))
        own, others = self._split(grads)
        if own is not None:
            geometry = self.pair.view
            own = fit_array(own, geometry.shape, geometry.type, fn, self.own)
        return (self.pair.replaced(opened, own), *others)

    def apply_graph(self, grad: Any) -> tuple[Any, ...]:
        part = apply_linear(Gather(self.pair), grad)
        fn = self.fn
        if fn.type.__class__ is not tuple:
            grads = fn.apply_graph(fit_tensor(part, fn.shape, fn.type, self, 0))
        else:
            part = fit_tensor(part, fn.shape[self.number], fn.type[self.number], self, 0)
            grads = fn.apply_graph(self._at_number(part))
        own, others = self._split(grads)
        base = apply_linear(Erase(self.pair), grad)
        if own is not None:
            geometry = self.pair.view
            own = fit_tensor(own, geometry.shape, geometry.type, fn, self.own)
            base = add_tensors(base, apply_linear(Scatter(self.pair), own))
        return (base, *others)

    def release(self) -> None:
        task = current.task
        # Under create_graph what it saved of its result has it as history: then its own turn may come.
        if task is None or not task.has_to_run(self.fn):
            self.fn.release()

    def _at_number(self, part: Any) -> tuple[Any, ...]:
        return tuple([part if i == self.number else None for i in range(len(self.fn.type))])

    def _split(self, grads: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        own = grads[self.own] if self.own >= 0 else None
        return own, [g for i, g in enumerate(grads) if i != self.own]
