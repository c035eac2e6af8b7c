"""``apply_``, ``map_`` and ``map2_``: a Python function called for each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autograd.inference_mode import check_write
from ..core.interception import active, notify_conversion
from ..core.storage import begin_write
from ..core.tensor_base import TensorBase
from .sequences import array_of


def call_for_each(name: str, tensor: Any, others: dict[str, Any], function: Callable[..., Any]) -> None:
    """Write what ``function`` gives for each element, and those of ``others`` at its place, into ``tensor``.

    ``others`` are the further tensors by the names of the arguments; they are expanded to its shape. Elements
    are Python's numbers, and are written one after the other; after an error all are as they were. Nothing
    happens to a tensor without data.
    """
    _check(name, tensor, others)
    check_write(tensor)
    if active:
        for given in (tensor, *others.values()):
            notify_conversion(given, "Python number")
    expanded = [other.expand(tensor.shape)._array for other in others.values()]
    backend = tensor._type.backend
    if not backend.has_data:
        return
    lib, scalar_type = backend.lib, tensor._type.scalar_type
    target = lib.to_numpy(tensor._array)
    sources = (target, *map(lib.to_numpy, expanded))
    before = lib.copy(tensor._array)
    begin_write(tensor)
    try:
        for place in np.ndindex(target.shape):
            at = (*place, ...)
            value = function(*[lib.item(source[at]) for source in sources])
            target[at] = array_of(value, scalar_type)[0]
    except BaseException:
        lib.copyto(tensor._array, before)
        raise


def _check(name: str, tensor: Any, others: dict[str, Any]) -> None:
    """TypeError for what is no tensor of the same Type, RuntimeError for one with gradients or under vmap."""
    if any([getattr(t, "_wraps", False) for t in (tensor, *others.values())]):
        raise RuntimeError(f"{name} is not supported under vmap: the function is to be given numbers")
    for position, (word, other) in enumerate(others.items(), 1):
        if not isinstance(other, TensorBase):
            found = type(other).__name__
            raise TypeError(f"{name}(): argument '{word}' (position {position}) must be Tensor, not {found}")
    if any([t._requires_grad for t in (tensor, *others.values())]):
        raise RuntimeError(
            f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead."
        )
    for word, other in others.items():
        if other._type.recorded(True) is not tensor._type.recorded(True):
            wanted, found = tensor._type_string(), other._type_string()
            raise TypeError(f"{name}: expected {wanted} for '{word}' (got {found})")
