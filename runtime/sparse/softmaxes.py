"""softmax and log_softmax of tensors in coordinate format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tengen.generated.functions as F

from .named_errors import named

if TYPE_CHECKING:
    from ..core.scalar_type import dtype as DType
    from ..tensors.tensor import Tensor

__all__ = ["log_softmax", "softmax"]


def __dir__() -> list[str]:
    return sorted(__all__)


@named
def softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """softmax along a dimension of a tensor in coordinate format, as if what is not stored were -inf.

    The result, and the gradient, has its indices. NotImplementedError for another layout, and for a dtype
    other than float32 and float64.
    """
    return F._sparse_softmax(input if dtype is None else input.to(dtype), dim, False)


@named
def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None) -> Tensor:
    """The logarithm of ``softmax``, in its shape and dtype, and its errors."""
    return F._sparse_log_softmax(input if dtype is None else input.to(dtype), dim, False)
