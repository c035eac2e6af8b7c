"""What the formulas of operators that are contractions call.

Tensor-level and differentiable: everything here is made of declared operators.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from ..generated import functions as F
from ..kernels.contractions import Contraction

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def contracted(text: str, first: Tensor, second: Tensor) -> Tensor:
    """The contraction of two tensors that a form's text says, as ``*b *j, *j k -> *b k``."""
    return F.einsum(_form(text).equation(first.ndim, second.ndim), [first, second])


_form = lru_cache(Contraction)
