"""What the derivative formulas of the neural-network operators call.

Tensor-level and differentiable: everything here is made of declared operators.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..composite.losses import MEAN
from ..composite.resampling import affine_grid_base
from ..kernels.meta.array import broadcast_shapes

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Number = bool | int | float | complex

# --------------------------------------------------------------------------- activations


def _halves(self: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    size = self.shape[dim] // 2
    return self.narrow(dim, 0, size), self.narrow(dim, size, size)


def glu_jvp(self: Tensor, self_t: Tensor, dim: int) -> Tensor:
    """The tangent of glu: ``a' s + a s (1 - s) b'`` with s the sigmoid of b."""
    a, b = _halves(self, dim)
    a_t, b_t = _halves(self_t, dim)
    s = b.sigmoid()
    return a_t * s + a * s * (1 - s) * b_t


def glu_double_backward(grad: Tensor, grad_output: Tensor, self: Tensor, dim: int) -> Tensor:
    """The gradient, or equally the tangent, of glu_backward in ``self``: glu's Hessian is symmetric."""
    a, b = _halves(self, dim)
    v, w = _halves(grad, dim)
    s = b.sigmoid()
    slope = grad_output * s * (1 - s)
    return F.cat([w * slope, v * slope + w * slope * a * (1 - 2 * s)], dim)


# ------------------------------------------------------------------------ cross entropies


def _weighted(value: Tensor, weight: Tensor | None) -> Tensor:
    return value if weight is None else value * weight


def _sum(a: Tensor | None, b: Tensor) -> Tensor:
    return b if a is None else a + b


def binary_cross_entropy_with_logits_gradient(
    grad: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient of binary_cross_entropy_with_logits for the logits (or, elementwise, its tangent)."""
    if pos_weight is None:
        slope = self.sigmoid() - target
    else:
        positive = pos_weight * target
        slope = (positive + 1 - target) * self.sigmoid() - positive
    return _mean_gradient(_weighted(slope, weight), grad, self, target, weight, pos_weight, reduction)


def binary_cross_entropy_with_logits_target_gradient(
    grad: Tensor,
    self: Tensor,
    target: Tensor,
    weight: Tensor | None,
    pos_weight: Tensor | None,
    reduction: int,
) -> Tensor:
    """The gradient of binary_cross_entropy_with_logits for the target (or, elementwise, its tangent)."""
    slope = -self if pos_weight is None else F.log_sigmoid(-self) - pos_weight * F.log_sigmoid(self)
    return _mean_gradient(_weighted(slope, weight), grad, self, target, weight, pos_weight, reduction)


def _mean_gradient(slope: Tensor, grad: Tensor, *inputs: Any) -> Tensor:
    """``slope * grad``, divided by the number of losses for a mean; the last input is the reduction."""
    *tensors, reduction = inputs
    if reduction != MEAN:
        return slope * grad
    shapes = [t.shape for t in tensors if t is not None]
    return slope * (grad / max(math.prod(broadcast_shapes(*shapes)), 1))


# --------------------------------------------------------------------------- convolutions

#: Stride, padding, dilation, transposed, output padding, groups.
Geometry = tuple[Sequence[int], Sequence[int], Sequence[int], bool, Sequence[int], int]


def convolution_jvp(
    input: Tensor,
    input_t: Tensor,
    weight: Tensor,
    weight_t: Tensor,
    bias_t: Tensor | None,
    geometry: Geometry,
) -> Tensor:
    """The tangent of a convolution."""
    convolve = F.convolution
    out: Tensor = convolve(input_t, weight, bias_t, *geometry) + convolve(input, weight_t, None, *geometry)
    return out


def convolution_double_backward(
    grads: Sequence[Tensor | None],
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    geometry: Geometry,
) -> tuple[Tensor | None, ...]:
    """The gradients of convolution_backward for grad_output, input and weight.

    Its results are linear in grad_output, and each in one of weight and input; so its gradients are
    convolutions and their gradients again.
    """
    for_input, for_weight, for_bias = grads
    convolve, backward = F.convolution, F.convolution_backward
    grad_grad = grad_of_input = grad_of_weight = None
    if for_input is not None:
        grad_grad = convolve(for_input, weight, for_bias, *geometry)
        grad_of_weight = backward(grad_output, for_input, weight, None, *geometry, (False, True, False))[1]
    if for_weight is not None:
        bias = for_bias if grad_grad is None else None
        grad_grad = _sum(grad_grad, convolve(input, for_weight, bias, *geometry))
        grad_of_input = backward(grad_output, input, for_weight, None, *geometry, (True, False, False))[0]
    if grad_grad is None and for_bias is not None:
        ones = [1] * (weight.ndim - 2)
        grad_grad = for_bias.reshape(-1, *ones).expand(grad_output.shape)
    return grad_grad, grad_of_input, grad_of_weight


# ------------------------------------------------------------------- dropout, embedding


def embedding_dense_double_backward(
    grad: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of embedding_dense_backward for grad_output."""
    out = F.embedding(grad, indices)
    if scale_grad_by_freq:
        used = grad.new_ones((*indices.shape, 1))
        counts = F.embedding_dense_backward(used, indices, num_weights, -1, False)
        out = out / F.embedding(counts, indices)
    if padding_idx >= 0:
        out = out.masked_fill((indices == padding_idx).unsqueeze(-1), 0)
    return out


# --------------------------------------------------------------------------- grids


def affine_grid_generator_backward(grad: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """The gradient of affine maps (N, d, d + 1) from that of their points (N, ..., d); it needs no values."""
    points = grad.reshape((size[0], -1, grad.shape[-1]))
    return points.transpose(1, 2).bmm(affine_grid_base(grad, size, align_corners))
