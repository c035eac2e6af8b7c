"""Reductions over what a mask leaves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from tengen.generated import functions, linalg_functions, scalar_types

from ..core.memory_format import sparse_csr, strided
from ..core.scalar_type import dtype as DType
from ..tensors.creation import tensor
from ..tensors.tensor import Tensor
from . import sparse
from .masks import (
    IDENTITIES,
    check_layout,
    dimension,
    dimensions,
    filled,
    fitting,
    highest,
    log_of_nothing,
    lowest,
    takes_masked,
    with_identity,
)

Dims = int | Sequence[int] | None


def _total(input: Tensor, dtype: DType | None) -> DType:
    """The dtype of a sum or product: integers and bools become int64."""
    if dtype is None and not input.dtype.is_inexact:
        return scalar_types.int64
    return dtype or input.dtype


@takes_masked
@with_identity(0)
def sum(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sums over ``dim``, or over all dimensions, of what ``mask`` leaves; 0 where it leaves nothing.

    ``mask`` is a bool tensor that broadcasts to ``input``. The result has the dtype ``dtype``, by default
    that of ``input``, of integers int64; with ``keepdim`` the reduced dimensions have size 1.

    A tensor of the layout sparse_coo or sparse_csr gives one of the same layout: what is not stored is masked
    out, and a result of which nothing is left is not stored. Of sparse_csr only ``keepdim=True`` is possible.
    """
    if input.layout is not strided:
        return sparse.reduce("sum", 0, input, dim, keepdim, _total(input, dtype), mask)
    kept = filled("sum", input, mask, 0)
    return kept.sum(dimensions(dim, input.ndim), keepdim, dtype=_total(input, dtype))


