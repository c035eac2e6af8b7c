"""PyNode: the Node of a user's own Function, and the ``ctx`` that its methods are given."""

from __future__ import annotations

import warnings
import weakref
from sys import getrefcount
from typing import Any, ClassVar

from ..core.function_dispatch import users_level
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from .edge import Edge, gradient_edge
from .inference_mode import check_not_inference
from .node import Node
from .saved_variable import BACKWARD_TWICE, FREED, alias, unpack_tensor
from .saved_variable_hooks import pack_slot, state

_CLEARED = (
    "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
    "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
)


class FunctionCtx:
    """What ``forward`` and ``setup_context`` tell about a call; ``backward`` is given it again.

    Any other attribute may be set on it too.
    """

    to_save: tuple[Any, ...]
    saved_for_forward: tuple[Any, ...]
    dirty_tensors: tuple[Any, ...]
    non_differentiable: tuple[Any, ...]
    materialize_grads: bool

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs, results and other Tensors, or None, for ``saved_tensors`` in ``backward``.

        Once only, at the end: a second call forgets what the first was given.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep Tensors, or None, for ``saved_tensors`` in ``jvp``. TypeError for anything else."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, TensorBase):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as "
                    "attributes on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Say which inputs were written to. Each must be returned."""
        self.dirty_tensors = tensors

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Say which results have no gradient."""
        self.non_differentiable = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing any more, as in PyTorch; a FutureWarning says so."""
        warnings.warn(
            "mark_shared_storage is deprecated, and does nothing: which tensors share memory is known",
            FutureWarning,
            stacklevel=program_stacklevel(),
        )

    def set_materialize_grads(self, value: bool) -> None:
        """Whether ``backward`` is given zeros, the default, or None where no gradient has come."""
        self.materialize_grads = value


def _warn_of_saved_variables() -> None:
    warnings.warn(
        "'saved_variables' is deprecated; use 'saved_tensors'",
        DeprecationWarning,
        stacklevel=program_stacklevel(),
    )


