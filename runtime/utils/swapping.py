"""``swap_tensors``: two tensors change places, so that whoever holds one has the other."""

from __future__ import annotations

import copyreg
import gc
import weakref
from typing import Any, NoReturn

from ..autograd.accumulate_grad import AccumulateGrad
from ..autograd.grad_mode import grad_mode
from ..autograd.node import Node
from ..core.tensor_base import PARTS, TensorBase


def swap_tensors(t1: Any, t2: Any) -> None:
    """Make ``t1`` what ``t2`` is, and the other way round: elements, class, attributes, gradient, history.

    Both may be of any shapes and dtypes. A graph that leads to one of them is lost: a backward pass that
    arrives there is a RuntimeError. TypeError for what is no tensor. RuntimeError for classes with other
    slots, for views and what has views, for what a graph has saved, retains its gradient or is weakly
    referred to, and inside a function that is transformed; both are left as they were.
    """
    for name, tensor in (("t1", t1), ("t2", t2)):
        if not isinstance(tensor, TensorBase):
            raise TypeError(f"swap_tensors(): argument {name!r} must be Tensor, not {type(tensor).__name__}")
    if set(_slots(t1)) != set(_slots(t2)) or t1._wraps or t2._wraps:
        raise RuntimeError("Cannot swap t1 and t2 if they have different slots")
    if grad_mode.transforms:
        raise RuntimeError("swap_tensors(): tensors cannot be swapped inside a function that is transformed")
    if t1 is t2:
        return
    for name, tensor in (("t1", t1), ("t2", t2)):
        _check_single(name, tensor)
    for tensor in (t1, t2):
        _cut_off(tensor)
    for part in ("__class__", "__dict__", *PARTS, *_slots(t1)):
        _exchange(part, t1, t2)


def _slots(tensor: Any) -> list[str]:
    """The slots that its class adds to those of all tensors."""
    found: list[str] = copyreg._slotnames(type(tensor))  # type: ignore[attr-defined]
    return [name for name in found if name not in PARTS]


def _check_single(name: str, tensor: Any) -> None:
    """RuntimeError where something else would have to know of the exchange."""
    views = [] if tensor._storage is None else [ref() for ref in tensor._storage.views or ()]
    if tensor._base is not None or any([view is not None and view._base is tensor for view in views]):
        raise RuntimeError(f"Cannot swap {name} because it is a view, or has one")
    accumulator = None if tensor._meta is None else tensor._meta.accumulator
    own = [accumulator.leaf] if isinstance(accumulator, AccumulateGrad) else []
    if any([not any([ref is one for one in own]) for ref in weakref.getweakrefs(tensor)]):
        raise RuntimeError(f"Cannot swap {name} because it has weakref associated with it")
    if tensor._meta is not None and tensor._meta.retains_grad:
        raise RuntimeError(f"Cannot swap {name} because it retains its gradient")
    if gc.get_freeze_count():
        gc.unfreeze()  # it does not tell of those that are frozen
    holders = gc.get_referrers(tensor)
    lists = [held for held in holders if type(held) in (list, tuple) and not _is_edge(held)]
    if any([isinstance(found, Node) for found in (*holders, *(gc.get_referrers(*lists) if lists else ()))]):
        raise RuntimeError(f"Cannot swap {name} because a graph has saved it")


def _is_edge(held: Any) -> bool:
    return type(held) is tuple and len(held) == 3 and isinstance(held[0], Node)


def _cut_off(tensor: Any) -> None:
    """Let graphs that there are find an error where they lead to the tensor, and others begin anew."""
    if tensor._meta is None or tensor._meta.accumulator is None:
        return
    tensor._meta.accumulator.register_prehook(_fail)
    tensor._meta.accumulator = None


def _fail(grad_outputs: Any) -> NoReturn:
    raise RuntimeError(
        "Trying to execute AccumulateGrad node that was poisoned by swap_tensors: a tensor was swapped "
        "between the forward and the backward pass. Swap before the first or after the second."
    )


def _exchange(name: str, t1: Any, t2: Any) -> None:
    """An attribute, which one of them or both may lack."""
    missing = object()
    one, two = getattr(t1, name, missing), getattr(t2, name, missing)
    for tensor, before, value in ((t1, one, two), (t2, two, one)):
        if value is not missing:
            setattr(tensor, name, value)
        elif before is not missing:
            delattr(tensor, name)
