"""The gradients of convolutions with respect to their input and weight; differentiable themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tengen.generated.functions as F

from ..kernels.nn.common import expand

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]
Sizes = int | Sequence[int]
Geometry = tuple[Sizes, Sizes, Sizes, int]


def __dir__() -> list[str]:
    return sorted(__all__)


def _for_input(
    dims: int, size: Sequence[int], weight: Tensor, grad_output: Tensor, geometry: Geometry
) -> Tensor:
    input = grad_output.new_empty(1).expand(size)
    return _gradients(dims, grad_output, input, weight, geometry, (True, False, False))[0]


def _for_weight(
    dims: int, input: Tensor, size: Sequence[int], grad_output: Tensor, geometry: Geometry
) -> Tensor:
    weight = grad_output.new_empty(1).expand(size)
    return _gradients(dims, grad_output, input, weight, geometry, (False, True, False))[1]


def _gradients(
    dims: int,
    grad_output: Tensor,
    input: Tensor,
    weight: Tensor,
    geometry: Geometry,
    output_mask: tuple[bool, ...],
) -> tuple[Tensor, ...]:
    stride, padding, dilation = [
        expand(given, dims, name)
        for given, name in zip(geometry[:3], ("stride", "padding", "dilation"), strict=True)
    ]
    given = (stride, padding, dilation, False, (0,) * dims, geometry[3])
    found: tuple[Tensor, ...] = F.convolution_backward(grad_output, input, weight, None, *given, output_mask)
    return found


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` for its input, of shape ``input_size``: (N, C, L).

    ``weight`` is (out, C / groups, ...), ``grad_output`` what ``conv1d`` returns. RuntimeError where the
    shapes do not fit.
    """
    return _for_input(1, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` for its weight, of shape ``weight_size``: (out, C / groups, ...).

    ``input`` is (N, C, L), ``grad_output`` what ``conv1d`` returns. RuntimeError where shapes
    do not fit.
    """
    return _for_weight(1, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` for its input, of shape ``input_size``: (N, C, H, W).

    ``weight`` is (out, C / groups, ...), ``grad_output`` what ``conv2d`` returns. RuntimeError where the
    shapes do not fit.
    """
    return _for_input(2, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` for its weight, of shape ``weight_size``: (out, C / groups, ...).

    ``input`` is (N, C, H, W), ``grad_output`` what ``conv2d`` returns. RuntimeError where shapes
    do not fit.
    """
    return _for_weight(2, input, weight_size, grad_output, (stride, padding, dilation, groups))


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` for its input, of shape ``input_size``: (N, C, D, H, W).

    ``weight`` is (out, C / groups, ...), ``grad_output`` what ``conv3d`` returns. RuntimeError where the
    shapes do not fit.
    """
    return _for_input(3, input_size, weight, grad_output, (stride, padding, dilation, groups))


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: Sizes = 1,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` for its weight, of shape ``weight_size``: (out, C / groups, ...).

    ``input`` is (N, C, D, H, W), ``grad_output`` what ``conv3d`` returns. RuntimeError where shapes
    do not fit.
    """
    return _for_weight(3, input, weight_size, grad_output, (stride, padding, dilation, groups))
