"""A convolution or linear map and the batch normalisation behind it as one map."""

from __future__ import annotations

import copy
from typing import Any

from tengen.generated.functions import ones_like, rsqrt, zeros_like

from ...tensors.tensor import Tensor
from ..parameter import Parameter

__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]


def __dir__() -> list[str]:
    return sorted(__all__)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Weight and bias of a convolution that does what one does with a batch normalisation behind it.

    They have the shapes of ``conv_w``, (O, I, ...) or transposed (I, O, ...), and of the statistics, (O,).
    """
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    bias, scale, offset = _parts(conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _parameters(conv_w * scale.reshape(shape), bias * scale + offset, conv_w, conv_b)


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
) -> tuple[Parameter, Parameter]:
    """Weight (O, I) and bias (O,) of a linear map that does what one does with a normalisation behind it."""
    bias, scale, offset = _parts(linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)
    return _parameters(linear_w * scale.unsqueeze(-1), bias * scale + offset, linear_w, linear_b)


def _parts(
    bias: Tensor | None, mean: Tensor, var: Tensor, eps: float, weight: Tensor | None, offset: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """The bias less the mean, the scale, and what is added at the end."""
    scale = (ones_like(mean) if weight is None else weight) * rsqrt(var + eps)
    own = zeros_like(mean) if bias is None else bias
    return own - mean, scale, zeros_like(mean) if offset is None else offset


def _parameters(
    weight: Tensor, bias: Tensor, before: Tensor, bias_before: Tensor | None
) -> tuple[Parameter, Parameter]:
    required = before.requires_grad if bias_before is None else bias_before.requires_grad
    made: Any = Parameter(weight.to(before.dtype).detach(), before.requires_grad)
    return made, Parameter(bias.detach(), required)


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what both do. AssertionError for modules in training."""
    return _fused(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear map that does what both do.

    AssertionError for modules in training, and for features that are not as many.
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _fused(linear, bn, fuse_linear_bn_weights)


def _fused(module: Any, bn: Any, fuse: Any, *rest: Any) -> Any:
    if module.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    made = copy.deepcopy(module)
    given = (bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
    made.weight, made.bias = fuse(made.weight, made.bias, *given, *rest)
    return made
