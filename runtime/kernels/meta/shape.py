"""Meta kernels of the operators in ``tengen.kernels.shape``, and of views that NumPy does otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..layout import check_fits, strides_in
from ..shape import (
    cat_shape,
    cat_strides,
    stack_shape,
)
from .array import MetaArray

Shape = tuple[int, ...]


def meta_to_copy(self: MetaArray, dtype: np.dtype[Any] | None = None, memory_format: Any = None) -> MetaArray:
    """A copy, of another dtype if one is given."""
    strides = strides_in(memory_format, self.shape, self.element_strides)
    return MetaArray(self.shape, self.dtype if dtype is None else dtype, strides)


def meta_copy_value(self: MetaArray, src: MetaArray) -> MetaArray:
    check_fits(self.shape, src.shape)
    return src.astype(self.dtype, copy=False)


def meta_cat(tensors: Sequence[MetaArray], dim: int = 0) -> MetaArray:
    kept, _, shape = cat_shape([a.shape for a in tensors], dim)
    strides = cat_strides(shape, [(tensors[i].shape, tensors[i].element_strides) for i in kept])
    return MetaArray(shape, tensors[0].dtype, strides)


def meta_stack(tensors: Sequence[MetaArray], dim: int = 0) -> MetaArray:
    return MetaArray(stack_shape([a.shape for a in tensors], dim)[1], tensors[0].dtype)


def meta_repeat_interleave(repeats: MetaArray, output_size: int | None = None) -> MetaArray:
    """The length depends on the data, so it must be given. NotImplementedError without it."""
    if output_size is None:
        raise NotImplementedError("the output shape depends on the data: give output_size for meta tensors")
    return MetaArray((output_size,), repeats.dtype)


def meta_scatter(self: MetaArray, src: MetaArray, view: MetaArray) -> MetaArray:
    """A copy of ``self`` in which ``view``, a view of it, was replaced by ``src``. RuntimeError for a ``src``
    of another shape than the view."""
    if view.shape != src.shape:
        raise RuntimeError(
            "expected src to have a size equal to the slice of self. "
            f"src size = {list(src.shape)}, slice size = {list(view.shape)}"
        )
    return self.copy("K")
