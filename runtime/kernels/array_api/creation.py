"""Kernels that make tensors of numbers: made by NumPy's of the host, as these take no time on a device."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import creation as host
from .common import Array, cast, made_on_host, number_of

Number = bool | int | float | complex


def _sized(xp: Any, size: Sequence[int], value: Number, dtype: Any) -> Array:
    return xp.full(host.check_size(size), number_of(value, dtype, xp), dtype=dtype)


def empty(xp: Any, size: Sequence[int], dtype: Any, memory_format: Any = None) -> Array:
    """Zeros, for nothing can write to memory that is not set."""
    return xp.zeros(host.check_size(size), dtype=dtype)


def full(xp: Any, size: Sequence[int], fill_value: Number, dtype: Any) -> Array:
    """``fill_value`` everywhere; RuntimeError for one that the dtype cannot hold."""
    number = host.filler(tuple(size), fill_value, xp.numpy_dtype(dtype))
    overflows = host.overflows(tuple(size), fill_value, xp.numpy_dtype(dtype))
    return _sized(xp, size, number if overflows else fill_value, dtype)


def filled(xp: Any, self: Array, value: Number) -> Array:
    """An array like ``self`` with a number everywhere."""
    return full(xp, self.shape, value, self.dtype)


def fill_by(xp: Any, self: Array, value: Array) -> Array:
    """An array like ``self`` with the element of a 0-d array everywhere; RuntimeError for another."""
    host.check_fill(value)
    return xp.broadcast_to(cast(xp, value, self.dtype), self.shape)


def copy_value(xp: Any, self: Array, src: Array) -> Array:
    """``src`` in the shape and dtype of ``self``."""
    return xp.broadcast_to(cast(xp, src, self.dtype), self.shape)


def to_copy(xp: Any, self: Array, dtype: Any = None, memory_format: Any = None) -> Array:
    """The array as ``dtype``; nothing can write to it, so it need be no copy."""
    return cast(xp, self, dtype)


arange = made_on_host(host.arange)
range_ = made_on_host(host.range_)
made = made_on_host(host.made)
eye = made_on_host(host.eye)
tril_indices = made_on_host(host.tril_indices)
triu_indices = made_on_host(host.triu_indices)


def empty_strided(xp: Any, size: Sequence[int], stride: Sequence[int], dtype: Any) -> Array:
    """Zeros; the arrays have no strides."""
    host.strided_size(size, stride)
    return xp.zeros(tuple(size), dtype=dtype)


def empty_permuted_strides(xp: Any, size: Sequence[int], physical_layout: Sequence[int]) -> Sequence[int]:
    """Checks the order of dimensions, which means nothing here."""
    return host.empty_permuted_strides(size, physical_layout)
