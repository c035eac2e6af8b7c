"""Derivatives of samples of distributions, at their quantiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..core.scalar_type import float32

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def sample_dirichlet_backward(grad: Tensor, alpha: Tensor, x: Tensor) -> Tensor:
    """The gradient of samples ``x`` for the parameters ``alpha``, all of the same shape."""
    g, a, s = _computed(grad, alpha, x)
    return (_moves(a, s) * (g - (g * s).sum(-1, True))).to(grad.dtype)


def sample_dirichlet_jvp(tangent: Tensor, alpha: Tensor, x: Tensor) -> Tensor:
    """The tangent of samples ``x`` from that of the parameters ``alpha``."""
    t, a, s = _computed(tangent, alpha, x)
    moved = _moves(a, s) * t
    return (moved - s * moved.sum(-1, True)).to(tangent.dtype)


def _moves(alpha: Tensor, x: Tensor) -> Tensor:
    return F._dirichlet_grad(x, alpha, alpha.sum(-1, True).expand_as(alpha))


def _computed(*tensors: Tensor) -> list[Tensor]:
    """In float32, where they are of a half type."""
    return [t.to(float32) if t.dtype.itemsize == 2 else t for t in tensors]
