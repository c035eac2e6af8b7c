"""Reductions, and what accumulates."""

from __future__ import annotations

from tengen.generated import functions as _f

from ..core.scalar_type import dtype as DType
from ..tensors.tensor import Tensor
from .operands import Axes, axes_of, is_integer, one_axis


def all(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether all elements are true."""
    return _f.all(*_over(x != 0, axis, keepdims))


def any(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """Whether an element is true."""
    return _f.any(*_over(x != 0, axis, keepdims))


def count_nonzero(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """How many elements are not zero."""
    return sum(x != 0, axis=axis, keepdims=keepdims)


def cumulative_prod(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The products of the elements up to each; after a one, with ``include_initial``."""
    dim = _only_axis("cumulative_prod", x, axis)
    found = _f.cumprod(x, dim, dtype=dtype or _wide(x.dtype))
    return _after(1, found, dim) if include_initial else found


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DType | None = None, include_initial: bool = False
) -> Tensor:
    """The sums of the elements up to each; after a zero, with ``include_initial``."""
    dim = _only_axis("cumulative_sum", x, axis)
    found = _f.cumsum(x, dim, dtype=dtype or _wide(x.dtype))
    return _after(0, found, dim) if include_initial else found


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """The ``n``-th differences of neighbours, of ``x`` between what is put before and behind it."""
    return _f.diff(x, n, one_axis(x, axis), prepend, append)


def max(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The greatest elements; NaN where there is one."""
    return _f.amax(*_over(x, axis, keepdims))


def mean(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The means of the elements."""
    return _f.mean(*_over(x, axis, keepdims))


def min(x: Tensor, /, *, axis: Axes = None, keepdims: bool = False) -> Tensor:
    """The smallest elements; NaN where there is one."""
    return _f.amin(*_over(x, axis, keepdims))


def prod(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The products, of integers in int64."""
    x, dims, keepdim = _over(x.to(dtype or _wide(x.dtype)), axis, keepdims)
    for dim in sorted(dims, reverse=True):
        x = _f.prod(x, dim, keepdim, dtype=x.dtype)
    return x


def std(x: Tensor, /, *, axis: Axes = None, correction: int | float = 0.0, keepdims: bool = False) -> Tensor:
    """The standard deviations; ``correction`` is taken off the number of elements that divides."""
    x, dims, keepdim = _over(x, axis, keepdims)
    return _f.std(x, dims, correction=correction, keepdim=keepdim)


def sum(x: Tensor, /, *, axis: Axes = None, dtype: DType | None = None, keepdims: bool = False) -> Tensor:
    """The sums, of integers in int64."""
    return _f.sum(*_over(x, axis, keepdims), dtype=dtype or _wide(x.dtype))


def var(x: Tensor, /, *, axis: Axes = None, correction: int | float = 0.0, keepdims: bool = False) -> Tensor:
    """The variances; ``correction`` is taken off the number of elements that divides."""
    x, dims, keepdim = _over(x, axis, keepdims)
    return _f.var(x, dims, correction=correction, keepdim=keepdim)


def _over(x: Tensor, axis: Axes, keepdims: bool) -> tuple[Tensor, tuple[int, ...], bool]:
    """What an operator is called with. In place of no axes it is a new one, for () means all to PyTorch."""
    dims = axes_of(x, axis)
    return (x, dims, keepdims) if dims else (x.unsqueeze(-1), (-1,), False)


def _wide(dtype: DType) -> DType:
    """The dtype of sums and products: of integers int64, which has all operators; of uint64 itself."""
    if dtype.name == "bool" or (is_integer(dtype) and dtype.name != "uint64"):
        return DType.registry["int64"]
    return dtype


def _only_axis(function: str, x: Tensor, axis: int | None) -> int:
    if axis is None:
        if x.dim() != 1:
            raise ValueError(f"{function}(): axis must be given for an array of {x.dim()} dimensions")
        return 0
    return one_axis(x, axis)


def _after(first: int, x: Tensor, dim: int) -> Tensor:
    shape = [1 if d == dim else n for d, n in enumerate(x.shape)]
    return _f.cat([x.new_full(shape, first), x], dim)
