"""Integrals by trapezoids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..native.dims import wrap_dim

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


def _dimension(y: Tensor, dim: int) -> int:
    if not y.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return wrap_dim(dim, y.ndim)


def _check_numbers(name: str, *tensors: Tensor) -> None:
    if any([t.dtype.category == "bool" for t in tensors]):
        which = "`y`" if len(tensors) == 1 else "`x` or `y`"
        raise RuntimeError(f"{name}: received a bool input for {which}, but bool is not supported")


def _distance(name: str, dx: Number) -> float:
    if isinstance(dx, (bool, complex)):
        raise RuntimeError(f"{name}: Currently, we only support dx as a real number, but got {dx}")
    return float(dx)


def _nothing(y: Tensor, dim: int) -> Tensor:
    """The integrals of no samples."""
    return y.new_zeros((*y.shape[:dim], *y.shape[dim + 1 :]))


def _distances(name: str, y: Tensor, x: Tensor, dim: int) -> Tensor:
    """From each point to the next, along ``dim``. RuntimeError where a vector has not one for each sample."""
    if x.ndim == 1:
        if x.shape[0] != y.shape[dim]:
            raise RuntimeError(
                f"{name}: There must be one `x` value for each sample point, "
                f"but got {x.shape[0]} for {y.shape[dim]}"
            )
        x = x.view((-1, *[1] * (y.ndim - 1 - dim)))
    if x.ndim < y.ndim:
        x = x.view((*[1] * (y.ndim - x.ndim), *x.shape))
    return x[(slice(None),) * dim + (slice(1, None),)] - x[(slice(None),) * dim + (slice(-1),)]


def _sums(y: Tensor, dim: int) -> Tensor:
    """Each sample and the next one."""
    before = (slice(None),) * dim
    return y[(*before, slice(-1))] + y[(*before, slice(1, None))]


def trapezoid(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The integral along ``dim`` of samples at the points ``x``; 0 of none."""
    d = _dimension(y, dim)
    if not y.shape[d]:
        return _nothing(y, d)
    _check_numbers("trapezoid", y, x)
    return (_sums(y, d) * _distances("trapezoid", y, x, d)).sum(d) / 2.0


def trapezoid_dx(y: Tensor, dx: Number, dim: int) -> Tensor:
    """The integral of samples at equal distances."""
    d = _dimension(y, dim)
    if not y.shape[d]:
        return _nothing(y, d)
    _check_numbers("trapezoid", y)
    between = _distance("trapezoid", dx)
    ends: Tensor = y.select(d, 0) + y.select(d, -1)
    return (y.sum(d) - ends * 0.5) * between


def cumulative_trapezoid(y: Tensor, x: Tensor, dim: int) -> Tensor:
    """The integrals up to each point but the first."""
    d = _dimension(y, dim)
    _check_numbers("cumulative_trapezoid", y, x)
    return (_sums(y, d) * _distances("cumulative_trapezoid", y, x, d)).cumsum(d) / 2.0


def cumulative_trapezoid_dx(y: Tensor, dx: Number, dim: int) -> Tensor:
    """The integrals up to each sample but the first, of samples at equal distances."""
    d = _dimension(y, dim)
    _check_numbers("cumulative_trapezoid", y)
    half = _distance("cumulative_trapezoid", dx) / 2.0
    return (_sums(y, d) * half).cumsum(d)
