"""Pseudo-inverses and ranks: what to call zero among the singular values, in all the forms of a call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..autograd.grad_mode import grad_mode
from ..core.scalar_type import complex64, complex128, finfo, float32, float64, int64
from ..tensors.creation import tensor
from ..tensors.tensor import Tensor

if TYPE_CHECKING:
    from ..tensors.creation import tensor


def _tolerances(
    self: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None
) -> tuple[Tensor | float, Tensor | float]:
    """The absolute and the relative tolerance: by default 0 and eps times the larger size."""
    if rtol is None:
        default = finfo(self.dtype).eps * max(self.shape[-2:])
        if atol is None:
            rtol = default
        elif isinstance(atol, Tensor):
            rtol = F.where(atol > 0, 0.0, default)
        else:
            rtol = 0.0 if atol > 0 else default
    return 0.0 if atol is None else atol, rtol


def _threshold(largest: Tensor, atol: Tensor | float, rtol: Tensor | float) -> Tensor:
    """``max(atol, rtol * largest)``, with the shape of ``largest`` and the tolerances."""
    relative = largest * rtol
    if isinstance(atol, Tensor):
        return F.maximum(atol.to(relative.dtype), relative)
    return relative.clamp(min=atol)


def _check_real(value: Tensor | float | None, operator: str, name: str) -> None:
    if isinstance(value, Tensor) and value.is_complex():
        raise RuntimeError(f"{operator}: {name} tensor of complex type is not supported. Got {value.dtype}")


# ---------------------------------------------------------------------------- matrix_rank


def linalg_matrix_rank_atol_rtol_tensor(
    input: Tensor, atol: Tensor | None = None, rtol: Tensor | None = None, hermitian: bool = False
) -> Tensor:
    """The number of singular values above ``max(atol, rtol * the largest)``."""
    return _rank(input, atol, rtol, hermitian)


def linalg_matrix_rank_atol_rtol_float(
    self: Tensor, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    """The number of singular values above ``max(atol, rtol * the largest)``."""
    return _rank(self, atol, rtol, hermitian)


def linalg_matrix_rank(self: Tensor, tol: float, hermitian: bool = False) -> Tensor:
    """The number of singular values above ``tol``."""
    return _rank(self, tol, 0.0, hermitian)


def linalg_matrix_rank_tol_tensor(input: Tensor, tol: Tensor, hermitian: bool = False) -> Tensor:
    """The number of singular values above ``tol``."""
    return _rank(input, tol, 0.0, hermitian)


def _rank(self: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None, hermitian: bool) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError("linalg.matrix_rank: The input tensor input must have at least 2 dimensions.")
    _check_real(atol, "linalg.matrix_rank", "atol")
    _check_real(rtol, "linalg.matrix_rank", "rtol")
    if self.dtype not in (float32, float64, complex64, complex128):
        raise RuntimeError(
            f"linalg.matrix_rank: expected a tensor of floats or complex numbers, but got {self.dtype}"
        )
    if not self.numel():
        return F.zeros(self.shape[:-2], dtype=int64, device=self.device)
    atol, rtol = _tolerances(self, atol, rtol)
    self = self.detach()
    values = F.linalg_eigvalsh(self).abs() if hermitian else F.linalg_svdvals(self)
    threshold = _threshold(values.amax((-1,), False), atol, rtol)
    return (values > threshold.unsqueeze(-1)).sum(-1)


# ----------------------------------------------------------------------------------- pinv


def linalg_pinv_atol_rtol_float(
    self: Tensor, atol: float | None = None, rtol: float | None = None, hermitian: bool = False
) -> Tensor:
    """The pseudo-inverse, with singular values up to ``max(atol, rtol * the largest)`` taken as 0."""
    return _pinv(self, atol, rtol, hermitian)


def linalg_pinv(self: Tensor, rcond: float, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse, with singular values up to ``rcond * the largest`` taken as 0."""
    return _pinv(self, 0.0, rcond, hermitian)


def linalg_pinv_rcond_tensor(self: Tensor, rcond: Tensor, hermitian: bool = False) -> Tensor:
    """The pseudo-inverse, with singular values up to ``rcond * the largest`` taken as 0. RuntimeError where
    ``rcond`` requires a gradient: there is none."""
    if rcond.requires_grad and grad_mode.enabled:
        raise RuntimeError("linalg.pinv is not differentiable with respect to argument 'rcond'")
    return _pinv(self, None, rcond, hermitian)


def pinverse(self: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse, with singular values up to ``rcond * the largest`` taken as 0."""
    return _pinv(self, 0.0, rcond, False)


def _pinv(self: Tensor, atol: Tensor | float | None, rtol: Tensor | float | None, hermitian: bool) -> Tensor:
    def as_tensor(value: Tensor | float | None) -> Tensor | None:
        if value is None or isinstance(value, Tensor):
            return value
        return tensor(value, dtype=float64, device=self.device)

    return F.linalg_pinv(self, atol=as_tensor(atol), rtol=as_tensor(rtol), hermitian=hermitian)
