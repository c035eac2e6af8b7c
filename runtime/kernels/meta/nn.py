"""Shapes of the neural-network operators' results, and the checks that need no data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..dims import wrap_dim
from ..distance import cdist_shape
from ..nn.activation import glu_halves
from ..nn.batch_norm import batch_shapes
from ..nn.columns import col2im_shape, im2col_shape
from ..nn.common import check_reduction
from ..nn.conv import conv_geometry
from ..nn.ctc import ctc_shape
from ..nn.embedding_bag import GREATEST, bag_count
from ..nn.loss import check_same_size, checked_nll, checked_nll2d
from ..nn.max_windows import fractional_shape
from ..nn.normalization import group_shapes
from ..nn.recurrent import Weights, gate_count, rnn_layer_shapes
from ..nn.recurrent_cells import expect_gates
from .array import MetaArray
from .common import meta_like

Operand = MetaArray
Shape = tuple[int, ...]
Gradients = tuple[MetaArray | None, ...]


def meta_native_dropout(self: MetaArray) -> MetaArray:
    """A bool array of the shape of ``self``."""
    return MetaArray(self.shape, np.dtype(np.bool_))


def meta_glu(self: MetaArray, dim: int) -> MetaArray:
    """The shape with ``dim`` halved."""
    glu_halves(self, dim)
    dim = wrap_dim(dim, self.ndim)
    return MetaArray((*self.shape[:dim], self.shape[dim] // 2, *self.shape[dim + 1 :]), self.dtype)


# ---------------------------------------------------------------------------------- losses


def reduce_loss(loss: MetaArray, reduction: int) -> MetaArray:
    """0-d, or the elements themselves where nothing is reduced. ValueError for other numbers."""
    check_reduction(reduction)
    return MetaArray((), loss.dtype) if reduction else loss


def probabilities(values: MetaArray, name: str, input: MetaArray) -> Operand:
    """``values``. RuntimeError unless they are of the size of the input."""
    check_same_size(input, values)
    return values


def meta_gradients(output_mask: Sequence[bool], *inputs: MetaArray) -> Gradients:
    """For each input that the mask asks for, its shape."""
    return tuple([meta_like(x) if wanted else None for x, wanted in zip(inputs, output_mask, strict=True)])


def meta_nll_loss(
    self: MetaArray, target: MetaArray, weight: MetaArray | None, reduction: int
) -> tuple[MetaArray, MetaArray]:
    """The loss and the total weight."""
    checked_nll(self, target, weight)
    shape = target.shape if not reduction and self.ndim == 2 else ()
    return MetaArray(shape, self.dtype), MetaArray((), self.dtype)


def meta_fused_cross_entropy(
    self: MetaArray, target: MetaArray, weight: MetaArray | None, reduction: int
) -> tuple[MetaArray, ...]:
    """The loss, the total weight, and two numbers for each row."""
    rows = self.shape[0] if self.ndim == 2 else 1
    kept = MetaArray((rows,), self.dtype), MetaArray((rows,), self.dtype)
    return (*meta_nll_loss(self, target, weight, reduction), *kept)


def meta_nll_loss2d(
    self: MetaArray, target: MetaArray, weight: MetaArray | None, reduction: int
) -> tuple[MetaArray, MetaArray]:
    """The loss and the total weight."""
    checked_nll2d(self, target, weight)
    return MetaArray(() if reduction else target.shape, self.dtype), MetaArray((), self.dtype)


def meta_ctc_loss(
    log_probs: MetaArray,
    targets: MetaArray,
    input_lengths: Shape,
    target_lengths: Shape,
    blank: int,
    zero_infinity: bool,
) -> tuple[MetaArray, MetaArray]:
    """The loss of each sequence, and the forward variables."""
    batch, steps, count = ctc_shape(log_probs, targets, input_lengths, target_lengths, blank)
    return MetaArray((batch,), log_probs.dtype), MetaArray((batch, steps, count), log_probs.dtype)


# ------------------------------------------------------------------- spatial operators


def meta_convolution(
    input: MetaArray,
    weight: MetaArray,
    bias: MetaArray | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> MetaArray:
    """The shape of a convolution, or transposed convolution."""
    given = (input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
    _, out = conv_geometry(*given)
    return MetaArray((*input.shape[: -len(out) - 1], _filters(weight, transposed, groups), *out), input.dtype)


def meta_convolution_backward(
    input: MetaArray, weight: MetaArray, transposed: bool, groups: int, output_mask: Sequence[bool]
) -> Gradients:
    """The shapes of the gradients of input, weight and bias."""
    bias = MetaArray((_filters(weight, transposed, groups),), weight.dtype)
    return meta_gradients(output_mask, input, weight, bias)


def _filters(weight: MetaArray, transposed: bool, groups: int) -> int:
    return weight.shape[1] * groups if transposed else weight.shape[0]


def meta_fractional_max_pool(
    self: MetaArray, kernel_size: Shape, output_size: Shape, random_samples: MetaArray
) -> tuple[MetaArray, MetaArray]:
    """The maxima and their indices."""
    shape = fractional_shape(self, kernel_size, output_size, random_samples)
    return MetaArray(shape, self.dtype), MetaArray(shape, np.dtype(np.int64))


def meta_grid_sample_gradient(grad_output: MetaArray, sizes: Shape) -> MetaArray:
    """The gradient of images of these sizes that were sampled."""
    return MetaArray((*grad_output.shape[: -len(sizes)], *sizes), grad_output.dtype)


def meta_grid_sample(input: MetaArray, grid: MetaArray, dims: int) -> MetaArray:
    """A value for each channel and each point."""
    return MetaArray((*input.shape[:-dims], *grid.shape[-dims - 1 : -1]), input.dtype)


def meta_im2col(
    self: MetaArray, kernel_size: Shape, dilation: Shape, padding: Shape, stride: Shape
) -> MetaArray:
    """A column for each window."""
    return MetaArray(im2col_shape(self, kernel_size, dilation, padding, stride), self.dtype)


def meta_col2im(
    self: MetaArray,
    output_size: Shape,
    kernel_size: Shape,
    dilation: Shape,
    padding: Shape,
    stride: Shape,
) -> MetaArray:
    """The image."""
    shape = col2im_shape(self, output_size, kernel_size, dilation, padding, stride)
    return MetaArray(shape, self.dtype)


def meta_embedding_bag(
    weight: MetaArray,
    indices: MetaArray,
    offsets: MetaArray,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: MetaArray | None,
    include_last_offset: bool,
    padding_idx: int,
) -> tuple[MetaArray, ...]:
    """The bags, the bag of each index, the bags' sizes and the indices of maxima."""
    bags = bag_count(weight, indices, offsets, mode, include_last_offset, per_sample_weights)
    shape = (bags, weight.shape[1])
    chosen = shape if mode == GREATEST else (0,)
    counted = [MetaArray(s, indices.dtype) for s in (indices.shape, (bags,), chosen)]
    return MetaArray(shape, weight.dtype), *counted


