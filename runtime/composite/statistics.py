"""Quantiles and covariances."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..core.user_stack import program_stacklevel
from ..kernels.dims import wrap_dim

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")
#: Ranks in longer rows are no whole numbers of float32.
LONGEST = 2**24


def _holds(self: Tensor) -> bool:
    """Whether all of it is true; what has no data is taken to be."""
    return not self._type.backend.has_data or bool(self.detach().all())


# -------------------------------------------------------------------------------- quantiles


def _rows(self: Tensor, dim: int | None, name: str) -> Tensor:
    """What quantiles are of, sorted, in the last dimension; another ``dim`` leaves one of size 1."""
    if not self.numel():
        raise RuntimeError(f"{name}() input tensor must be non-empty")
    if self.dtype.category != "floating":
        raise RuntimeError(f"{name}() input tensor must be either float or double dtype, not {self.dtype}")
    rows = self.flatten() if dim is None or not self.ndim else self.unsqueeze(-1).transpose(dim, -1)
    if rows.shape[-1] > LONGEST:
        raise RuntimeError(
            f"{name}() input tensor is too large: {rows.shape[-1]} elements are more than 2^24"
        )
    found: Tensor = rows.sort(-1)[0]
    return found


def _quantile(
    self: Tensor,
    q: Tensor | float,
    dim: int | None,
    keepdim: bool,
    interpolation: str,
    ignore_nan: bool,
) -> Tensor:
    """The elements at ``q`` of the way through the sorted ones, interpolated where that is between two."""
    name = "nanquantile" if ignore_nan else "quantile"
    d = None if dim is None else wrap_dim(dim, self.ndim)
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"{name}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {interpolation}"
        )
    rows = _rows(self, d, name)
    q = _points(self, q, name)
    points, missing = q.reshape((-1,)), rows.isnan()
    if ignore_nan:
        ranks = (points * (missing.logical_not().sum(-1, True) - 1)).clamp(min=0)
    else:
        ranks = F.where(missing.any(-1, True), float(rows.shape[-1] - 1), points * (rows.shape[-1] - 1))
    found = _between(rows, ranks, interpolation)
    found = found.movedim(-1, 0) if q.ndim else found.squeeze(-1)
    if d is None or not self.ndim:
        return found.reshape((*q.shape, *[1] * self.ndim)) if keepdim else found
    return found if keepdim else found.squeeze(d + q.ndim)


def _points(self: Tensor, q: Tensor | float, name: str) -> Tensor:
    """``q`` as a tensor. Raises RuntimeError where it is no scalar or vector of the dtype, from 0 to 1."""
    if isinstance(q, (int, float)):
        if not 0 <= q <= 1:
            raise RuntimeError(f"{name}() q must be in the range [0, 1] but got {q}")
        return self.new_full((), q)
    if q.ndim > 1:
        raise RuntimeError(f"{name}() q must be a scalar or 1D tensor, but got {q.ndim} dimensions")
    if q.dtype is not self.dtype:
        raise RuntimeError(
            f"{name}() q tensor must be same dtype as the input tensor, but got {q.dtype} and {self.dtype}"
        )
    if not _holds((q >= 0) & (q <= 1)):
        raise RuntimeError(f"{name}() q values must be in the range [0, 1]")
    return q


def _between(rows: Tensor, ranks: Tensor, interpolation: str) -> Tensor:
    """What stands at these ranks."""
    if interpolation in ("linear", "midpoint"):
        below, above = ranks.floor(), ranks.ceil()
        weights = ranks - below if interpolation == "linear" else F.full_like(ranks, 0.5)
        return rows.gather(-1, below.long()).lerp(rows.gather(-1, above.long()), weights)
    rounded = {"lower": ranks.floor, "higher": ranks.ceil, "nearest": ranks.round}[interpolation]()
    return rows.gather(-1, rounded.long())


def quantile(self: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, interpolation: str) -> Tensor:
    """NaN where there is one."""
    return _quantile(self, q, dim, keepdim, interpolation, False)


def nanquantile(
    self: Tensor, q: Tensor | float, dim: int | None, keepdim: bool, interpolation: str
) -> Tensor:
    """Of what is not NaN."""
    return _quantile(self, q, dim, keepdim, interpolation, True)


# ------------------------------------------------------------------------------ covariances


def _check_weights(weights: Tensor, name: str, count: int) -> None:
    """Raises RuntimeError for weights that are no vector of as many numbers, or negative."""
    if weights.ndim > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions "
            f"but got {name} with {weights.ndim} dimensions"
        )
    category = "integral" if name == "fweights" else "floating"
    if weights.dtype.category not in (category, "reduced" if category == "floating" else category):
        kind = "integral" if category == "integral" else "floating point"
        raise RuntimeError(f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype}")
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input "
            f"but got {weights.numel()} != {count}"
        )
    if not _holds(weights >= 0):
        raise RuntimeError(f"cov(): {name} cannot be negative")


def cov(
    self: Tensor, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of the rows; of one row, or one number, the variance. RuntimeError for bools, for more
    than two dimensions, and for weights that add up to 0."""
    if self.ndim > 2:
        raise RuntimeError(
            "cov(): expected input to have two or fewer dimensions "
            f"but got an input with {self.ndim} dimensions"
        )
    if self.dtype.category == "bool":
        raise RuntimeError("cov(): bool dtype is not supported for input")
    values = self.reshape((1, -1)) if self.ndim < 2 else self
    count = values.shape[1]
    weights = None
    for name, given in (("fweights", fweights), ("aweights", aweights)):
        if given is not None:
            _check_weights(given, name, count)
            weights = given if weights is None else weights * given
    total: Any = count if weights is None else weights.sum()
    if weights is not None and not _holds(total != 0):
        raise RuntimeError("cov(): weights sum to zero, can't be normalized")
    centred = values
    for _ in range(2):  # the mean of large numbers is rounded: what is left has a mean
        means = (centred if weights is None else centred * weights).sum(1) / total
        centred = centred - means.unsqueeze(1)
    freedom: Any = total - correction
    if weights is not None and aweights is not None and correction:
        freedom = total - correction * (weights * aweights).sum() / total
    if not (freedom > 0 if weights is None else _holds(freedom > 0)):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of "
            "observations.",
            UserWarning,
            stacklevel=program_stacklevel(),
        )
        freedom = 0
    products: Tensor = centred @ (centred if weights is None else centred * weights).t().conj()
    found: Tensor = (products / freedom).squeeze()
    return found


def corrcoef(self: Tensor) -> Tensor:
    """The covariances of the rows, each divided by the standard deviations of its two rows. RuntimeError for
    bools, and for more than two dimensions."""
    if self.ndim > 2:
        raise RuntimeError(
            "corrcoef(): expected input to have two or fewer dimensions "
            f"but got an input with {self.ndim} dimensions"
        )
    found = cov(self)
    if not found.ndim:
        return found / found
    diagonal = found.diag()
    deviation = (diagonal.real if found.is_complex() else diagonal).sqrt()
    found = found / deviation.view((-1, 1)) / deviation.view((1, -1))
    if found.is_complex():
        return F.complex(found.real.clip(-1, 1), found.imag.clip(-1, 1))
    return found.clip(-1, 1)