@takes_masked
@with_identity(1)
def prod(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The products over ``dim``, or over all dimensions, of what ``mask`` leaves; 1 where it leaves nothing.

    ``mask`` is a bool tensor that broadcasts to ``input``. The result has the dtype ``dtype``, by default
    that of ``input``, of integers int64; with ``keepdim`` the reduced dimensions have size 1.

    A tensor of the layout sparse_coo or sparse_csr gives one of the same layout: what is not stored is masked
    out, and a result of which nothing is left is not stored. Of sparse_csr only ``keepdim=True`` is
    possible, and both need a mask.
    """
    if input.layout is not strided:
        return sparse.reduce("prod", 1, input, dim, keepdim, _total(input, dtype), mask)
    total = _total(input, dtype)
    result = filled("prod", input, mask, 1).to(total).to(total.opmath)
    for d in reversed(dimensions(dim, input.ndim)):
        result = result.prod(d, keepdim)
    return result.to(total)


@takes_masked
@with_identity(lowest)
def amax(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest over ``dim``, or over all dimensions, of the elements that ``mask`` leaves.

    Where it leaves none this is ``-inf``, or the least integer of the dtype. ``mask`` is a bool tensor that
    broadcasts to ``input``. The result is converted to ``dtype``; with ``keepdim`` the reduced dimensions
    have size 1. NotImplementedError for bools with a mask.

    A tensor of the layout sparse_coo or sparse_csr gives one of the same layout: what is not stored is masked
    out, and a result of which nothing is left is not stored. Of sparse_csr only ``keepdim=True`` is
    possible, and both need a mask.
    """
    if input.layout is not strided:
        identity = lowest("amax", input.dtype)
        return sparse.reduce("amax", identity, input, dim, keepdim, dtype or input.dtype, mask)
    kept = filled("amax", input, mask, lowest)
    return kept.amax(dimensions(dim, input.ndim), keepdim).to(dtype or input.dtype)


@takes_masked
@with_identity(highest)
def amin(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least over ``dim``, or over all dimensions, of the elements that ``mask`` leaves.

    Where it leaves none this is ``inf``, or the largest integer of the dtype. ``mask`` is a bool tensor that
    broadcasts to ``input``. The result is converted to ``dtype``; with ``keepdim`` the reduced dimensions
    have size 1. NotImplementedError for bools with a mask.

    A tensor of the layout sparse_coo or sparse_csr gives one of the same layout: what is not stored is masked
    out, and a result of which nothing is left is not stored. Of sparse_csr only ``keepdim=True`` is
    possible, and both need a mask.
    """
    if input.layout is not strided:
        identity = highest("amin", input.dtype)
        return sparse.reduce("amin", identity, input, dim, keepdim, dtype or input.dtype, mask)
    kept = filled("amin", input, mask, highest)
    return kept.amin(dimensions(dim, input.ndim), keepdim).to(dtype or input.dtype)


@takes_masked
@with_identity(lowest)
def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The indices along ``dim``, or in the flattened tensor, of the largest element that ``mask`` leaves.

    ``mask`` is a bool tensor that broadcasts to ``input``; where it leaves none, the index is of no element
    in particular. The result has the dtype ``dtype``, by default, as in PyTorch, that of ``input``; with
    ``keepdim`` the reduced dimension has size 1. NotImplementedError for bools with a mask.
    """
    kept = filled("argmax", input, mask, lowest)
    return kept.argmax(dim, keepdim).to(dtype or input.dtype)


@takes_masked
@with_identity(highest)
def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The indices along ``dim``, or in the flattened tensor, of the least element that ``mask`` leaves.

    ``mask`` is a bool tensor that broadcasts to ``input``; where it leaves none, the index is of no element
    in particular. The result has the dtype ``dtype``, by default, as in PyTorch, that of ``input``; with
    ``keepdim`` the reduced dimension has size 1. NotImplementedError for bools with a mask.
    """
    kept = filled("argmin", input, mask, highest)
    return kept.argmin(dim, keepdim).to(dtype or input.dtype)


@takes_masked
@with_identity(None)
def mean(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The means over ``dim``, or over all dimensions, of what ``mask`` leaves; NaN where it leaves nothing.

    ``mask`` is a bool tensor that broadcasts to ``input``. The result has the dtype ``dtype``, by default
    that of ``input``; ValueError where that is neither floating nor complex. With ``keepdim`` the reduced
    dimensions have size 1.
    """
    wanted = dtype or input.dtype
    if not wanted.is_inexact:
        what = "the dtype of 'input'" if dtype is None else "'dtype'"
        raise ValueError(f"masked.mean(): {what} must be floating or complex, but got {wanted}")
    if input.layout is not strided:
        check_layout("mean", input, sparse_csr)
        return sparse.reduce("mean", math.nan, input, dim, keepdim, wanted, mask)
    total = sum(input.to(wanted), dim, keepdim=keepdim, dtype=wanted.opmath, mask=mask)
    return (total / _count("mean", input, dim, keepdim, mask)).to(wanted)


def _count(function: str, input: Tensor, dim: Dims, keepdim: bool, mask: Tensor | None) -> int | Tensor:
    """How many elements there are for each result."""
    dims = dimensions(dim, input.ndim)
    if mask is None:
        return math.prod(input.shape[d] for d in dims)
    return fitting(function, input, mask).sum(dims, keepdim)


@takes_masked
@with_identity(math.nan)
def median(
    input: Tensor,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The medians along ``dim`` of what ``mask`` leaves, the lower of two; NaN where it leaves nothing.

    NaN counts as masked out. ``mask`` is a bool tensor that broadcasts to ``input``. The result has the dtype
    of ``input``, and of integers ``dtype`` if it is given; ValueError where for one of these no element is
    left. With ``keepdim`` the reduced dimension has size 1.
    """
    floating = input.dtype.is_floating_point
    values = input if floating else input.to(scalar_types.float32)
    kept = filled("median", values, mask, math.nan)
    result = kept.nanmedian(dimension(dim, input.ndim), keepdim)[0]
    if floating:
        return result
    if bool(result.isnan().any()):
        raise ValueError(f"masked.median: a row has no element left, and there is no NaN in {input.dtype}")
    return result.to(dtype or input.dtype)


@takes_masked
@with_identity(log_of_nothing)
def logsumexp(
    input: Tensor,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The logarithms of the sums of exponentials over ``dim``, or all dimensions, of what ``mask`` leaves.

    Where it leaves nothing this is ``-inf``. ``mask`` is a bool tensor that broadcasts to ``input``. The
    result is converted to ``dtype``, by default that of ``input``; with ``keepdim`` the reduced dimensions
    have size 1.
    """
    kept = filled("logsumexp", input, mask, log_of_nothing)
    return kept.logsumexp(dimensions(dim, input.ndim), keepdim).to(dtype or input.dtype)


@takes_masked
@with_identity(0)
def norm(
    input: Tensor,
    ord: float | None = 2.0,
    dim: Dims = None,
    *,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norms over ``dim``, or over all dimensions, of the elements that ``mask`` leaves.

    ``ord`` is the order, as of ``linalg.vector_norm``. Where no element is left the norm is 0, with the order
    ``-inf`` it is ``inf``. ``mask`` is a bool tensor that broadcasts to ``input``. It is computed in
    ``dtype``, by default that of ``input``; with ``keepdim`` the reduced dimensions have size 1.
    """
    order = 2.0 if ord is None else ord
    kept = filled("norm", input, mask, math.inf if order == -math.inf else 0)
    dims = dimensions(dim, input.ndim)
    return linalg_functions.vector_norm(kept, order, dims, keepdim, dtype=dtype or input.dtype)


@takes_masked
@with_identity(None)
def var(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variances over ``dim``, or over all dimensions, of what ``mask`` leaves.

    They are NaN where nothing is left. The sums of squares are divided by the number of elements less
    ``correction`` (1 by default; ``unbiased=False`` stands for 0; ValueError where both are given). ``mask``
    is a bool tensor that broadcasts to ``input``. The result has the dtype ``dtype``, by default that of
    ``input``, of integers float32; with ``keepdim`` the reduced dimensions have size 1.
    """
    return _variances("var", input, dim, unbiased, correction, keepdim, mask, dtype).to(_wanted(input, dtype))


@takes_masked
@with_identity(None)
def std(
    input: Tensor,
    dim: Dims = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: DType | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square roots of what ``masked.var`` gives, with its arguments, dtypes and errors."""
    variances = _variances("std", input, dim, unbiased, correction, keepdim, mask, dtype)
    return functions.sqrt(variances).to(_wanted(input, dtype))


def _wanted(input: Tensor, dtype: DType | None) -> DType:
    """The dtype of variances: of integers float32."""
    return dtype or (input.dtype if input.dtype.is_inexact else scalar_types.float32)


def _variances(
    function: str,
    input: Tensor,
    dim: Dims,
    unbiased: bool | None,
    correction: float | None,
    keepdim: bool,
    mask: Tensor | None,
    dtype: DType | None,
) -> Tensor:
    """What ``var`` rounds to its dtype, in double precision, whose roots ``std`` takes."""
    if unbiased is not None and correction is not None:
        raise ValueError(f"masked.{function}(): expected one of 'unbiased' and 'correction', but got both")
    less = correction if correction is not None else 0.0 if unbiased is False else 1.0
    check_layout(function, input)
    complex_ = _wanted(input, dtype).is_complex
    computed = scalar_types.complex128 if complex_ else scalar_types.float64
    count = _count(function, input, dim, True, mask)
    centred = input.to(computed) - sum(input, dim, keepdim=True, dtype=computed, mask=mask) / count
    squares = sum(centred * centred.conj(), dim, keepdim=keepdim, dtype=computed, mask=mask)
    count = _count(function, input, dim, keepdim, mask)
    if isinstance(count, Tensor):
        return squares / (count.to(scalar_types.float64) - less).clamp(min=0)
    return squares / max(count - less, 0)


def reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """What a reduction gives where nothing is left, as a 0-d tensor on the device of ``input``.

    It has the dtype of ``input``, of the median of integers float32. None for a mean and variances, which
    have none; NotImplementedError for what is no reduction, and for dtypes that have none; TypeError for
    complex numbers of what needs an order, and for the norm of order ``-inf`` of all but floats. ``args`` are
    the reduction's: the order of a norm.
    """
    name, dtype = op_name.rpartition(".")[2], input.dtype
    if name not in IDENTITIES:
        raise NotImplementedError(f"masked._reduction_identity(): {op_name} is no masked reduction")
    value = IDENTITIES[name]
    if value is None:
        return None
    if callable(value):
        value = value(name, dtype)
    elif args and args[0] == -math.inf:  # the order of a norm
        if not dtype.is_floating_point:
            raise TypeError(f"masked.{name}: the order -inf has no identity for {dtype}")
        value = math.inf
    elif math.isnan(value) and not dtype.is_floating_point:
        dtype = scalar_types.float32
    return tensor(value, dtype=dtype, device=input.device)


def output_mask(
    op: Callable[..., Tensor],
    input: Tensor,
    *args: Any,
    dim: Dims = None,
    keepdim: bool = False,
    mask: Tensor,
    **rest: Any,
) -> Tensor:
    """For a call of a masked function, which of its results come from an element that ``mask`` leaves."""
    kept = fitting(op.__name__, input, mask)
    if op.__module__ != __name__:
        return kept
    args = args[1:] if op is norm else args
    for d in reversed(dimensions(args[0] if args else dim, input.ndim)):
        kept = kept.any(d, keepdim)
    return kept
