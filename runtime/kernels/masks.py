"""Kernels that read and write where a mask is true. Masks are bool; inputs are never changed."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.costs import INDEX_LARGE
from .index_checks import check_mask, check_same_dtype

Array = Any
Shape = tuple[int, ...]


def true_positions(mask: Array) -> Array:
    """The flat positions of what is true."""
    return mask.reshape(-1).nonzero()[0]


def masked_select(self: Array, mask: Array) -> Array:
    """The elements where ``mask`` is true, 1-d; both are broadcast. RuntimeError for a mask of another dtype
    than bool."""
    if mask.dtype.kind != "b":
        raise RuntimeError("expected BoolTensor for mask")
    if self.shape != mask.shape:
        self, mask = np.broadcast_arrays(self, mask)
    if self.size < INDEX_LARGE:
        return self[mask]
    return self.reshape(-1).take(true_positions(mask), mode="wrap")


def masked_scatter(self: Array, mask: Array, source: Array) -> Array:
    """``self`` with the elements of ``source``, in order, where ``mask`` is true; both are broadcast.

    Raises RuntimeError when ``source`` has too few.
    """
    check_mask(mask)
    check_same_dtype(self, source)
    if self.shape != mask.shape:
        self, mask = np.broadcast_arrays(self, mask)
    wanted = int(np.count_nonzero(mask))
    if source.size < wanted:
        raise RuntimeError("Number of elements of source < number of ones in mask")
    out = self.copy()
    out.reshape(-1)[true_positions(mask)] = source.reshape(-1)[:wanted]
    return out


def masked_scatter_backward(grad_output: Array, mask: Array, sizes: Shape) -> Array:
    """The elements of ``grad_output`` where ``mask`` is true, then zeros, in the shape ``sizes``."""
    out = np.zeros(math.prod(sizes), grad_output.dtype)
    chosen = masked_select(grad_output, mask)
    out[: len(chosen)] = chosen
    return out.reshape(sizes)


def masked_select_backward(grad: Array, sizes: Shape, mask: Array) -> Array:
    """Zeros of ``sizes`` broadcast with the shape of ``mask``, with ``grad``, in order, where it is true."""
    full = np.broadcast_shapes(sizes, mask.shape)
    out = np.zeros(full, grad.dtype)
    out.reshape(-1)[true_positions(mask if mask.shape == full else np.broadcast_to(mask, full))] = grad
    return out
