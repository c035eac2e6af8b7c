"""What becomes of the results of a user's Function: their history, and rules for what was written to."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from ..core.storage import storage_of
from ..core.tensor_base import TensorBase
from ..core.user_stack import program_stacklevel
from .autograd_meta import CUSTOM_VIEW, MULTI_OUTPUT_VIEW, PLAIN_VIEW, meta_of
from .edge import Edge, gradient_edge
from .python_function import PyNode
from .variable_type_utils import check_inplace, rebase
from .view import differentiable, view_of_all


def wrap_outputs(
    node: PyNode, arguments: tuple[Any, ...], outputs: tuple[Any, ...], recording: bool
) -> tuple[Any, ...]:
    """The results of ``forward`` as ``apply`` returns them, with ``node`` as their history.

    ``recording`` says whether they have one. Raises RuntimeError for an input that was marked as
    dirty and is not returned, or may not be written to.
    """
    inputs = {id(a): a for a in arguments if isinstance(a, TensorBase)}
    dirty = _dirty(node, outputs)
    fixed = _fixed(node)
    tensors = [o if isinstance(o, TensorBase) else None for o in outputs]
    count = sum([t is not None for t in tensors])
    node.shape = tuple([() if t is None else t._array.shape for t in tensors])
    node.type = tuple([None if t is None else t._type for t in tensors])
    made: list[Any] = []
    untracked: list[int] = []
    for number, out in enumerate(outputs):
        if isinstance(out, TensorBase):
            tracked = recording and id(out) not in fixed and differentiable(out._type)
            written = id(out) in dirty
            edge = (node, number) if tracked else None
            out = _result(out, edge, inputs, written, count)
            if not tracked:
                untracked.append(number)
            elif node.ctx._is_pure_view and out._base is not None:
                meta_of(out).creation = PLAIN_VIEW  # its history may be made anew
        made.append(out)
    if not node.ctx._materialize_non_diff_grads:
        node.unmaterialized = frozenset(untracked)
    return tuple(made)


def _fixed(node: PyNode) -> set[int]:
    """The ids of what was marked as not differentiable."""
    return _marked(node.ctx.non_differentiable, "mark_non_differentiable only accepts variable arguments")


def _dirty(node: PyNode, outputs: tuple[Any, ...]) -> set[int]:
    """The ids of the inputs that were marked as dirty."""
    dirty = _marked(node.ctx.dirty_tensors, "mark_dirty can only accept variables")
    if not dirty <= {id(out) for out in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs "
            "that are modified inplace must all be outputs of the Function."
        )
    return dirty


def _marked(marked: Sequence[Any] | None, rule: str) -> set[int]:
    """The ids of what was marked; RuntimeError with ``rule`` where that is no tensor."""
    for index, tensor in enumerate(marked or ()):
        if not isinstance(tensor, TensorBase):
            raise RuntimeError(f"{rule}, but argument {index} is of type {type(tensor).__name__}")
    return {id(t) for t in marked or ()}


def _result(out: Any, edge: Edge | None, inputs: dict[int, Any], written: bool, count: int) -> Any:
    """One Tensor that ``forward`` returned, of ``count``, with its history."""
    returned = id(out) in inputs
    if written:
        if edge is None:
            storage_of(out).version += 1
            return out
        if not returned:
            warnings.warn(
                "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been "
                "mutated should be passed to ctx.mark_dirty().",
                UserWarning,
                stacklevel=program_stacklevel(),
            )
        _rewrite(out, edge, count)
        return out
    if returned:
        out = view_of_all(out)
    if edge is None:
        if not returned and out._requires_grad:
            out._edge, out._requires_grad = None, False
        return out
    out._edge, out._requires_grad = edge, True
    if out._base is not None:
        meta_of(out).creation = CUSTOM_VIEW if count == 1 else MULTI_OUTPUT_VIEW
    return out


def _rewrite(tensor: Any, edge: Edge, count: int) -> None:
    """Give an input that ``forward`` has written to its new history."""
    if tensor._base is not None and count > 1:
        raise RuntimeError(
            "If your Function modifies inplace an input that is a view of another Tensor, your Function "
            "cannot return more than one Tensor. This is not supported by the current autograd engine. You "
            "should either make sure the input is not a view (using .clone() for example) or make your "
            "Function only return one Tensor (potentially splitting it into two Functions: one doing the "
            "inplace that returns a single Tensor and a second one that does the other operations)."
        )
    if tensor._base is None and tensor._edge is None and tensor._requires_grad:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    check_inplace(tensor)
    storage_of(tensor).version += 1
    old = gradient_edge(tensor)
    own = None
    if old is not None:  # the Node's own tuple, by which it is found
        own = next(
            (e for e in edge[0].next_edges if e is not None and e[0] is old[0] and e[1] == old[1]), None
        )
    rebase(tensor, edge, own)
