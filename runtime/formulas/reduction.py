"""What the derivative formulas of reductions, scans and selections call.

Tensor-level and differentiable. ``dim`` and ``keepdim`` are the reduction's own arguments,
``result`` is what it returned.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod
from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..kernels.dims import axes_of
from ..kernels.named_dims import beside_of

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Dims = int | Sequence[int] | None
Shape = tuple[int, ...]
Number = int | float


def restored(reduced: Tensor, dim: Dims, keepdim: bool, ndim: int) -> Tensor:
    """The result of a reduction, in a shape that broadcasts with the input's."""
    dims = (dim,) if isinstance(dim, int) else dim
    return F._restore_dims(reduced, dims, keepdim, ndim)


def count_of(self: Tensor, dim: Dims) -> int:
    """How many elements a reduction over ``dim`` takes together."""
    axes = axes_of(dim, self.ndim)
    return prod([n for d, n in enumerate(self.shape) if d in axes])


def last_dims(sizes: Sequence[int]) -> tuple[int, ...]:
    """The dimensions that have these sizes, the last ones."""
    return tuple(range(-len(sizes), 0))


def beside(shared: Tensor, self: Tensor, dim: Dims) -> Tensor:
    """What all rows over ``dim`` of a tensor share, in a shape that broadcasts with it."""
    dims = axes_of(dim, self.ndim)
    return shared.reshape([n if d in dims else 1 for d, n in enumerate(self.shape)])


def by_names(self: Tensor, shape: Shape, names: Any, sizes: Shape, dims: Any, along: bool) -> Tensor:
    """What has ``dims``, with a dim for each name that rows of a shape have, as bodies call them.

    ``names`` are those, which of them have ``sizes``, and the dims of rows; ``along``: it has an element for
    each of these.
    """
    rows, sized, axes = names
    made = self.reshape(beside_of(rows, tuple(shape), sized, sizes, dims))
    if not along:
        return made
    whole = beside_of(rows, tuple(shape), sized, sizes, rows)
    return made.expand([n if d in axes else made.shape[d] for d, n in enumerate(whole)])


def summed_by_names(self: Tensor, shape: Shape, names: Any, sizes: Shape, dims: Any) -> Tensor:
    """The sum over the dims of rows of a shape that ``dims`` are not; these stay with size 1."""
    rows, sized, _ = names
    whole, own = [beside_of(rows, tuple(shape), sized, sizes, of) for of in (rows, dims)]
    others = [d for d, n in enumerate(whole) if own[d] != n]
    made = self.expand(whole)
    return made.sum(others, True) if others else made


def over_rows(values: Tensor, dim: Dims) -> Tensor:
    """The sum over all dimensions but ``dim``, which are kept with size 1."""
    dims = axes_of(dim, values.ndim)
    others = tuple([d for d in range(values.ndim) if d not in dims])
    return values.sum(others, True) if others else values


# -- extrema and selections --------------------------------------------------------------------


