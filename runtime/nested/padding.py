"""Strided tensors of nested ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..core.tensor_base import TensorBase

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["to_padded_tensor"]


def __dir__() -> list[str]:
    return sorted(__all__)


def to_padded_tensor(
    input: Tensor, padding: float, output_size: Sequence[int] | None = None, out: Tensor | None = None
) -> Tensor:
    """The components in one strided tensor, with ``padding`` where one is smaller than that.

    The size is ``output_size``, or the least that has place for all. RuntimeError for a smaller one,
    TypeError for an input that is no tensor.
    """
    if not isinstance(input, TensorBase):
        raise TypeError(f"to_padded_tensor(): argument input must be Tensor, not {type(input).__name__}")
    made = input.to_padded_tensor(padding, output_size)
    return made if out is None else out.copy_(made)
