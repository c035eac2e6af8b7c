"""Node: one recorded operation. Generated Nodes derive from here.

A Node receives the gradients of an operator's results and gives those of its inputs. It has
its formula twice: ``apply`` over arrays, which the engine runs, and ``apply_graph`` over
Tensors, for when the gradient itself is to be differentiated.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, ClassVar

from ..core.error_notes import public_name
from .grad_mode import grad_mode
from .hooks import Hook, NodeExtra, RemovableHandle, add_to, extra_of

if TYPE_CHECKING:
    from ..core.storage import Storage
    from .edge import Edge

#: Numbers Nodes in the order in which they are made; the engine runs the newest first.
sequence_numbers = itertools.count()
next_sequence_nr = sequence_numbers.__next__

#: The number of every AccumulateGrad: above all others.
LEAF_SEQUENCE_NR = 2**63 - 1


class Node:
    """A recorded operation.

    ``shape`` and ``type`` say what gradient it receives: a shape and a Type, or, for an operator
    with several results or a list of them, a tuple of shapes and a tuple of Types. The latter
    kind is given a tuple of gradients, even where it has one member.
    """

    __slots__ = ("__weakref__", "extra", "next_edges", "sequence_nr", "shape", "type")

    #: How many gradients it receives: the number of the operator's results.
    num_inputs: ClassVar[int] = 1
    #: Whether it wants to run even when no gradient at all has arrived.
    runs_undefined: ClassVar[bool] = False
    #: Whether it runs code of the user's own.
    foreign: ClassVar[bool] = False

    #: Where its results go: one edge for each differentiable input, None where none is wanted.
    next_edges: tuple[Edge | None, ...]
    sequence_nr: int
    shape: Any
    type: Any
    #: Hooks and such; None for nearly all Nodes.
    extra: NodeExtra | None

    def __init__(self, next_edges: tuple[Edge | None, ...] = (), shape: Any = (), T: Any = None) -> None:
        self.next_edges = next_edges
        self.sequence_nr = next_sequence_nr()
        self.shape = shape
        self.type = T
        self.extra = None

    def __init_subclass__(cls) -> None:
        # What a Node saves is shown by descriptors: a `__getattr__` would slow all access down.
        super().__init_subclass__()
        if any([slot.startswith("_") for slot in cls.__dict__.get("__slots__", ())]):
            from .saved_attributes import show_saved

            show_saved(cls)

    def apply(self, grad: Any) -> tuple[Any, ...]:
        """The gradients of the inputs, from that of the result: arrays, or None.

        ``grad`` is an array; for a Node of several results a tuple of arrays and None.
        """
        before = grad_mode.enabled
        grad_mode.enabled = False
        try:
            grads = self.apply_graph(self.wrap(grad))
        finally:
            grad_mode.enabled = before
        return tuple([None if g is None else g._array for g in grads])

    def apply_graph(self, grad: Any) -> tuple[Any, ...]:
        """As ``apply``, over Tensors, and differentiable. NotImplementedError for a Node that is not."""
        raise NotImplementedError(f"{self.name()} cannot be differentiated")

    def pin(self) -> None:
        """A user is handed this Node, and may hold it alone."""

    def release(self) -> None:
        """Free what was saved for the backward pass."""

    def wrap(self, grad: Any) -> Any:
        """The arrays of incoming gradients as Tensors without history."""
        if self.type.__class__ is not tuple:
            return None if grad is None else self.type.of_array(grad).wrap(grad)
        pairs = zip(grad, self.type, strict=True)
        return tuple([None if g is None else T.of_array(g).wrap(g) for g, T in pairs])

    def name(self) -> str:
        """``MulBackward0`` and the like."""
        return type(self).__name__

    def result_stored(self, number: int, storage: Storage) -> None:
        """A Storage was made for the result ``number``; only Nodes that save results care."""

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The edges as users see them: ``(None, 0)`` for an input that needs no gradient."""
        return tuple([(None, 0) if edge is None else _handed_out(edge) for edge in self.next_edges])

    @property
    def metadata(self) -> dict[str, Any]:
        """The user's own notes on this Node."""
        extra = extra_of(self)
        if extra.metadata is None:
            extra.metadata = {}
        return extra.metadata

    def register_hook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_inputs, grad_outputs)`` after this Node has run in a backward pass.

        Both are tuples of Tensors and None. It returns None, or a tuple of as many gradients that
        take the place of ``grad_inputs``.
        """
        extra = extra_of(self)
        if extra.post_hooks is None:
            extra.post_hooks = {}
        return add_to(extra.post_hooks, hook)

    def register_prehook(self, hook: Hook) -> RemovableHandle:
        """Call ``hook(grad_outputs)`` before this Node runs in a backward pass.

        It is given a tuple of Tensors and None, and returns None, or a tuple of as many that take
        their place.
        """
        extra = extra_of(self)
        if extra.pre_hooks is None:
            extra.pre_hooks = {}
        return add_to(extra.pre_hooks, hook)

    def __call__(self, *grads: Any) -> Any:
        """The gradients of the inputs, for these of the results: Tensors, or None. No hook runs.

        One gradient, or a tuple of several. TypeError for another number of gradients.
        """
        from ..core.tensor_base import TensorBase

        several = self.type.__class__ is tuple
        count = len(self.type) if several else 1
        if len(grads) != count:
            raise TypeError(f"{self.name()} takes {count} gradients, but {len(grads)} were given")
        for index, grad in enumerate(grads):
            if grad is not None and not isinstance(grad, TensorBase):
                raise TypeError(
                    f"argument {index} of {self.name()} must be a Tensor, not {type(grad).__name__}"
                )
        if not self.runs_undefined and all([grad is None for grad in grads]):
            results: tuple[Any, ...] = (None,) * len(self.next_edges)
        else:
            results = tuple(self.apply_graph(grads if several else grads[0]))
        return results[0] if len(results) == 1 else results

    @property
    def requires_grad(self) -> bool:
        """Always True: who is in a graph has a gradient to pass on."""
        return True

    def _sequence_nr(self) -> int:
        return self.sequence_nr

    @property
    def _input_metadata(self) -> tuple[Any, ...]:
        """Shape, dtype and device of each gradient that this Node receives."""
        from .input_metadata import InputMetadata

        several = self.type.__class__ is tuple
        pairs = zip(self.shape, self.type, strict=True) if several else ((self.shape, self.type),)
        return tuple([None if T is None else InputMetadata(shape, T) for shape, T in pairs])

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"


def _handed_out(edge: Edge) -> tuple[Node, int]:
    node = edge[0]
    node.pin()
    return node, edge[1]


class GeneratedNode(Node):
    """A Node of a declared derivative; who makes one fills the slots."""

    __slots__ = ()
    __init__ = object.__init__


class SavesResults(GeneratedNode):
    """A Node that keeps an array of its own results, not the tensors: that would be a cycle.

    So that a later write into such a result is seen all the same, the result's Storage is noted
    here when it is made, with the version it has then: that of a result without a gradient, which
    does not know this Node, at once.
    """

    __slots__ = ("result_versions",)

    #: The saved results that have no gradient, as indices have none.
    constants: ClassVar[tuple[int, ...]] = ()

    result_versions: dict[int, tuple[tuple[Storage, int], ...]] | None

    def result_stored(self, number: int, storage: Storage) -> None:
        # Several: an alias of the result (a cast, a result unpacked again) has a Storage of its own.
        noted = self.result_versions
        if noted is None:
            noted = self.result_versions = {}
        noted[number] = (*noted.get(number, ()), (storage, storage.version))


class GraphRoot(Node):
    """Where a backward pass starts: it gives the gradients that the pass was called with."""

    __slots__ = ("grads",)

    num_inputs = 0
    runs_undefined = True

    def __init__(self, next_edges: tuple[Edge | None, ...], grads: tuple[Any, ...]) -> None:
        super().__init__(next_edges, (), ())
        self.grads = grads

    def apply(self, grad: Any) -> tuple[Any, ...]:
        return self.grads

    apply_graph = apply


class Error(Node):
    """Stands for something that has no gradient: the backward pass that comes here fails."""

    __slots__ = ("message",)

    runs_undefined = True

    def __init__(self, message: str, next_edges: tuple[Edge | None, ...], shape: Any, T: Any) -> None:
        super().__init__(next_edges, shape, T)
        self.message = message

    def apply(self, grad: Any) -> tuple[Any, ...]:
        raise RuntimeError(self.message)

    apply_graph = apply


class NotImplementedNode(Error):
    """The Node of an operator that has no derivative, ``operator`` being its full name."""

    __slots__ = ()

    def __init__(self, operator: str, next_edges: tuple[Edge | None, ...], shape: Any, T: Any) -> None:
        super().__init__("", next_edges, shape, T)
        self.made_by(operator.partition(".")[0])

    def made_by(self, function: str) -> None:
        """Say which function's derivative it is that is missing."""
        self.message = f"derivative for {public_name(function)} is not implemented"


NotImplementedNode.__name__ = NotImplementedNode.__qualname__ = "NotImplemented"


class UndefinedGrad(Node):
    """Passes nothing on: the result does not depend on the inputs in a differentiable way."""

    __slots__ = ("operator",)

    #: The operator that made the result, "eq_".
    operator: str

    def name(self) -> str:
        words = self.operator.strip("_").split("_")
        return "".join([w.capitalize() for w in words]) + "Backward0"

    def apply(self, grad: Any) -> tuple[Any, ...]:
        return (None,) * len(self.next_edges)

    apply_graph = apply
