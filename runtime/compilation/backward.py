"""CompiledBackward: the Node of a call whose results have a history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autograd.edge import Edge, gradient_edge
from ..autograd.grad_mode import grad_mode
from ..autograd.node import Node
from ..autograd.saved_variable import BACKWARD_TWICE, FREED, modified_in_place, unpack_tensor
from ..core.interception import active
from ..core.storage import storage_of
from ..random import default_generator
from .recorder import unsuitable

if TYPE_CHECKING:
    from .history import History


class CompiledBackward(Node):
    """Gradients by the backward program; where they are to be differentiated, by the graph of operators."""

    __slots__ = ("arrays", "edges", "history", "kept", "state", "tensors", "versions", "written")

    def __init__(self, history: History, tensors: Sequence[Any], state: Any) -> None:
        """Before a call of what it is of; ``state`` is the generator's, if numbers are drawn."""
        wanted = [gradient_edge(tensors[i]) for i in history.reached]
        shapes, types = history.recorded_shapes, history.recorded_types
        single = len(types) == 1
        super().__init__(tuple(wanted), shapes[0] if single else shapes, types[0] if single else types)
        self.history, self.state = history, state
        written = {*history.written}
        self.tensors: Any = [t.clone() if i in written else t for i, t in enumerate(tensors)]
        self.versions = [0 if t._storage is None else t._storage.version for t in self.tensors]
        self.edges: list[Edge | None] = [gradient_edge(t) for t in self.tensors]
        #: A tensor may be given other memory meanwhile, of any size.
        self.arrays = [t._array for t in self.tensors]
        self.kept: Sequence[Any] = ()
        #: Of results that are kept, the Storage, the version that it had, and the array.
        self.written: list[tuple[Any, int, Any]] = []

    def keep(self, kept: Sequence[Any], shared: Sequence[Any]) -> None:
        """Keep what the forward program made; ``shared`` are results whose memory that is."""
        self.kept = kept
        storages = [(storage_of(result), result) for result in shared]
        self.written = [(storage, storage.version, result._array) for storage, result in storages]

    def _check(self) -> None:
        """RuntimeError where what is saved was freed or written to."""
        if self.tensors is FREED:
            raise RuntimeError(BACKWARD_TWICE)
        for tensor, version in zip(self.tensors, self.versions, strict=True):
            storage = tensor._storage
            if storage is not None and storage.version != version:
                raise modified_in_place(tensor._array, tensor._type, tensor._edge, storage.version, version)
        for storage, version, array in self.written:
            if storage.version != version:
                T = self.type[0] if isinstance(self.type, tuple) else self.type
                raise modified_in_place(array, T.of_array(array), (self, 0), storage.version, version)

    def _several(self, grads: Any) -> Sequence[Any]:
        return grads if isinstance(self.type, tuple) else (grads,)

    def apply(self, grad: Any) -> tuple[Any, ...]:
        """The gradients of the inputs, as arrays, of those of the results."""
        given = []
        for array, shape, T in zip(self._several(grad), *self._kinds(), strict=True):
            if array is None:
                array = np.zeros(shape, T.dtype)
            elif type(array) is not np.ndarray or array.dtype != T.dtype:
                return super().apply(grad)
            given.append(np.ascontiguousarray(array))
        self._check()
        return tuple([g._array for g in self.history.backwards(self.arrays, self.kept, given)])

    def apply_graph(self, grad: Any) -> tuple[Any, ...]:
        """The same of Tensors, differentiable."""
        self._check()
        both = zip(self._several(grad), *self._kinds(), strict=True)
        grads = [T.wrap(np.zeros(shape, T.dtype)) if g is None else g for g, shape, T in both]
        if grad_mode.enabled or active or any(map(unsuitable, grads)):
            saved = zip(self.tensors, self.versions, self.edges, strict=True)
            with _drawing_again(self.state):
                return tuple(self.history.differentiable([unpack_tensor(*each) for each in saved], grads))
        arrays = [np.ascontiguousarray(g._array) for g in grads]
        return tuple(self.history.backwards(self.arrays, self.kept, arrays))

    def _kinds(self) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return self.history.recorded_shapes, self.history.recorded_types

    def release(self) -> None:
        """Free what was saved for the backward pass."""
        self.tensors, self.arrays, self.kept, self.written = FREED, [], (), []


@contextmanager
def _drawing_again(state: Any) -> Iterator[None]:
    """With the random numbers of a call, that began with this state of the generator."""
    if state is None:
        yield
        return
    now = default_generator.get_state()
    default_generator.set_state(state)
    try:
        yield
    finally:
        default_generator.set_state(now)
