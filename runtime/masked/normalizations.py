"""Functions that keep the shape: scans, softmaxes and what else is normalized, of what a mask leaves."""

from __future__ import annotations

from tengen.generated import functions

from ..core.promotion import promote_types
from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor
from . import reductions
from .masks import data_and_mask, dimension, filled, highest, lowest, takes_masked, with_identity


@takes_masked
@with_identity(0)
def cumsum(
    input: Tensor, dim: int | None, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The cumulative sums along ``dim`` of the elements that ``mask`` leaves; the others count as 0.

    ``mask`` is a bool tensor that broadcasts to ``input``. The result has the dtype ``dtype``, by default
    that of ``input``.
    """
    kept = filled("cumsum", input, mask, 0)
    return kept.cumsum(dimension(dim, input.ndim), dtype=dtype or input.dtype)


@takes_masked
@with_identity(1)
def cumprod(
    input: Tensor, dim: int | None, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The cumulative products along ``dim`` of the elements that ``mask`` leaves; the others count as 1.

    ``mask`` is a bool tensor that broadcasts to ``input``. The result has the dtype ``dtype``, by default
    that of ``input``.
    """
    kept = filled("cumprod", input, mask, 1)
    return kept.cumprod(dimension(dim, input.ndim), dtype=dtype or input.dtype)


@takes_masked
def softmax(
    input: Tensor, dim: int | None, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The exponentials over their sum along ``dim``, of what ``mask`` leaves; 0 in the other places.

    Where nothing is left along ``dim`` the results are NaN. ``mask`` is a bool tensor that broadcasts to
    ``input``. It is computed in ``dtype``, by default that of ``input``.
    """
    kept = filled("softmax", input, mask, lowest)
    return functions.softmax(kept, dimension(dim, input.ndim), dtype=dtype or input.dtype)


@takes_masked
def log_softmax(
    input: Tensor, dim: int | None, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """The logarithms of ``masked.softmax``, with its arguments and its shape; ``-inf`` where masked out."""
    kept = filled("log_softmax", input, mask, lowest)
    return functions.log_softmax(kept, dimension(dim, input.ndim), dtype=dtype or input.dtype)


@takes_masked
def softmin(
    input: Tensor, dim: int | None, *, dtype: DType | None = None, mask: Tensor | None = None
) -> Tensor:
    """``masked.softmax`` of the negative of ``input``, with its arguments and its shape."""
    kept = filled("softmin", input, mask, highest)
    return functions.softmax(-kept, dimension(dim, input.ndim), dtype=dtype or input.dtype)


@takes_masked
def normalize(
    input: Tensor,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """What ``mask`` leaves over its norm of order ``ord`` along ``dim``, or over ``eps`` if the norm is less.

    The results are 0 where elements are masked out. ``mask`` is a bool tensor that broadcasts to ``input``.
    The norm is computed in ``dtype``, by default that of ``input``.
    """
    wanted = dtype or input.dtype
    kept = filled("normalize", input.to(promote_types(input.dtype, wanted.opmath)), mask, 0)
    norms = reductions.norm(kept, ord, dim, keepdim=True, dtype=wanted.opmath, mask=mask)
    result = kept / functions.maximum(norms, norms.new_full([], eps))
    return result.to(promote_types(input.dtype, wanted))


@with_identity(lowest)
def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: DType | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``, where what is masked out counts as ``-inf``.

    ``input_mask`` and ``other_mask`` are bool tensors that broadcast to ``input`` and to ``other``. The
    result is converted to ``dtype``, by default that of ``input``.
    """
    input, input_mask = data_and_mask(input, input_mask)
    other, other_mask = data_and_mask(other, other_mask)
    one = filled("logaddexp", input, input_mask, lowest)
    two = filled("logaddexp", other, other_mask, lowest)
    return functions.logaddexp(one, two).to(dtype or input.dtype)
