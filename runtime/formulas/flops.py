"""How many operations on floating-point numbers calls count as, as PyTorch counts them.

A multiplication and the addition of its product are two. Biases, padding and what is not a product count
nothing, so that the numbers are those of the products of matrices that a call stands for.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def matrix_flops(rows: Tensor, columns: int) -> int:
    """Of a product of ``rows``, (*, n, k), with k x ``columns``."""
    return 2 * rows.numel() * columns


def convolution_flops(input: Tensor, weight: Tensor, result: Tensor, transposed: bool) -> int:
    """Of a convolution: the whole weight at each place of the result; of a transposed one, of the input."""
    spatial = weight.ndim - 2
    return _convolution(_batch(input, spatial), weight.shape, _batch(result, spatial), transposed)


def convolution_backward_flops(
    grad_output: Tensor, input: Tensor, weight: Tensor, output_mask: Sequence[bool], transposed: bool
) -> int:
    """Of the gradients that are asked for.

    That of the input is a convolution of the other kind. That of the weight is one of what has the smaller
    places with channels for batches, of all channels whatever the groups: PyTorch counts no groups there.
    """
    spatial, shape = weight.ndim - 2, tuple(weight.shape)
    grad, given = _batch(grad_output, spatial), _batch(input, spatial)
    count = 0
    if output_mask[0]:
        count += _convolution(grad, shape, given, not transposed)
    if output_mask[1]:
        image, window = (grad, given) if transposed else (given, grad)
        count += _convolution(_swapped(image), _swapped(window), _swapped(shape), False)
    return count


def _batch(tensor: Tensor, spatial: int) -> Sequence[int]:
    """The shape of a batch; what has no batch is one of a single image."""
    shape = tuple(tensor.shape)
    return shape if len(shape) == spatial + 2 else (1, *shape)


def _swapped(shape: Sequence[int]) -> Sequence[int]:
    return (shape[1], shape[0], *shape[2:])


def _convolution(input: Sequence[int], weight: Sequence[int], result: Sequence[int], transposed: bool) -> int:
    places = (input if transposed else result)[2:]
    return 2 * input[0] * prod(places) * prod(weight)


def rnn_layer_flops(input: Tensor, w_ih: Tensor, w_hh: Tensor, w_hr: Tensor | None) -> int:
    """Of all steps of a recurrent layer: each row of the packed input meets all weights."""
    weights = [w_ih, w_hh, *([] if w_hr is None else [w_hr])]
    return 2 * input.shape[0] * sum(w.numel() for w in weights)


def rnn_layer_backward_flops(
    input: Tensor, w_ih: Tensor, w_hh: Tensor, w_hr: Tensor | None, batch_sizes: Sequence[int],
    reverse: bool, output_mask: Sequence[bool],
) -> int:  # fmt: skip
    """Of the gradients of a recurrent layer. Its first step hands none on, unless ``hx`` is to have one."""
    rows = input.shape[0]
    handed_on = rows if output_mask[1] else rows - batch_sizes[-1 if reverse else 0]
    count = w_ih.numel() * rows * (output_mask[0] + output_mask[3])
    count += w_hh.numel() * (handed_on + rows * output_mask[4])
    if w_hr is not None:
        count += w_hr.numel() * rows * (1 + output_mask[7])
    return 2 * count
