"""GradLevel: one call of a transform that takes gradients.

The graph is the ordinary one, on plain tensors. The inputs that are differentiated are handed to the
function as leaves of their own (``LevelInput``), from which edges lead on to what the inputs were computed
from. So gradients of inputs are captured there, and gradients of gradients need no more than that.

The results of a transform have a history only where it leads outside: to what the function did not compute
from its inputs alone. Inside vmap the graph is that of the values: the inputs are stripped of the levels of
vmap, and expanded where they are not batched, so that each slice has a gradient of its own.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Sequence
from typing import Any

from ..autograd.accumulate_grad import AccumulateGrad
from ..autograd.autograd_meta import AutogradMeta, meta_of
from ..autograd.edge import Edge, gradient_edge
from ..autograd.engine import execute
from ..autograd.forward.forward_grad import levels as forward_levels, tangent_of, wraps
from ..autograd.grad_mode import grad_mode
from ..autograd.node import LEAF_SEQUENCE_NR, Node, next_sequence_nr
from ..autograd.view import differentiable
from ..core.interception import AliasKind, active, notify_alias
from ..core.storage import storage_of
from ..core.tensor_base import TensorBase
from .batched import BACKWARD_INSIDE, wrap
from .level import vmap_levels
from .stripping import unwrap_levels, wrap_levels


class Run:
    """The run of a function: what the level and its inputs share, that do not hold one another."""

    __slots__ = ("live",)

    def __init__(self) -> None:
        #: Whether the function still runs.
        self.live = False


class LevelInput(AccumulateGrad):
    """The Node of an input of a level: passes on to where the input comes from, if that is anywhere."""

    __slots__ = ("run",)

    def __init__(self, variable: Any, meta: AutogradMeta, edge: Edge | None, run: Run) -> None:
        super().__init__(variable, meta)
        self.next_edges = (edge,)
        self.sequence_nr = next_sequence_nr()
        self.pinned = variable
        self.run = run

    def apply(self, grad: Any) -> tuple[Any, ...]:
        if self.run.live:
            raise RuntimeError(BACKWARD_INSIDE)
        return (grad,)

    apply_graph = apply


class GradLevel:
    """The inputs of one call of a transform, and the gradients with respect to them.

    ``with level:`` around the call of the function: recording is on inside, whatever it is outside.
    """

    def __init__(self, strict: bool = True) -> None:
        #: Whether what transforms refuse is refused: a Function whose forward is given ctx.
        self.strict = strict
        #: What has a Node with a lower number was there before.
        self.start = next_sequence_nr()
        self.run = Run()
        #: The levels of vmap around the call.
        self.batches = vmap_levels() if active else []
        #: The Nodes of the inputs.
        self.inputs: list[LevelInput] = []
        #: What the function was given for an input -> the input.
        self._originals: dict[int, tuple[Any, Any]] = {}
        self._before = True, False, 0

    def __enter__(self) -> GradLevel:
        self._before = grad_mode.enabled, grad_mode.inference, grad_mode.transforms
        grad_mode.enabled, grad_mode.inference = True, False
        grad_mode.transforms += self.strict
        self.run.live = True
        return self

    def __exit__(self, *error: object) -> None:
        self.run.live = False
        grad_mode.enabled, grad_mode.inference, grad_mode.transforms = self._before

    @property
    def recorded_outside(self) -> bool:
        """Whether recording was on around the call."""
        return self._before[0]

    # -- the inputs

    def input(self, given: Any) -> Any:
        """What the function is to be given for an input that is differentiated.

        Raises ValueError for what is no Tensor, RuntimeError for a Tensor that has no gradients.
        """
        if not isinstance(given, TensorBase):
            raise ValueError(f"Thing passed to transform API must be Tensor, got {type(given)}")
        if not differentiable(given._type):
            raise RuntimeError("only Tensors of floating point dtype can require gradients")
        grad_mode.enabled = self.recorded_outside
        try:
            value = unwrap_levels(given, self.batches) if self.batches else given
            edge = gradient_edge(value)  # for what ``vjp`` returns, which may be called where recording is on
        finally:
            grad_mode.enabled = True
        on_alias = wrap_levels(self._leaf(value, edge), self.batches)
        self._originals[id(on_alias)] = on_alias, given
        return on_alias

    def _leaf(self, value: Any, edge: Edge | None) -> Any:
        leaf = value._type.recorded(True).wrap(value._array)
        leaf._storage = storage_of(value)
        if active:
            notify_alias(value, leaf, AliasKind.ALIAS)
        leaf._requires_grad = True
        meta = meta_of(leaf)
        node = LevelInput(leaf, meta, edge, self.run)
        meta.accumulator = weakref.ref(node)
        self.inputs.append(node)
        return leaf

    # -- gradients

    def pull(
        self, outputs: Sequence[Any], cotangents: Sequence[Any], create_graph: bool, keep_graph: bool
    ) -> list[Any]:
        """The gradients of the inputs: zeros for those that the outputs do not depend on.

        Without ``create_graph`` they have no history. The graph's saved values are freed unless
        ``keep_graph`` or ``create_graph``.
        """
        roots: list[Edge] = []
        grads: list[Any] = []
        for output, cotangent in zip(outputs, cotangents, strict=True):
            if output._requires_grad:
                edge = gradient_edge(unwrap_levels(output, self.batches))
                assert edge is not None  # it requires gradients
                roots.append(edge)
                grads.append(unwrap_levels(cotangent, self.batches))
        wanted: list[Edge] = [(node, 0) for node in self.inputs]
        found: list[Any] = [None] * len(wanted)
        if roots and wanted:
            keep = keep_graph or create_graph
            found = execute(roots, grads, keep, create_graph, wanted, accumulate=False)
        results = [_zeros(n) if g is None else g for g, n in zip(found, self.inputs, strict=True)]
        if create_graph:
            results = [self._released(r, True) for r in results]
        return [wrap_levels(r, self.batches) for r in results]

    # -- histories

    def leads_outside(self, tensors: Iterable[Any]) -> bool:
        """Whether the history of one of the tensors, or of a tangent of theirs, leads out of the level."""
        return any([self._escapes(edge[0]) for t in tensors for edge in histories(t)])

    def _escapes(self, root: Node) -> bool:
        """Whether a graph has a leaf, or an input of another level whose function still runs."""
        seen = {root}
        found = [root]
        while found:
            node = found.pop()
            if node.sequence_nr == LEAF_SEQUENCE_NR:
                return True
            if isinstance(node, LevelInput) and node.run.live and node.run is not self.run:
                return True
            for edge in node.next_edges:
                if edge is not None and edge[0] not in seen:
                    seen.add(edge[0])
                    found.append(edge[0])
        return False

    def released(self, tensor: Any) -> Any:
        """What the function returned, as it is outside: with a history only where that leads there."""
        known = self._originals.get(id(tensor))
        return self._released(tensor, self.recorded_outside) if known is None else known[1]

    def _released(self, tensor: Any, recorded: bool) -> Any:
        """A tensor with a history only where that leads outside, and is ``recorded`` there."""
        if wraps(tensor):
            inner = self._released(tensor._value, recorded)
            return tensor if inner is tensor._value else wrap(inner, tensor._bdim, tensor._layer)
        edge = gradient_edge(tensor)
        inside = edge is not None and self._is_inside(edge[0], recorded)
        tangents = tangents_of(tensor)
        kept = [(level, self._released(t, recorded)) for level, t in tangents]
        same = all([before[1] is after[1] for before, after in zip(tangents, kept, strict=True)])
        if not inside and same and not (tensor._edge is None and self._owns(edge)):
            return tensor
        out = tensor._type.wrap(tensor._array)
        out._storage = storage_of(tensor)
        if not inside:
            out._edge, out._requires_grad = edge, edge is not None
        for level, tangent in kept:
            level.set(out, tangent)
        return out

    def _owns(self, edge: Edge | None) -> bool:
        return edge is not None and isinstance(edge[0], LevelInput) and edge[0].run is self.run

    def _is_inside(self, node: Node, recorded: bool) -> bool:
        """Whether a history that ends at ``node`` is none outside."""
        if node.sequence_nr < self.start or node.sequence_nr == LEAF_SEQUENCE_NR:
            return False  # what the function only handed on
        return not recorded or not self._escapes(node)


def histories(tensor: Any) -> list[Edge]:
    """The edges of a tensor and of its tangents."""
    while wraps(tensor):
        tensor = tensor._value
    edge = gradient_edge(tensor)
    found = [] if edge is None else [edge]
    for _, tangent in tangents_of(tensor):
        found += histories(tangent)
    return found


def tangents_of(tensor: Any) -> list[tuple[Any, Any]]:
    """The levels of forward mode at which a tensor has a tangent, with the tangents."""
    if not active:
        return []
    pairs = [(level, tangent_of(tensor, level)) for level in forward_levels()]
    return [pair for pair in pairs if pair[1] is not None]


def _zeros(node: LevelInput) -> Any:
    T = node.type
    return T.wrap(T.backend.lib.zeros(node.shape, T.dtype))
