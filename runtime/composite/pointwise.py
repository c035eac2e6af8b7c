"""Pointwise operators made of others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tengen.generated.functions as F

from ..core.scalar_type import bool_, complex128, float64, get_default_dtype
from ..tensors.creation import tensor
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex


# -- complex numbers ----------------------------------------------------------------------


def conj(self: Tensor) -> Tensor:
    """The conjugate; a real tensor itself."""
    return self.conj_physical() if self.is_complex() else self


def resolve_conj(self: Tensor) -> Tensor:
    """The tensor itself: nothing is ever put off."""
    return self


def real(self: Tensor) -> Tensor:
    """A view of the real parts; a real tensor itself."""
    return F.view_as_real(self).select(-1, 0) if self.is_complex() else self


def imag(self: Tensor) -> Tensor:
    """A view of the imaginary parts. Raises RuntimeError for a real tensor."""
    if not self.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return F.view_as_real(self).select(-1, 1)


def isreal(self: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""
    if self.is_complex():
        return imag(self) == 0
    return F.ones_like(self, dtype=bool_)


# -- arithmetic ---------------------------------------------------------------------------


def positive(self: Tensor) -> Tensor:
    """The tensor itself. Raises RuntimeError for bools."""
    if self.dtype is bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return self


def div_mode(self: Any, other: Any, rounding_mode: str | None) -> Tensor:
    """``div``, rounded; either may be a number. RuntimeError unless the mode is None, "trunc" or "floor"."""
    if rounding_mode is None:
        return F.div(self, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return F._div_rounded(self, other, rounding_mode=rounding_mode)


def float_power(self: Any, exponent: Any) -> Tensor:
    """``pow`` in float64, or complex128 when either is complex; either may be a number."""
    dtype = _power_dtype(self, exponent)
    if isinstance(self, Tensor):
        self = self.to(dtype)
    if isinstance(exponent, Tensor):
        exponent = exponent.to(dtype)
    return F.pow(self, exponent)


def float_power_inplace(self: Tensor, exponent: Any) -> Tensor:
    """``float_power`` written to self. Raises RuntimeError unless self has the dtype of the result."""
    needed = _power_dtype(self, exponent)
    if self.dtype is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {self.dtype} "
            f"but the operation's result requires dtype {needed}"
        )
    return self.pow_(exponent.to(needed) if isinstance(exponent, Tensor) else exponent)


def polygamma_inplace(self: Tensor, n: int) -> Tensor:
    """``polygamma`` written to self. Raises RuntimeError unless self has the dtype of the result."""
    result: Tensor = F.polygamma(n, self.clone())  # its derivative needs what is written over
    if self.dtype is not result.dtype:
        raise RuntimeError(
            f"polygamma_: result type {result.dtype} can't be cast to the desired output type {self.dtype}"
        )
    return self.copy_(result)


def _power_dtype(self: Any, exponent: Any) -> Any:
    return complex128 if _is_complex(self) or _is_complex(exponent) else float64


def _is_complex(value: Any) -> bool:
    return value.is_complex() if isinstance(value, Tensor) else isinstance(value, complex)


# -- comparisons --------------------------------------------------------------------------


def _check_same_dtype(self: Tensor, other: Tensor) -> None:
    if self.dtype is not other.dtype:
        raise RuntimeError(f"{self.dtype} did not match {other.dtype}")


def isclose(
    self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Whether ``abs(self - other) <= atol + rtol * abs(other)``, or both equal.

    Raises RuntimeError for two dtypes and for negative tolerances.
    """
    _check_same_dtype(self, other)
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not value >= 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value}")
    close = self == other
    floating = self.is_floating_point() or self.is_complex()
    if equal_nan and floating:
        close = close.logical_or(self.isnan().logical_and(other.isnan()))
    if rtol == 0 and atol == 0:
        return close
    if not floating:
        self, other = self.to(get_default_dtype()), other.to(get_default_dtype())
    allowed = atol + (rtol * other).abs()
    actual = (self - other).abs()
    return close.logical_or(actual.isfinite().logical_and(actual <= allowed))


def allclose(
    self: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether ``isclose`` holds everywhere."""
    return bool(isclose(self, other, rtol, atol, equal_nan).all())


def equal(self: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and equal elements."""
    return self.shape == other.shape and bool(self.eq(other).all())


# -- where --------------------------------------------------------------------------------


def where_scalars(condition: Tensor, self: Number, other: Number) -> Tensor:
    """``where`` with two numbers."""
    return F.where(condition, tensor(self, device=condition.device), tensor(other, device=condition.device))


def where_nonzero(condition: Tensor) -> list[Tensor]:
    """The indices of what is not 0, one tensor for each dimension; a 0-d tensor counts as of size 1."""
    found = (condition if condition.ndim else condition.unsqueeze(0)).nonzero()
    return list(found.unbind(1))
