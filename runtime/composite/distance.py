"""Distances, norms that are limited, and bilinear maps: operators that are made of others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..kernels.distance import check_rows
from ..kernels.layout import broadcast_shapes

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def cdist(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The distances between rows; batches broadcast.

    Raises RuntimeError for a negative p, other than floating-point dtypes, and shapes that do not fit.
    """
    check_rows(x1, x2)
    for name, x in (("X1", x1), ("X2", x2)):
        if not x.is_floating_point():
            raise RuntimeError(f"cdist only supports floating-point dtypes, {name} got: {x.dtype}")
    if compute_mode not in (None, 0, 1, 2):
        raise RuntimeError(f"possible modes: 0, 1, 2, but was: {compute_mode}")
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2], name="cdist: ")
    return F._cdist_forward(
        x1.expand((*batch, *x1.shape[-2:])), x2.expand((*batch, *x2.shape[-2:])), p, compute_mode
    )


def pdist(self: Tensor, p: float) -> Tensor:
    """The distances between each two rows; RuntimeError unless there is a matrix, of floating point."""
    if self.ndim != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {self.ndim}D")
    if not self.is_floating_point():
        raise RuntimeError(f"pdist only supports floating-point dtypes, got: {self.dtype}")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, but got {p}")
    first, second = F.triu_indices(len(self), len(self), 1, device=self.device)
    return F._cdist_forward(self, self, p, None).flatten().index_select(0, first * len(self) + second)


def renorm(self: Tensor, p: Number, dim: int, maxnorm: Number) -> Tensor:
    """Slices along ``dim`` scaled down to a p-norm of ``maxnorm`` where theirs is more.

    Raises RuntimeError for fewer than two dims, a p that is not positive, a negative ``maxnorm``, and
    complex ones.
    """
    if isinstance(p, complex) or isinstance(maxnorm, complex):
        raise RuntimeError(f"renorm: p and maxnorm must be real-valued, but got {p} and {maxnorm}")
    if not p > 0:
        raise RuntimeError(f"renorm: non-positive-norm not supported, but got p={p}")
    if self.ndim < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {self.ndim} dimensions")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: expected maxnorm to be >= 0 but got {maxnorm}")
    kept = range(self.ndim)[dim]
    others = [d for d in range(self.ndim) if d != kept]
    norm = F.linalg_vector_norm(self, p, others, True)
    factor = F.where(norm <= maxnorm, 1.0, maxnorm / (norm + 1e-7))  # NaN where the norm is
    return (self * factor).contiguous()


def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k; RuntimeError for sizes that do not fit."""
    if weight.ndim != 3:
        raise RuntimeError(f"bilinear(): weight must be (O, I, J), but got {list(weight.shape)}")
    for number, given in enumerate((input1, input2), 1):
        if not given.ndim or given.shape[-1] != weight.shape[number]:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {list(given.shape)} but "
                f"expected {weight.shape[number]} columns"
            )
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and "
            f"{list(input2.shape)}"
        )
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {list(bias.shape)} but expected "
            f"[{weight.shape[0]}]"
        )
    between = F.tensordot(input1, weight, [-1], [1])
    out = (between * input2.unsqueeze(-2)).sum(-1, dtype=between.dtype)
    return out if bias is None else out + bias
