"""Meta kernels of creation, random and complex operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import complex as parts, creation
from ..layout import strides_in
from ..random import check_multinomial
from .array import MetaArray, broadcast_shapes

arange_shape = creation.arange_shape
eye_shape = creation.eye_shape
empty_permuted_strides = creation.empty_permuted_strides
range_shape = creation.range_shape
tril_indices_shape = creation.tril_indices_shape
triu_indices_shape = creation.triu_indices_shape
view_as_complex = parts.view_as_complex
view_as_real = parts.view_as_real


def meta_empty(size: Sequence[int], dtype: np.dtype[Any], memory_format: Any = None) -> MetaArray:
    """A new array in a memory format. Raises RuntimeError for a negative dimension."""
    shape = creation.check_size(size)
    return MetaArray(shape, dtype, None if memory_format is None else strides_in(memory_format, shape))


def meta_empty_strided(size: Sequence[int], stride: Sequence[int], dtype: np.dtype[Any]) -> MetaArray:
    """A new array with strides in elements."""
    creation.strided_size(size, stride)
    return MetaArray(size, dtype, stride)


def full(size: Sequence[int], fill_value: Any, dtype: np.dtype[Any]) -> MetaArray:
    """A new array. Raises RuntimeError for a negative dimension."""
    return MetaArray(creation.check_size(size), dtype)


def made(form: Callable[..., Any], *arguments: Any) -> MetaArray:
    """The array of the shape that a form says; raises what that raises, and as ``full``."""
    return full(form(*arguments)[0], 0, arguments[-1])


def fill_by(self: MetaArray, value: MetaArray) -> MetaArray:
    """An array like ``self``. Raises RuntimeError unless ``value`` has no dimensions."""
    creation.check_fill(value)
    return MetaArray(self.shape, self.dtype)


def meta_complex(real: MetaArray, imag: MetaArray) -> MetaArray:
    """The complex array of two real ones."""
    return MetaArray(broadcast_shapes(real.shape, imag.shape), parts.complex_dtype(real))


def meta_normal(mean: MetaArray, std: MetaArray) -> MetaArray:
    """The broadcast shape, and the dtype of the means."""
    return MetaArray(broadcast_shapes(mean.shape, std.shape), mean.dtype)


def meta_multinomial(self: MetaArray, num_samples: int, replacement: bool) -> MetaArray:
    """int64 indices, one row for each."""
    check_multinomial(self.shape, num_samples, replacement)
    return MetaArray((*self.shape[:-1], num_samples), np.dtype(np.int64))
