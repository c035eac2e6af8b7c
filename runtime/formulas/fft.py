"""What the derivative formulas of Fourier transforms call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..kernels.dims import wrap_dim

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def _behind(self: Tensor, dim: int, added: int) -> Tensor:
    """``self`` with zeros behind it along ``dim``."""
    return F.constant_pad_nd(self, [0] * (2 * (self.ndim - 1 - dim)) + [0, added]) if added else self


def fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> Tensor:
    """The transform of ``grad``: what has a mirror image in the other half counts twice."""
    half: Tensor = F._fft_r2c(grad, dim, normalization, True)
    last = wrap_dim(dim[-1], grad.ndim)
    count = half.shape[last]
    mirrored = grad.shape[last] - count
    if not mirrored:
        return half
    first, middle, rest = half.split_with_sizes([1, mirrored, count - 1 - mirrored], last)
    return F.cat([first, middle * 2, rest], last)


def fft_r2c_backward(
    grad: Tensor, dim: Sequence[int], normalization: int, onesided: bool, shape: Sequence[int]
) -> Tensor:
    """The real part of the inverse transform of ``grad``, which is 0 in the half that is not there."""
    if onesided:
        last = wrap_dim(dim[-1], grad.ndim)
        grad = _behind(grad, last, shape[last] - grad.shape[last])
    return F._fft_c2c(grad, dim, normalization, False).real
