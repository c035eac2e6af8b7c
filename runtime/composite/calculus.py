"""Integrals by trapezoids, and gradients by differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..kernels.dims import wrap_dim, wrap_dims

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


def _part(self: Tensor, d: int, start: int | None, stop: int | None) -> Tensor:
    """A slice along ``d``."""
    return self[(slice(None),) * d + (slice(start, stop),)]


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
    return _part(x, dim, 1, None) - _part(x, dim, None, -1)


def _sums(y: Tensor, dim: int) -> Tensor:
    """Each sample and the next one."""
    return _part(y, dim, None, -1) + _part(y, dim, 1, None)


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


# -------------------------------------------------------------------------------- gradients


def gradient(
    self: Tensor,
    spacing: Any,
    dim: Sequence[int] | int | None,
    edge_order: int,
) -> tuple[Tensor, ...]:
    """The derivatives along ``dim``, in rows. The spacing is one distance, or a list of them or of points."""
    one = spacing is None or isinstance(spacing, (bool, int, float, complex))
    dims = _gradient_dims(self, dim, None if one else len(spacing), edge_order)
    each = [1 if spacing is None else spacing] * len(dims) if one else spacing
    found = []
    for d, between in zip(dims, each, strict=True):
        given = isinstance(between, (bool, int, float, complex))
        found.append((_by_distance if given else _by_points)(self, between, d, edge_order))
    return tuple(found)


def _gradient_dims(
    self: Tensor, dim: Sequence[int] | int | None, given: int | None, edge: int
) -> Sequence[int]:
    """Along which dimensions there are gradients; ``given`` is how many spacings there are, None one for all.

    Raises RuntimeError where these are not as many, a dimension occurs twice, or has too few points.
    """
    if self.dtype.name == "uint8":
        raise RuntimeError("torch.gradient does not support uint8 input.")
    if edge not in (1, 2):
        raise RuntimeError(f"torch.gradient only supports edge_order=1 and edge_order=2, but got {edge}.")
    wanted = range(self.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    if not self.ndim and len(wanted):
        raise IndexError(f"Dimension specified as {wanted[0]} but tensor has no dimensions")
    dims = wrap_dims(wanted, self.ndim)
    if given not in (None, len(dims)):
        raise RuntimeError(
            "gradient: expected spacing to be unspecified, a scalar or a list of as many as there are "
            f"dimensions, {len(dims)}, but got a list of length {given}"
        )
    for d in dims:
        if self.shape[d] < edge + 1:
            raise RuntimeError(
                "gradient: expected each dimension size to be at least edge_order+1, "
                f"but dimension {d} has size {self.shape[d]}"
            )
    return dims


def _by_distance(self: Tensor, h: Number, d: int, edge: int) -> Tensor:
    """The derivative along ``d`` of samples at the distance ``h``."""
    inner = (_part(self, d, 2, None) - _part(self, d, 0, -2)) / h / 2
    first, second, before, last = _ends(self, d)
    if edge == 1:
        start, end = second - first, last - before
    else:
        start = first * -1.5 + second * 2 - _part(self, d, 2, 3) * 0.5
        end = _part(self, d, -3, -2) * 0.5 - before * 2 + last * 1.5
    return F.cat([start / h, inner, end / h], d).contiguous()


def _by_points(self: Tensor, x: Tensor, d: int, edge: int) -> Tensor:
    """The derivative along ``d`` of samples at the points ``x``: of the parabola through each three."""
    if x.ndim != 1:
        raise RuntimeError(
            "gradient: expected each element of spacing to have one dimension, "
            f"but got an element with {x.ndim} dimensions!"
        )
    if x.device != self.device:
        raise RuntimeError(
            "gradient: expected each tensor to be on the same device, "
            f"but got devices {self.device} and {x.device}."
        )
    h = x.diff()
    left, right = h[:-1], h[1:]
    shape = (-1, *[1] * (self.ndim - 1 - d))
    a = (-right / (left * (left + right))).reshape(shape)
    b = ((right - left) / (left * right)).reshape(shape)
    c = (left / (right * (left + right))).reshape(shape)
    inner = a * _part(self, d, 0, -2) + b * _part(self, d, 1, -1) + c * _part(self, d, 2, None)
    first, second, before, last = _ends(self, d)
    if edge == 1:
        return F.cat([(second - first) / h[0], inner, (last - before) / h[-1]], d).contiguous()
    start = _at_the_edge(first, second, _part(self, d, 2, 3), h[0], h[1])
    end = _at_the_edge(last, before, _part(self, d, -3, -2), -h[-1], -h[-2])
    return F.cat([start, inner, end], d).contiguous()


def _ends(self: Tensor, d: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The first two and the last two slices along ``d``."""
    parts = ((0, 1), (1, 2), (-2, -1), (-1, None))
    first, second, before, last = [_part(self, d, start, end) for start, end in parts]
    return first, second, before, last


def _at_the_edge(first: Tensor, second: Tensor, third: Tensor, h: Tensor, k: Tensor) -> Tensor:
    """The derivative at the first of three points, which are ``h`` and ``k`` apart."""
    return (
        first * (-(2.0 * h + k) / (h * (h + k))) + second * ((h + k) / (h * k)) - third * (h / (k * (h + k)))
    )
