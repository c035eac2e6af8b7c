"""What clipping does with gradients that are plain arrays: few passes over memory, and few calls."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...autograd.variable_type_utils import writes_freely, written
from ...core.costs import NORM_SMALL
from ...core.function_dispatch import without_overrides
from ...core.interception import active
from ...core.storage import begin_write
from ...tensors.creation import tensor
from ...tensors.tensor import Tensor

Array = np.ndarray[Any, Any]


def euclidean_norm(tensors: Sequence[Tensor]) -> Tensor | None:
    """The norm of all elements of the tensors; None where operators are to compute it.

    That is for tensors that are no plain arrays of one dtype, and for squares that are too large or small.
    """
    arrays = [t._array for t in tensors]
    kinds = {t._type for t in tensors}
    if active or len(kinds) > 1 or not all([_is_plain(t) for t in tensors]):
        return None
    lines = [a.reshape(-1) for a in arrays if a.size > NORM_SMALL]
    small = [a for a in arrays if a.size <= NORM_SMALL]
    if small:
        lines.append(np.concatenate(small, None))
    total = sum([float(np.dot(line, line)) for line in lines])
    limits = np.finfo(arrays[0].dtype)
    if not float(limits.tiny) / float(limits.eps) < total < float(limits.max):
        return None
    return tensor(math.sqrt(total), dtype=tensors[0].dtype, device=tensors[0].device)


def scale(grad: Tensor, factor: Tensor) -> bool:
    """Multiply by a 0-d tensor in place; False where an operator is to do it."""
    if active or not (_is_plain(grad) and factor._type is grad._type and writes_freely(grad)):
        return False
    begin_write(grad)
    np.multiply(grad._array, factor._array, grad._array)
    written(grad)
    return True


def limit(grad: Tensor, size: float) -> bool:
    """Limit the elements' sizes in place; False where an operator is to do it."""
    if active or not (_is_plain(grad) and writes_freely(grad)):
        return False
    array: Array = grad._array
    low, high = np.array(-size, array.dtype), np.array(size, array.dtype)
    begin_write(grad)
    array.clip(low, high, out=array)
    written(grad)
    return True


def _is_plain(t: Tensor) -> bool:
    """Whether the tensor is an array of NumPy's, float32 or float64 and contiguous, that may be written."""
    array = t._array
    return (
        t.__class__ in without_overrides
        and array.__class__ is np.ndarray
        and array.dtype.char in "fd"
        and array.flags.c_contiguous
        and array.flags.writeable
        and t._type.recording
    )