def meta_group_norm(
    input: MetaArray,
    weight: MetaArray | None,
    bias: MetaArray | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[MetaArray, MetaArray, MetaArray]:
    """Output, mean and rstd."""
    group_shapes(input, weight, bias, C, group)
    return meta_like(input), MetaArray((N, group), input.dtype), MetaArray((N, group), input.dtype)


def meta_batch_norm(
    input: MetaArray,
    weight: MetaArray | None,
    bias: MetaArray | None,
    running_mean: MetaArray | None,
    running_var: MetaArray | None,
    training: bool,
    eps: float,
) -> tuple[MetaArray, ...]:
    """Output, mean, rstd and variance. RuntimeError without running statistics unless training."""
    parameters: dict[str, Any] = {
        "running_mean": running_mean,
        "running_var": running_var,
        "weight": weight,
        "bias": bias,
    }
    _, channels, _ = batch_shapes(input, parameters)
    if not training and (running_mean is None or running_var is None):
        raise RuntimeError("running_mean and running_var must be defined in evaluation mode")
    statistics = (channels if training else 0,)
    return meta_like(input), *[MetaArray(statistics, input.dtype) for _ in range(3)]


def meta_norm_gradients(
    output_mask: Sequence[bool], input: MetaArray, weight: MetaArray | None, shape: Sequence[int]
) -> Gradients:
    """Shapes of the gradients of input, weight and bias; None for a weight that is not there."""
    parameter = MetaArray(shape, input.dtype)
    wanted = (output_mask[0], output_mask[1] and weight is not None, output_mask[2])
    return meta_gradients(wanted, input, parameter, parameter)


def meta_cdist(x1: MetaArray, x2: MetaArray) -> MetaArray:
    """A distance for each two rows."""
    return MetaArray(cdist_shape(x1, x2), x1.dtype)


def meta_rnn_layer(
    input: MetaArray,
    hx: MetaArray,
    cx: MetaArray | None,
    w_ih: MetaArray,
    w_hh: MetaArray,
    b_ih: MetaArray | None,
    b_hh: MetaArray | None,
    w_hr: MetaArray | None,
    batch_sizes: Sequence[int],
    mode: str,
    reverse: bool,
) -> tuple[MetaArray, ...]:
    """Outputs, the last states, the gates, and what else the gradients need."""
    weights = Weights(w_ih, w_hh, b_ih, b_hh, w_hr)
    rows, hidden, out = rnn_layer_shapes(input, hx, cx, weights, batch_sizes, mode)
    count = gate_count(mode)
    gates = (count, rows, hidden) if count > 1 else (0,)
    inner = {4: (2, rows, hidden), 3: (rows, hidden)}.get(count, (0,))
    shapes: tuple[Shape, ...] = ((rows, out), hx.shape, (0,) if cx is None else cx.shape, gates, inner)
    return tuple([MetaArray(shape, input.dtype) for shape in shapes])


def meta_rnn_layer_backward(*inputs_and_mask: Any) -> Gradients:
    """A gradient for each input that the mask asks for."""
    *inputs, mask = inputs_and_mask
    return tuple([meta_like(t) if wanted else None for t, wanted in zip(inputs, mask, strict=True)])


def meta_fused_lstm_cell(
    input_gates: MetaArray, hidden_gates: MetaArray, cx: MetaArray
) -> tuple[MetaArray, ...]:
    """Output and cell state, and what the gradients need."""
    expect_gates(4, input_gates, hidden_gates, cx)
    return meta_like(cx), meta_like(cx), MetaArray((cx.shape[0], 5 * cx.shape[1]), cx.dtype)


def meta_fused_gru_cell(
    input_gates: MetaArray, hidden_gates: MetaArray, hx: MetaArray
) -> tuple[MetaArray, ...]:
    """The state, and what the gradients need."""
    expect_gates(3, input_gates, hidden_gates, hx)
    return hx.copy(order="K"), MetaArray((hx.shape[0], 4 * hx.shape[1]), hx.dtype)
