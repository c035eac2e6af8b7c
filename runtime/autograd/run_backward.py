"""``backward``, and what it and ``grad`` make of their arguments."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from ..core.function_dispatch import loosely_overridable
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from .edge import Edge, gradient_edge
from .engine import execute
from .grad_mode import check_flag
from .graph import GradientEdge
from .node import Node
from .root_gradients import make_grads

#: What gradients can be asked of.
_DIFFERENTIATED = (TensorBase, GradientEdge)


@loosely_overridable
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of ``tensors`` with respect to the leaves of their graph to the leaves' ``grad``.

    ``tensors`` is a Tensor or a sequence of them; ``grad_tensors`` has a gradient for each, of its
    shape, or None where it is a real scalar. The graph's saved values are freed unless
    ``retain_graph``, which is ``create_graph`` unless given; ``create_graph`` lets the gradients
    be differentiated in turn. With ``inputs`` only their gradients are accumulated; they need not
    be leaves.

    Raises RuntimeError when a tensor does not require gradients, when a gradient is missing or
    has another shape, when ``inputs`` is empty, or when the graph was freed before; TypeError for flags
    that are no bools.
    """
    check_flag("backward", "create_graph", create_graph)
    if retain_graph is not None:
        check_flag("backward", "retain_graph", retain_graph)
    if grad_variables is not None:
        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=program_stacklevel(),
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
                "Please only use `grad_tensors`."
            )
        grad_tensors = grad_variables
    roots = as_tensors("tensors", tensors)
    refuse_wrapped("backward", roots)
    grads = make_grads(roots, grads_for(roots, grad_tensors))
    edges = root_edges(roots)
    wanted: list[Edge] | None = None
    if inputs is not None:
        targets = as_tensors("inputs", list(inputs.values()) if isinstance(inputs, Mapping) else inputs)
        if not targets:
            raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
        for t in targets:
            check_differentiated(t)
            if isinstance(t, TensorBase):
                t.retain_grad()  # type: ignore[attr-defined]  # of Tensor
        wanted = [edge_of(t) for t in targets]
    keep = create_graph if retain_graph is None else retain_graph
    if create_graph:
        warnings.warn(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and "
            "its gradient which can cause a memory leak. We recommend using autograd.grad when creating the "
            "graph to avoid this. If you have to use this function, make sure to reset the .grad fields of "
            "your parameters to None after use to break the cycle and avoid the leak.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
    execute(edges, grads, keep, create_graph, wanted)


def as_tensors(name: str, given: Any) -> Sequence[Any]:
    """One tensor or several as a sequence; TypeError for anything else."""
    if isinstance(given, _DIFFERENTIATED):
        return (given,)
    try:
        found = tuple(given)
    except TypeError:
        raise TypeError(
            f"{name} must be a Tensor or a sequence of Tensors, but got {type(given).__name__}: it is not "
            "iterable"
        ) from None
    for index, t in enumerate(found):
        if not isinstance(t, _DIFFERENTIATED):
            raise TypeError(f"element {index} of {name} must be a Tensor, but got {type(t).__name__}")
    return found


def refuse_wrapped(function: str, roots: Sequence[Any]) -> None:
    """RuntimeError where a transform has made one of the tensors: the graph is that of what it wraps."""
    if any([isinstance(root, TensorBase) and root._wraps for root in roots]):
        raise RuntimeError(
            f"{function}() called inside a functorch transform. This is not supported, please use "
            f"functorch.grad or functorch.vjp instead or call {function}() outside of functorch transforms."
        )


def grads_for(roots: Sequence[Any], given: Any) -> Sequence[Any]:
    if given is None:
        return (None,) * len(roots)
    if isinstance(given, TensorBase):
        given = (given,)
    try:
        grads = tuple(given)
    except TypeError:
        raise TypeError(
            f"gradients must be a Tensor, None or a sequence of them, but got {type(given).__name__}: it is "
            "not iterable"
        ) from None
    if len(grads) != len(roots):
        raise RuntimeError(f"got {len(roots)} tensors and {len(grads)} gradients")
    return grads


def root_edges(roots: Sequence[Any]) -> list[Edge]:
    edges = []
    for index, root in enumerate(roots):
        edge = (root.node, root.output_nr) if isinstance(root, GradientEdge) else gradient_edge(root)
        if edge is None:
            raise RuntimeError(
                f"element {index} of tensors does not require grad and does not have a grad_fn"
            )
        edges.append(edge)
    return edges


def check_differentiated(tensor: Any) -> None:
    if not isinstance(tensor, GradientEdge) and not tensor._requires_grad:
        raise RuntimeError("One of the differentiated Tensors does not require grad")


def edge_of(tensor: Any) -> Edge:
    if isinstance(tensor, GradientEdge):
        return tensor.node, tensor.output_nr
    # A view that only follows its base has none: no gradient comes to it.
    return gradient_edge(tensor) or (Node(), 0)
