"""What generated code calls: small functions that are no operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

from ..core.costs import LARGE as LARGE
from ..core.error_notes import public_name
from ..core.storage import storage_of
from .autograd_meta import UNTRACKED_VIEW, meta_of
from .edge import Edge, gradient_edge, gradient_edges
from .grad_mode import grad_mode
from .graph_task import current
from .node import Node, NotImplementedNode, SavesResults, next_sequence_nr
from .saved_variable import BACKWARD_TWICE, FREED, modified_in_place, unpack_array, unpack_tensor
from .view import differentiable


class LibraryFunction:
    """A function of another library, imported when it is first called."""

    __slots__ = ("function", "module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name
        self.function: Callable[..., Any] | None = None

    def __call__(self, *arguments: Any) -> Any:
        if self.function is None:
            self.function = getattr(import_module(self.module), self.name)
        return self.function(*arguments)


class LazyModule:
    """Stands for a module until the first of its names is asked for; then the module takes its place.

    Kernels and Nodes are imported so: a program pays for those that it uses. ``namespace[alias]`` is
    where this object is, and where the module is from then on, so that finding a name costs nothing more.
    """

    __slots__ = ("__name__", "_alias", "_namespace")  # no kernel is named so

    def __init__(self, name: str, namespace: dict[str, Any], alias: str) -> None:
        self.__name__ = name
        self._namespace = namespace
        self._alias = alias

    def __getattr__(self, name: str) -> Any:
        module = self._namespace[self._alias] = import_module(self.__name__)
        return getattr(module, name)


# -- saved values --------------------------------------------------------------------------


def graph_is_kept() -> bool:
    """Whether what Nodes saved is needed after this backward pass: a formula's ``retain_variables``."""
    task = current.task
    return task is None or task.keep_graph


def versions(tensors: Sequence[Any]) -> tuple[int, ...]:
    """The versions of a list of tensors, of which some may be None."""
    return tuple([0 if t is None or t._storage is None else t._storage.version for t in tensors])


def unpack_tensors(tensors: Any, saved: tuple[int, ...], edges: Any) -> list[Any]:
    """A saved list of tensors with the history they had; RuntimeError when one was written to."""
    if tensors is FREED:
        raise RuntimeError(BACKWARD_TWICE)
    if edges is None:
        edges = (None,) * len(tensors)
    return [
        None if t is None else unpack_tensor(t, v, e) for t, v, e in zip(tensors, saved, edges, strict=True)
    ]


def modified(tensor: Any, version: int, node: Any) -> NoReturn:
    """Raise for a saved tensor that was written to."""
    unpack_array(tensor, version, node)
    raise modified_in_place(tensor._array, tensor._type, tensor._edge, tensor._storage.version, version)


# -- incoming gradients ----------------------------------------------------------------------


def materialize(node: Any, grads: Sequence[Any], number: int) -> Any:
    """The gradient of one of several results as a Tensor; zeros when none has come."""
    found = grads[number]
    if found is None:
        T = node.type[number]
        found = T.wrap(T.backend.lib.zeros(node.shape[number], T.dtype))
    return found


def materialize_array(node: Any, grads: Sequence[Any], number: int) -> Any:
    """As ``materialize``, as an array."""
    found = grads[number]
    if found is None:
        T = node.type[number]
        found = T.backend.lib.zeros(node.shape[number], T.dtype)
    return found


# -- recording -------------------------------------------------------------------------------


@cache
def _unsaved(node_class: type[Node]) -> tuple[tuple[str, Any], ...]:
    """What the slots of a Node hold as long as nothing is saved in them: None, and version 0."""
    named = [s for c in node_class.__mro__ for s in c.__dict__.get("__slots__", ())]
    slots = [s for s in named if s.startswith("_") and not s.startswith("__")]
    found: dict[str, Any] = {s: 0 if s.endswith("_version") else None for s in slots}
    if issubclass(node_class, SavesResults):
        found["result_versions"] = None
    return tuple(found.items())


def _edges(inputs: Sequence[Any]) -> tuple[Edge | None, ...]:
    """The edges of an operator's differentiable arguments: tensors, None, and lists of these."""
    found: list[Edge | None] = []
    for given in inputs:
        if isinstance(given, (list, tuple)):
            found += gradient_edges(given)
        else:
            found.append(None if given is None else gradient_edge(given))
    return tuple(found)


