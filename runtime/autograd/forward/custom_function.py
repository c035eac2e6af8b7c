"""Forward mode through a user's Function: its ``jvp``, called for each level that an argument is dual at."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from ...core.tensor_base import TensorBase
from ..saved_variable import FREED
from ..view import differentiable
from .forward_grad import ForwardLevel, check_tangent_size
from .tangents import base_of, match_layout, same_memory, zero_tangent


def differentiate(
    node: Any, arguments: Sequence[Any], results: Sequence[Any], duals: list[tuple[ForwardLevel, list[Any]]]
) -> None:
    """Give the results of a Function the tangents that its ``jvp`` computes.

    Raises RuntimeError where it returns something else than a tangent for each differentiable result and
    None for each other one, or, of what was written to or is a view, a tangent that is not.
    """
    saved = node.ctx.saved_for_forward
    for position, (level, tangents) in enumerate(duals):
        given = _materialized(node, arguments, tangents)
        with ExitStack() as masks:
            for other, _ in duals[position:]:
                masks.enter_context(other.disabled())
            node.ctx.saved_for_forward = tuple([None if t is None else level.primal_of(t) for t in saved])
            versions = [_version(t) for t in given]
            node.in_jvp = True
            try:
                found = node._forward_cls.jvp(node.ctx, *given)
            finally:
                node.in_jvp = False
                node.ctx.saved_for_forward = saved
            _check(node, results, found := found if isinstance(found, tuple) else (found,))
            for result, tangent in zip(results, found, strict=True):
                if tangent is not None:
                    if any([result is t for t in node.ctx.dirty_tensors]):
                        _check_written(result, tangent, arguments, given, versions)
                    else:
                        tangent = _check_view_or_copy(result, tangent, arguments, tangents, given)
                    level.set(result, tangent)
    _share_with_saved(node, results)


def _materialized(node: Any, arguments: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    """The tangents as ``jvp`` is given them: zeros for None where there can be one, if it asks."""
    if not node.ctx.materialize_grads:
        return list(tangents)
    return [
        zero_tangent(a) if t is None and isinstance(a, TensorBase) and differentiable(a._type) else t
        for a, t in zip(arguments, tangents, strict=True)
    ]


def _check(node: Any, results: Sequence[Any], found: tuple[Any, ...]) -> None:
    """Raise RuntimeError unless there is a tangent, or None, for each result that can have one."""
    if len(found) != len(results):
        raise RuntimeError(
            "Function's jvp returned an invalid number of forward gradients (expected "
            f"{len(results)} but got {len(found)})"
        )
    fixed = {id(t) for t in node.ctx.non_differentiable}
    for index, (result, tangent) in enumerate(zip(results, found, strict=True)):
        if tangent is None:
            continue
        if not isinstance(tangent, TensorBase):
            raise RuntimeError(
                f"Function's jvp: expected Tensor or None (got {type(tangent).__name__}) for output {index}."
            )
        if not isinstance(result, TensorBase) or not differentiable(result._type) or id(result) in fixed:
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {index}, but the corresponding forward "
                "output is not a differentiable Tensor. You should return None at that position instead."
            )
        check_tangent_size(result, tangent)


def _version(tensor: Any) -> int:
    """How often a tensor was written to."""
    version: int = getattr(getattr(tensor, "_storage", None), "version", 0)
    return version


def _check_written(
    result: Any, tangent: Any, arguments: Sequence[Any], given: Sequence[Any], versions: Sequence[int]
) -> None:
    """Raise RuntimeError unless the tangent of an input that was written to was written to as well."""
    position = next(i for i, a in enumerate(arguments) if a is result)
    if given[position] is None:
        return
    if _version(given[position]) == versions[position]:
        raise RuntimeError(
            "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward "
            "is modifying an input inplace, then the jvp function must modify the corresponding gradient "
            "inplace."
        )
    if tangent is not given[position]:
        raise RuntimeError(
            "An inplace custom Function is not returning the forward mode gradients as-is. If the forward "
            "is modifying an input inplace, then the jvp function must modify the gradient inplace and "
            "return it as-is."
        )


def _check_view_or_copy(
    result: Any, tangent: Any, arguments: Sequence[Any], tangents: Sequence[Any], given: Sequence[Any]
) -> Any:
    """The tangent of a result: a view of its argument's if the result is one, in memory of its own if not."""
    viewed = [t for a, t in zip(arguments, tangents, strict=True) if t is not None and same_memory(a, result)]
    if viewed:
        if tangent._base is None:
            raise RuntimeError(
                "A custom Function's forward is returning a view (or an input as-is) but the jvp is not "
                "returning a view."
            )
        if not any([same_memory(t, tangent) for t in viewed]):
            raise RuntimeError(
                "A custom Function is returning a view but the jvp is not returning a view of the given grad "
                "input."
            )
        return tangent
    used = any([base_of(tangent) is base_of(t) for t in given if isinstance(t, TensorBase)])
    return match_layout(tangent, result, copy=used)


def _share_with_saved(node: Any, results: Sequence[Any]) -> None:
    """Give the aliases of results that the Node has saved their tangents."""
    if node._tensors is FREED:
        return
    for saved, number in zip(node._tensors, node._tensors_edges, strict=True):
        if isinstance(number, int) and isinstance(saved, TensorBase):
            meta = results[number]._meta
            if meta is not None and meta.forward_grad is not None:
                for level, tangent in meta.forward_grad.tangents.items():
                    level.set(saved, tangent)
