"""What the derivative formulas of distances call. Over arrays the kernel of the same name runs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tengen.generated import functions as F

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def cdist_slopes(x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The derivatives of distances by the differences of rows, (..., P, R, M); 0 where there is none."""
    d = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    length = cdist.unsqueeze(-1)
    if p == 0:
        return F.zeros_like(d)
    if p == 1:
        return d.sign()
    if p == math.inf:
        return F.where(d.abs() == length, d.sign(), 0)
    # What is chosen not to count stands for 1, which keeps NaN out of derivatives.
    together = length == 0
    length = F.where(together, 1, length)
    if p == 2:
        return F.where(together, 0, d / length)
    none = together.logical_or(d == 0)
    size = F.where(none, 1, d.abs())
    return F.where(none, 0, d.sign() * (size / length) ** (p - 1))


def cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The gradient of ``_cdist_forward`` for ``x1``."""
    return (grad.unsqueeze(-1) * cdist_slopes(x1, x2, p, cdist)).sum(-2)