def record_node(
    node_class: Any, result: Any, inputs: tuple[Any, ...], outputs: Sequence[int] | None = (0,)
) -> Any:
    """Record an operator: a Node whose slots are still empty, and the edges of the result.

    ``result`` is a Tensor, or a tuple: of the operator's results, of which those numbered ``outputs`` are
    differentiable, or, where ``outputs`` is None, of the one list that is its result. ``inputs`` are the
    differentiable arguments. Returns the Node.
    """
    node = object.__new__(node_class)
    node.sequence_nr = next_sequence_nr()
    node.extra = None
    node.next_edges = _edges(inputs)
    for slot, value in _unsaved(node_class):
        setattr(node, slot, value)
    if not isinstance(result, tuple):
        node.shape, node.type = result._array.shape, result._type
        result._edge = (node, 0)
        result._requires_grad = True
        return node
    node.shape = tuple([None if out is None else out._array.shape for out in result])
    node.type = tuple([None if out is None else out._type for out in result])
    if outputs is None:
        outputs = range(len(result))
        node.num_inputs = len(result)
    elif issubclass(node_class, SavesResults) and node_class.constants:
        node.result_versions = {n: ((storage_of(result[n]), 0),) for n in node_class.constants}
    for number in outputs:
        if result[number] is not None:
            result[number]._edge = (node, number)
            result[number]._requires_grad = True
    return node


def untracked_view(result: Any) -> None:
    """Mark what a recorded view operator gave where its base does not know of it: nothing may write to it.

    ``result`` is a Tensor, or a tuple of such.
    """
    for view in result if isinstance(result, tuple) else (result,):
        if view._base is None:
            meta_of(view).creation = UNTRACKED_VIEW


# -- composites ------------------------------------------------------------------------------


def _unrecorded(compute: Callable[[], Any]) -> Any:
    """What ``compute`` returns, without a history of its parts."""
    before = grad_mode.enabled
    grad_mode.enabled = False
    try:
        return compute()
    finally:
        grad_mode.enabled = before


# -- derivatives that are not there --------------------------------------------------------


def not_implemented(operator: str) -> NoReturn:
    """The formula of an input that has no derivative: NotImplementedError, when it is asked for."""
    raise NotImplementedError(f"the derivative for '{operator}' is not implemented.")


def not_differentiable(argument: str, operator: str) -> RuntimeError:
    """The error of gradients that are wanted of an argument for which the operator has none."""
    return RuntimeError(
        f"The function '{public_name(operator)}' is not differentiable with respect to argument "
        f"'{argument}'. This input cannot have requires_grad True."
    )


def no_gradients(operator: str, T: Any) -> RuntimeError:
    """The error of a result that is to have a history, and is asked for in a Type without gradients."""
    return RuntimeError(
        f"{public_name(operator)}: Autograd not support dtype: {T.scalar_type.type_name}; the result "
        "has no gradient, so call it without recording, as in no_grad()"
    )


def record_not_implemented(operator: str, edges: tuple[Any, ...], result: Any) -> None:
    """Give the results that could have gradients a history that fails when it is used.

    ``edges`` lead to the operator's arguments, of which one at least requires gradients.
    """
    results = result if isinstance(result, (tuple, list)) else (result,)
    for out in results:
        if out is not None and differentiable(out._type):
            out._edge = (NotImplementedNode(operator, edges, out._array.shape, out._type), 0)
            out._requires_grad = True


def run_not_implemented(operator: str, compute: Callable[[], Any], edges: Callable[[], Any]) -> Any:
    """Run a composite that has no derivative without recording its parts, and record that."""
    result = _unrecorded(compute)
    if grad_mode.enabled:
        found = edges()
        if any([edge is not None for edge in found]):
            record_not_implemented(operator, found, result)
    return result


# -- more of gradients ---------------------------------------------------------------------


def spread(grads: Sequence[Any] | None, edges: Sequence[Any]) -> Sequence[Any]:
    """The gradients of a list of tensors: one for each of its edges."""
    return (None,) * len(edges) if grads is None else grads


def zero_tangent(primal: Any) -> Any:
    """The tangent of an input that has none: zeros like the primal, or None for None."""
    if primal is None:
        return None
    if isinstance(primal, (list, tuple)):
        return [zero_tangent(p) for p in primal]
    T = primal._type
    return T.wrap(T.backend.lib.zeros(primal._array.shape, T.dtype))


# -- composites with a derivative of their own -------------------------------------------------


def record_composite(
    compute: Callable[[], Any],
    node_class: Any,
    inputs: tuple[Any, ...] = (),
    saved: dict[str, tuple[str, Any]] | None = None,
    outputs: tuple[int, ...] = (0,),
) -> Any:
    """Run a composite without recording its parts, and record it as one Node."""
    result = _unrecorded(compute)
    flat = [t for i in inputs for t in (i if isinstance(i, (list, tuple)) else (i,))]
    wanted = any([t is not None and t._requires_grad for t in flat])
    if node_class is None or not grad_mode.enabled or not wanted:
        return result
    node = record_node(node_class, result, inputs, outputs)
    outs = result if isinstance(result, tuple) else (result,)
    for slot, (what, value) in (saved or {}).items():
        _save(node, slot, what, value, outs)
    return result


def _save(node: Any, slot: str, what: str, value: Any, outs: tuple[Any, ...]) -> None:
    if what == "result":
        setattr(node, slot, outs[value]._array)
    elif what == "tensor":
        setattr(node, slot, value)
        setattr(node, f"{slot}_version", versions((value,))[0])
    elif what == "tensors":
        setattr(node, slot, tuple(value))
        setattr(node, f"{slot}_version", versions(value))
    else:
        setattr(node, slot, value)
