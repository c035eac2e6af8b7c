"""Kernels for strided arrays that make ragged arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .array import JaggedArray, NestedArray, of_components

Array = np.ndarray[Any, Any]


def nested_view_from_jagged(
    self: Array, offsets: Array, lengths: Array | None, ragged_idx: int
) -> JaggedArray:
    """The components of ``self`` that begin at ``offsets``, which have been checked."""
    return JaggedArray(self, offsets, lengths, ragged_idx)


def nested_tensor_from_tensor_list(tensors: Sequence[Array]) -> NestedArray:
    """These arrays as components, of one number of dimensions, which has been checked, and of one dtype."""
    return of_components(tensors)
