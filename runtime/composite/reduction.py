"""Reductions, differences and norms that are made of other operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..core.scalar_type import bool_
from ..kernels.dims import wrap_dim

if TYPE_CHECKING:
    from ..core.scalar_type import dtype as ScalarType
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def nanmean(
    self: Tensor, dim: Sequence[int] | None = None, keepdim: bool = False, dtype: ScalarType | None = None
) -> Tensor:
    """The mean over ``dim`` of the elements that are not NaN. RuntimeError for bools and integers."""
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(
            f"nanmean: expected input to have floating point or complex dtype but got {self.dtype}"
        )
    present = (self == self).sum(dim, keepdim)
    return self.nansum(dim, keepdim, dtype=dtype) / present


def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """The sum over what ``expand`` would repeat; RuntimeError where it does not make ``self`` of ``size``."""
    given, target = tuple(self.shape), tuple(size)
    lead = len(given) - len(target)
    if lead < 0 or any([m not in (1, n) for n, m in zip(given[lead:], target, strict=True)]):
        raise RuntimeError(
            f"sum_to_size: a tensor of size {list(target)} cannot be expanded to that of self, {list(given)}"
        )
    if not target:
        return self.sum()
    if given == target:
        return self
    dims = [d for d, n in enumerate(given) if d < lead or n != target[d - lead]]
    summed = self.sum(dims, True)
    return summed.reshape(target) if lead else summed


def norm(
    self: Tensor,
    p: Number | str | None = 2,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: ScalarType | None = None,
) -> Tensor:
    """The ``p``-norm of vectors, or by its name a norm of matrices, over ``dim``."""
    if p == "fro" and (dim is None or len(dim) <= 2):
        p = 2
    if isinstance(p, str):
        dims = tuple(range(self.ndim)) if dim is None else dim
        named: Tensor = F.linalg_matrix_norm(self, p, dims, keepdim, dtype=dtype)
        return named
    result: Tensor = F.linalg_vector_norm(self, 2 if p is None else p, dim, keepdim, dtype=dtype)
    return result


def diff(
    self: Tensor, n: int = 1, dim: int = -1, prepend: Tensor | None = None, append: Tensor | None = None
) -> Tensor:
    """The ``n``-th differences of neighbours along ``dim``. RuntimeError for a 0-d tensor, and a negative
    ``n``."""
    if self.ndim == 0:
        raise RuntimeError("diff: expects input to be at least one-dimensional")
    dim = wrap_dim(dim, self.ndim)
    if n < 0:
        raise RuntimeError(f"diff: order must be non-negative but got {n}")
    for other in (prepend, append):
        if other is not None:
            _check_joinable(self, other, dim)
    if n and (prepend is not None or append is not None):
        self = F.cat([t for t in (prepend, self, append) if t is not None], dim)
    if n == 0:
        return self.clone()
    differ: Any = F.logical_xor if self.dtype is bool_ else F.sub
    length = self.shape[dim]
    for left in range(length, max(length - n, 0), -1):
        self = differ(self.narrow(dim, 1, left - 1), self.narrow(dim, 0, left - 1))
    return self


def _check_joinable(self: Tensor, other: Tensor, dim: int) -> None:
    if other.ndim != self.ndim:
        raise RuntimeError("diff: expects prepend or append to be the same dimension as input")
    for d in range(self.ndim):
        if d != dim and other.shape[d] != self.shape[d]:
            raise RuntimeError(
                "diff: expects the shape of tensor to prepend or append to match that of input except along "
                f"the differencing dimension; input.size({d}) = {self.shape[d]}, but got tensor.size({d}) = "
                f"{other.shape[d]}"
            )


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms over all dimensions but ``dim``, or with -1 over all; RuntimeError where there is nothing."""
    if dim == -1:
        return norm(v, pow)
    if not v.ndim:
        raise IndexError(f"norm_except_dim: dim {dim} of a tensor that has no dimensions")
    d = wrap_dim(dim, v.ndim)
    size, others = v.shape[d], (1,) * (v.ndim - 1)
    if d == v.ndim - 1 and d:
        return norm(v.reshape((-1, size)), pow, (0,)).view((*others, size))
    return norm(v.transpose(0, d).reshape((size, -1)), pow, (1,)).view((size, *others)).transpose(0, d)


def is_true(which: str, self: Tensor) -> Tensor:
    """Whether all elements of a bool tensor are True, or any is. RuntimeError for another dtype."""
    if self.dtype is not bool_:
        raise RuntimeError(f"_is_{which}_true: expected a bool tensor, but got one of {self.dtype}")
    return self.all() if which == "all" else self.any()