def share_among_equals(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """The gradient in equal parts to the elements that are equal to the result."""
    mask = self == restored(result, dim, keepdim, self.ndim)
    return restored(grad, dim, keepdim, self.ndim) * mask / mask.sum(dim, True)


def extremum_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """The mean of the tangents of the elements that are equal to the result."""
    mask = self_p == restored(result, dim, keepdim, self_p.ndim)
    return (self_t * mask).sum(dim, keepdim) / mask.sum(dim, keepdim)


def aminmax_backward(
    grad_min: Tensor, grad_max: Tensor, self: Tensor, min: Tensor, max: Tensor, dim: int | None, keepdim: bool
) -> Tensor:
    """The gradients of both extrema, each shared among the elements equal to it."""
    lower = share_among_equals(grad_min, self, min, dim, keepdim)
    return lower + share_among_equals(grad_max, self, max, dim, keepdim)


def equal_or_both_nan(self: Tensor, value: Tensor) -> Tensor:
    """Where ``self`` is ``value``, of which NaN is one."""
    return (self == value).logical_or((self != self).logical_and(value != value))


def evenly_distribute(grad: Tensor, self: Tensor, result: Tensor) -> Tensor:
    """The gradient in equal parts to the elements that are the result."""
    mask = equal_or_both_nan(self, result)
    return F.where(mask, grad / mask.sum().to(grad.dtype), 0)


def evenly_read(self_p: Tensor, self_t: Tensor, result: Tensor) -> Tensor:
    """The mean of the tangents of the elements that are the result."""
    mask = equal_or_both_nan(self_p, result)
    return self_t.masked_fill(mask.logical_not(), 0).sum() / mask.sum()


def selected(self: Tensor, dim: int, indices: Tensor, keepdim: bool) -> Tensor:
    """The elements at the ``indices`` that a selection along ``dim`` returned."""
    if keepdim or self.ndim == 0:
        return self.gather(dim, indices)
    return self.gather(dim, indices.unsqueeze(dim)).squeeze(dim)


def place_in_row(name: str, self: Tensor, dim: Dims) -> Tensor:
    """What ``argmax`` or ``argmin`` find over several dims, which are kept: a place among their elements."""
    dims = axes_of(dim, self.ndim)
    others = [d for d in range(self.ndim) if d not in dims]
    rows = self.permute([*others, *dims]).reshape([self.shape[d] for d in others] + [count_of(self, dim)])
    found: Tensor = getattr(rows, name)(-1)
    return found.reshape([1 if d in dims else n for d, n in enumerate(self.shape)])


# -- moments -------------------------------------------------------------------------------------


def centred(self: Tensor, dim: Dims) -> Tensor:
    """A tensor less its mean over ``dim``: twice, for the first one was rounded, as large as it may be."""
    once = self - self.mean(dim, True)
    rest = once.mean(dim, True)
    return once - rest.masked_fill(rest.isfinite().logical_not(), 0)


def _spread(self: Tensor, dim: Dims, correction: Number | None) -> Tensor:
    """The derivative of the variance by each element: 2 (x - mean) / (n - correction)."""
    free = count_of(self, dim) - (1 if correction is None else correction)
    return centred(self, dim) * (2 / free if free > 0 else inf)


def var_backward(grad: Tensor, self: Tensor, dim: Dims, correction: Number | None, keepdim: bool) -> Tensor:
    """grad * 2 (x - mean) / (n - correction)."""
    return restored(grad, dim, keepdim, self.ndim) * _spread(self, dim, correction)


def var_jvp(self_p: Tensor, self_t: Tensor, dim: Dims, correction: Number | None, keepdim: bool) -> Tensor:
    """The sum of the tangents times 2 (x - mean) / (n - correction), real."""
    return F.real(_spread(self_p, dim, correction).conj() * self_t).sum(dim, keepdim)


def _through_root(value: Tensor, result: Tensor) -> Tensor:
    """value / (2 result), 0 where the result is: there std has no derivative, and torch takes 0."""
    return (value / 2 / result).masked_fill(result == 0, 0)


def std_backward(
    grad: Tensor, self: Tensor, result: Tensor, dim: Dims, correction: Number | None, keepdim: bool
) -> Tensor:
    """grad * (x - mean) / (std (n - correction)), 0 where std is 0."""
    return var_backward(_through_root(grad, result), self, dim, correction, keepdim)


def std_jvp(
    self_p: Tensor, self_t: Tensor, result: Tensor, dim: Dims, correction: Number | None, keepdim: bool
) -> Tensor:
    """The tangent of the variance over 2 std, 0 where std is 0."""
    return _through_root(var_jvp(self_p, self_t, dim, correction, keepdim), result)


def var_mean_backward(
    grad_var: Tensor, grad_mean: Tensor, self: Tensor, dim: Dims, correction: Number | None, keepdim: bool
) -> Tensor:
    """The gradients of variance and mean together."""
    mean = restored(grad_mean, dim, keepdim, self.ndim) / count_of(self, dim)
    return var_backward(grad_var, self, dim, correction, keepdim) + mean


def std_mean_backward(
    grad_std: Tensor,
    grad_mean: Tensor,
    self: Tensor,
    result: Tensor,
    dim: Dims,
    correction: Number | None,
    keepdim: bool,
) -> Tensor:
    """The gradients of standard deviation and mean together."""
    return var_mean_backward(_through_root(grad_std, result), grad_mean, self, dim, correction, keepdim)


def logsumexp_weights(self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """exp(x - logsumexp(x)), the softmax; 0 where all are -inf."""
    result = restored(result, dim, keepdim, self.ndim)
    result = result.masked_fill(result == -inf, 0)
    if self.is_complex():  # an angle of many turns would be rounded by a difference
        return (self - result.real).exp() * (-1j * result.imag).exp()
    return (self - result).exp()


def logsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    """grad * softmax."""
    weights = logsumexp_weights(self, result, dim, keepdim)
    return restored(grad, dim, keepdim, self.ndim) * weights.conj()


# -- products ---------------------------------------------------------------------------------------


def prod_weights(self: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The product of all the other elements, in the result's dtype: exact also where some are 0.

    Without zeros it is result / x; with one, a product of cumulative products from both sides.
    """
    self = self.to(result.dtype)
    if self.ndim == 0:
        return F.ones_like(self)
    if dim is None:
        return prod_weights(self.reshape(-1), result, 0, False).reshape(self.shape)
    if self._type.backend.has_data and not (self == 0).any():
        return restored(result, dim, keepdim, self.ndim) / self
    before = shifted(self.cumprod(dim), dim, 1, 1)
    after = shifted(self.flip([dim]).cumprod(dim), dim, 1, 1).flip([dim])
    return before * after


def prod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """grad times the product of the other elements."""
    weights = prod_weights(self, result, dim, keepdim)
    return restored(grad, dim, keepdim, self.ndim) * weights.conj()


def prod_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The sum of the tangents, each times the product of the other elements."""
    return (self_t.to(result.dtype) * prod_weights(self_p, result, dim, keepdim)).sum(dim, keepdim)


# -- scans --------------------------------------------------------------------------------------------


def scan_of(name: str, self: Tensor, dim: int) -> Tensor:
    """The scan that has this name as an operator."""
    found: Any = getattr(F, name.removeprefix("arg"))(self, dim)
    made: Tensor = found[name.startswith("arg")] if isinstance(found, tuple) else found
    return made


def as_row(value: Any, like: Tensor) -> Tensor:
    """What is one number for each row, or for all, with an element for each of the row's."""
    if isinstance(value, (int, float)):
        return F.full_like(like, value)
    made: Tensor = F.broadcast_tensors([value, like])[0]
    return made


def shifted(self: Tensor, dim: int, by: int, fill: Number | None = 0) -> Tensor:
    """The elements moved one place back (``by`` 1) or forward (-1) along ``dim``.

    The place that becomes free gets ``fill``, or with None keeps what stood there.
    """
    n = self.shape[dim]
    if n == 0:
        return self
    edge = self.narrow(dim, 0 if by > 0 else n - 1, 1)
    free: Any = edge if fill is None else F.full_like(edge, fill)
    if by > 0:
        return F.cat([free, self.narrow(dim, 0, n - 1)], dim)
    return F.cat([self.narrow(dim, 1, n - 1), free], dim)


def _along(reverse: bool) -> int:
    """The shift that brings to each place what the scan met there before."""
    return -1 if reverse else 1


def linear_scan_backward(grad: Tensor, factor: Tensor, dim: int, reverse: bool) -> Tensor:
    """The same recurrence the other way round, each factor at the place before it."""
    if grad.ndim == 0:
        return grad
    return F._linear_scan(grad, shifted(factor.conj(), dim, -_along(reverse)), dim, not reverse)


def linear_scan_factor_backward(
    grad: Tensor, factor: Tensor, result: Tensor, dim: int, reverse: bool
) -> Tensor:
    """The gradient that arrives at each place, times the result before it."""
    if grad.ndim == 0:
        return F.zeros_like(grad)
    arriving = linear_scan_backward(grad, factor, dim, reverse)
    return arriving * shifted(result, dim, _along(reverse)).conj()


def linear_scan_jvp(
    self_t: Tensor, factor_p: Tensor, factor_t: Tensor, result: Tensor, dim: int, reverse: bool
) -> Tensor:
    """The recurrence of the tangents."""
    if self_t.ndim == 0:
        return self_t
    before = shifted(result, dim, _along(reverse))
    return F._linear_scan(self_t + factor_t * before, factor_p, dim, reverse)


def cumprod_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """What comes before an element, times a recurrence over what comes after it: no division by zeros."""
    if self.ndim == 0:
        return grad
    after = F._linear_scan(grad, shifted(self.to(result.dtype).conj(), dim, -1), dim, True)
    return after * shifted(result, dim, 1, 1).conj()


def cumprod_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    """dy[i] = y[i - 1] dx[i] + x[i] dy[i - 1]."""
    self_p, self_t = self_p.to(result.dtype), self_t.to(result.dtype)
    if self_p.ndim == 0:
        return self_t
    return F._linear_scan(self_t * shifted(result, dim, 1, 1), self_p, dim, False)


def _decay(result: Tensor, dim: int, by: int) -> Tensor:
    """exp(y - y') of neighbouring running log-sum-exps, the earlier less the later; 1 where equal."""
    other = shifted(result, dim, by, None)
    difference = result - other if by < 0 else other - result
    return difference.masked_fill(result == other, 0).exp()


def _share(self: Tensor, result: Tensor) -> Tensor:
    """exp(x - y), the part of the cumulative sum that its last element has; 0 for -inf."""
    return (self - result).masked_fill(self == -inf, -inf).exp()


def logcumsumexp_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """exp(x[i] - y[i]) times the sum over k >= i of grad[k] exp(y[i] - y[k]), as a recurrence."""
    if self.ndim == 0:
        return grad
    after = F._linear_scan(grad, _decay(result, dim, -1).conj(), dim, True)
    return after * _share(self, result).conj()


def logcumsumexp_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    """dy[i] = exp(x[i] - y[i]) dx[i] + exp(y[i - 1] - y[i]) dy[i - 1]."""
    if self_p.ndim == 0:
        return self_t
    return F._linear_scan(self_t * _share(self_p, result), _decay(result, dim, 1), dim, False)


def cummax_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Each gradient to the element that the running maximum was."""
    return F._gather_backward(grad, self.shape, dim, F.cummax(self, dim)[1])


def cummax_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    """The tangent of the element that the running maximum was."""
    return self_t.gather(dim, F.cummax(self_p, dim)[1])


def cummin_backward(grad: Tensor, self: Tensor, result: Tensor, dim: int) -> Tensor:
    """Each gradient to the element that the running minimum was."""
    return F._gather_backward(grad, self.shape, dim, F.cummin(self, dim)[1])


def cummin_jvp(self_p: Tensor, self_t: Tensor, result: Tensor, dim: int) -> Tensor:
    """The tangent of the element that the running minimum was."""
    return self_t.gather(dim, F.cummin(self_p, dim)[1])