class Context(FunctionCtx):
    """The ``ctx`` of one call: any attributes that the user sets, and those of the call's Node.

    It is not the Node, whose own attributes a user's would overwrite (``ctx.shape``, ``ctx.keep``).
    """

    #: Whether results that are views of inputs may be written to: the Function does no more than a view.
    _is_pure_view = False

    def __init__(self, node: PyNode) -> None:
        self.__node: Any = weakref.ref(node)  # the Node has the context: otherwise they were a cycle
        self.materialize_grads = True
        self.to_save = self.saved_for_forward = self.dirty_tensors = self.non_differentiable = ()

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``; a DeprecationWarning says so."""
        _warn_of_saved_variables()
        found: tuple[Any, ...] = self.saved_tensors
        return found

    @property
    def _materialize_non_diff_grads(self) -> bool:
        """Whether zeros come for results that have no gradient, too. TypeError for what is no bool."""
        found: bool = self.__dict__.get("_materialize_non_diff_grads", True)
        return found

    @_materialize_non_diff_grads.setter
    def _materialize_non_diff_grads(self, value: bool) -> None:
        if not isinstance(value, bool):
            raise TypeError(f"_materialize_non_diff_grads must be a bool, not {type(value).__name__}")
        self.__dict__["_materialize_non_diff_grads"] = value

    def _keep(self, node: PyNode) -> None:
        """Be what keeps the Node, which nothing else has any more."""
        self.__node = lambda: node

    def __getattr__(self, name: str) -> Any:
        """What the user did not set: ``saved_tensors``, ``needs_input_grad``, ``next_functions`` ..."""
        node = None if name.startswith("__") or name in _INTERNAL else self.__node()
        if node is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return getattr(node, name)


#: The references to a context that only its Node has: the Node's, and that of the one who counts.
_OURS = 2
#: What the engine keeps in a Node, and is none of the user's business.
_INTERNAL = frozenset(Node.__slots__)


class PyNode(Node):
    """The Node of one call of a Function: it calls the Function's ``backward``, or ``vjp``."""

    __slots__ = (
        "_inputs",
        "_tensors",
        "_tensors_edges",
        "_tensors_version",
        "cleared",
        "ctx",
        "in_jvp",
        "needs_input_grad",
        "unmaterialized",
    )

    #: The Function; each has a class of Nodes of its own.
    _forward_cls: ClassVar[Any]
    runs_undefined = True
    foreign = True
    #: Whether ``jvp`` runs.
    in_jvp: bool
    #: Whether what was saved was let go when it was asked for.
    cleared: bool

    #: What was saved: Tensors, of results aliases without history, with their versions.
    _tensors: Any
    _tensors_version: tuple[int, ...]
    #: The history of each: an edge, None, or the number of the result that it is.
    _tensors_edges: tuple[Edge | int | None, ...]
    #: Which arguments of ``forward`` were Tensors.
    _inputs: tuple[bool, ...]
    #: Which arguments of ``forward`` required gradients.
    needs_input_grad: tuple[bool, ...]
    #: The results that stay None where no gradient has come for them, as they have none.
    unmaterialized: frozenset[int]
    #: What the user's methods are given.
    ctx: Context

    def __init__(self, arguments: tuple[Any, ...], recording: bool) -> None:
        inputs: list[bool] = []
        needed: list[bool] = []
        edges: list[Edge | None] = []
        for a in arguments:
            is_tensor = isinstance(a, TensorBase)
            inputs.append(is_tensor)
            needed.append(is_tensor and a._requires_grad)
            if is_tensor:
                edge = gradient_edge(a) if recording else None
                # A tuple of its own: an input written to is found among them by its edge.
                edges.append(None if edge is None else (*edge,))
        self._inputs, self.needs_input_grad = tuple(inputs), tuple(needed)
        Node.__init__(self, tuple(edges))
        self._tensors = self._tensors_version = self._tensors_edges = ()
        self.in_jvp = self.cleared = False
        self.unmaterialized = frozenset()
        self.ctx = Context(self)

    def __del__(self) -> None:
        """Live on where ``ctx`` was kept: what was saved can be asked for. (In PyTorch it is the Node.)"""
        try:
            kept = getrefcount(self.ctx) > _OURS
        except AttributeError:  # an interrupt came before there was one
            return
        if kept:
            self.ctx._keep(self)

    def __getattr__(self, name: str) -> Any:
        """What the user has set on ``ctx``."""
        if name != "ctx" and not name.startswith("__"):
            found = vars(self.ctx)
            if name in found:
                return found[name]
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What ``save_for_backward`` was given, with the history it had.

        In ``jvp`` what ``save_for_forward`` was given. Raises RuntimeError when it was freed, or one of
        the Tensors was written to since; and the second time, where the Function says
        ``clear_saved_tensors_on_access``.
        """
        if self.in_jvp:
            return self.ctx.saved_for_forward
        if self._tensors is FREED:
            raise RuntimeError(_CLEARED if self.cleared else BACKWARD_TWICE)
        saved = zip(self._tensors, self._tensors_version, self._tensors_edges, strict=True)
        found = tuple(
            [
                None if t is None else unpack_tensor(t, v, (self, e) if isinstance(e, int) else e)
                for t, v, e in saved
            ]
        )
        if self._forward_cls.clear_saved_tensors_on_access:
            self._tensors, self.cleared = FREED, True
        return found

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of ``saved_tensors``; a DeprecationWarning says so."""
        _warn_of_saved_variables()
        return self.saved_tensors

    @property
    def _materialize_non_diff_grads(self) -> bool:
        return self.ctx._materialize_non_diff_grads

    def keep(self, outputs: dict[int, int]) -> None:
        """Save what ``save_for_backward`` was given; ``outputs`` has the number of each result by its id.

        TypeError for what is neither a Tensor nor None.
        """
        if not self.ctx.to_save:
            return
        tensors: list[Any] = []
        edges: list[Edge | int | None] = []
        for index, tensor in enumerate(self.ctx.to_save):
            if tensor is None:
                tensors.append(None)
                edges.append(None)
                continue
            if not isinstance(tensor, TensorBase):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {index} is of type "
                    + type(tensor).__name__
                )
            check_not_inference((tensor,))
            number = outputs.get(id(tensor))
            if number is not None and self._is_history_of(tensor):
                tensors.append(alias(tensor, None))  # the result itself would be a cycle
                edges.append(number)
            else:
                tensors.append(tensor)
                edges.append(gradient_edge(tensor))
        self._tensors, self._tensors_edges = tuple(tensors), tuple(edges)
        self._tensors_version = tuple(
            [0 if t is None or t._storage is None else t._storage.version for t in tensors]
        )
        self.ctx.to_save = ()
        if state.stack:
            pack_slot(self, "_tensors", state.stack[-1])

    def _is_history_of(self, tensor: Any) -> bool:
        """Whether a result has this Node as history, as a view that was written to has through its base."""
        base = tensor._base
        if tensor._edge is not None and tensor._edge[0] is self:
            return True
        return base is not None and base._edge is not None and getattr(base._edge[0], "fn", None) is self

    def release(self) -> None:
        self._tensors = FREED

    def apply_graph(self, grad: Any) -> tuple[Any, ...]:
        if self.ctx.materialize_grads:
            absent = self.unmaterialized
            grad = tuple([self._zeros(i) if g is None and i not in absent else g for i, g in enumerate(grad)])
        with users_level():
            given = self._forward_cls._user_backward()(self.ctx, *grad)
        return self._gradients(given if isinstance(given, tuple) else (given,))

    def _zeros(self, number: int) -> Any:
        """The gradient of a result that none has come for; None of what is no Tensor."""
        T = self.type[number]
        return None if T is None else T.wrap(T.backend.lib.zeros(self.shape[number], T.dtype))

    def _gradients(self, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Of what ``backward`` returned, the gradients of the inputs that are Tensors."""
        count = len(self._inputs)
        if len(given) > count and all([g is None for g in given[count:]]):
            given = given[:count]
        if len(given) != count:
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(given)})"
            )
        grads: list[Any] = []
        for position, (gradient, is_tensor) in enumerate(zip(given, self._inputs, strict=True)):
            if is_tensor:
                if gradient is not None and not isinstance(gradient, TensorBase):
                    raise RuntimeError(
                        f"function {self.name()} returned at position {position}: expected Variable or None "
                        f"(got {type(gradient).__name__})"
                    )
                if gradient is not None:
                    self._check(gradient, len(grads))
                grads.append(gradient)
            elif gradient is not None:
                raise RuntimeError(
                    f"function {self.name()} returned a gradient different than None at position "
                    f"{position + 1}, but the corresponding forward input was not a Variable"
                )
        return tuple(grads)

    def _check(self, gradient: Any, index: int) -> None:
        """Raise RuntimeError for a gradient that cannot become one of its input's Type."""
        edge = self.next_edges[index]
        if edge is None:
            return
        T = edge[0].type[edge[1]] if edge[0].type.__class__ is tuple else edge[0].type
        what = f"Function {self.name()} returned an invalid gradient at index {index}"
        if gradient._type.backend.device != T.backend.device:
            raise RuntimeError(
                f"{what} - expected device {T.backend.device} but got {gradient._type.backend.device}"
            )
        if T.any_dtype:
            return
        found, wanted = gradient._type.scalar_type, T.scalar_type
        if not found.is_floating_point and found.is_complex is not wanted.is_complex:
            raise RuntimeError(f"{what} - expected dtype {wanted}, or one like it, but got {found}")
