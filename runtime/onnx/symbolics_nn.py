"""Symbolics of products, convolutions, pooling, normalisation, activations and attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.scalar_type import bool_, float32, int64
from ..kernels.contractions import Contraction
from .builder import Ref, constant, onnx
from .errors import Unsupported
from .sizes import dynamic
from .symbolics import cast, int_vector, numbers, shape_of
from .symbolics_pointwise import scaled
from .symbolics_reduction import reduced
from .symbolics_shape import filled, reshaped, transposed

# -- products ---------------------------------------------------------------------------------------


def product_of(self: Ref, other: Ref, result: Any) -> Ref:
    """The matrix product; a sum of nothing is 0."""
    if self.shape[-1] == 0 or 0 in result.shape:
        return filled(result.shape, 0, result.dtype)
    made: Ref = onnx.MatMul(self, other)
    return made


def mixed(self: Ref, a: Ref, b: Ref, beta: Any, alpha: Any, result: Any) -> Ref:
    """``beta * self + alpha * a @ b``; with ``beta == 0`` what is in ``self`` does not matter."""
    total = scaled(product_of(a, b, result), alpha)
    if beta == 0:
        made: Ref = total
        return made
    made = scaled(self, beta) + total
    return made


def linear(input: Ref, weight: Ref, bias: Ref | None) -> Ref:
    """``input @ weight.T + bias``."""
    if input.ndim == 2 and weight.ndim == 2 and (bias is None or bias.ndim == 1):
        made: Ref = onnx.Gemm(input, weight, bias, transB=1)
        return made
    product = onnx.MatMul(input, transposed(weight, 0, 1) if weight.ndim == 2 else weight)
    made = product if bias is None else product + bias
    return made


def outer(self: Ref, vec2: Ref, result: Any) -> Ref:
    """All products of an element of one with one of the other."""
    made: Ref = onnx.Mul(onnx.Unsqueeze(cast(self, result.dtype), [1]), cast(vec2, result.dtype))
    return made


# -- convolutions and pooling -----------------------------------------------------------------------


def _batched(input: Ref, dims: int) -> tuple[Ref, bool]:
    """The input with a batch dimension, and whether it had none."""
    if input.ndim == dims + 2:
        return input, False
    made = onnx.Unsqueeze(input, [0])
    return Ref(made.name, made.dtype, (1, *input.shape)), True


def _single(made: Ref, alone: bool) -> Ref:
    return onnx.Squeeze(made, [0]) if alone else made


def convolution(
    input: Ref,
    weight: Ref,
    bias: Ref | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Ref:
    """The convolution, or transposed convolution, over as many dims as the weight has."""
    dims = weight.ndim - 2
    x, alone = _batched(input, dims)
    windows = _windows(weight, stride, 2 * _each(padding, dims), dilation, groups)
    if transposed:
        made = onnx.ConvTranspose(x, weight, bias, output_padding=_each(output_padding, dims), **windows)
    else:
        made = onnx.Conv(x, weight, bias, **windows)
    return _single(made, alone)


def convolved_same(
    input: Ref, weight: Ref, bias: Ref | None, stride: Any, padding: str, dilation: Any, groups: int
) -> Ref:
    """The convolution with ``'valid'`` (no) or ``'same'`` padding."""
    dims = weight.ndim - 2
    x, alone = _batched(input, dims)
    total = [d * (k - 1) for k, d in zip(weight.shape[2:], _each(dilation, dims), strict=True)]
    low = [t // 2 if padding == "same" else 0 for t in total]
    high = [t - t // 2 if padding == "same" else 0 for t in total]
    made = onnx.Conv(x, weight, bias, **_windows(weight, stride, [*low, *high], dilation, groups))
    return _single(made, alone)


def _windows(weight: Ref, stride: Any, pads: list[int], dilation: Any, groups: int) -> dict[str, Any]:
    """What ONNX's convolutions are told of their windows."""
    dims = weight.ndim - 2
    strides, dilations = _each(stride, dims), _each(dilation, dims)
    return dict(strides=strides, pads=pads, dilations=dilations, group=groups, kernel_shape=weight.shape[2:])


def _each(value: Any, dims: int) -> list[int]:
    values = list(value) if isinstance(value, (list, tuple)) else [value]
    return values * dims if len(values) == 1 else values


def _ceiling(input: Ref, kernel: list[int], stride: list[int], padding: list[int], dilation: list[int],
             result: Any) -> list[int]:  # fmt: skip
    """How much more padding behind makes the windows that ceil_mode adds."""
    dims = len(kernel)
    more = []
    for i in range(dims):
        size, out = input.shape[input.ndim - dims + i], result.shape[result.ndim - dims + i]
        if dynamic((size, out)):
            raise Unsupported("ceil_mode along a dynamic axis")
        reach = (out - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1
        more.append(max(0, int(reach - size - 2 * padding[i])))
    return more


def _window(
    kernel_size: Any, stride: Any, dilation: Any, dims: int
) -> tuple[list[int], list[int], list[int]]:
    """For each dimension a window's size, its steps (by default its size) and the gaps in it."""
    kernel = _each(kernel_size, dims)
    return kernel, _each(stride, dims) if stride else kernel, _each(dilation, dims)


def _paddings(
    input: Ref,
    kernel: list[int],
    stride: list[int],
    dilation: list[int],
    padding: Any,
    ceil_mode: bool,
    result: Any,
) -> tuple[list[int], list[int]]:
    """The padding before each dimension, and that behind it, where ceil_mode adds windows."""
    pads = _each(padding, len(kernel))
    if not ceil_mode:
        return pads, pads
    more = _ceiling(input, kernel, stride, pads, dilation, result)
    return pads, [p + m for p, m in zip(pads, more, strict=True)]


def max_pooled(
    self: Ref,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    dims: int,
    result: Any,
) -> Ref:
    """The largest element of each window."""
    kernel, steps, gaps = _window(kernel_size, stride, dilation, dims)
    pads, behind = _paddings(self, kernel, steps, gaps, padding, ceil_mode, result)
    x, alone = _batched(self, dims)
    if any(p >= k for p, k in zip(behind, kernel, strict=True)):
        x, pads, behind = _walled(x, pads, behind), [0] * dims, [0] * dims
    made = onnx.MaxPool(x, kernel_shape=kernel, strides=steps, pads=[*pads, *behind], dilations=gaps)
    return _single(made, alone)


def _walled(x: Ref, low: list[int], high: list[int]) -> Ref:
    """The picture with the smallest number around it, for more padding than a runtime's pooling takes."""
    made: Ref = onnx.Pad(x, int_vector([0, 0, *low, 0, 0, *high]), constant(-math.inf, x.dtype))
    return Ref(made.name, made.dtype, x.shape)


def max_pooled_at(
    self: Ref,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    dims: int,
    result: Any,
) -> tuple[Ref, Ref]:
    """The largest element of each window, and its place in the flattened picture."""
    kernel, steps, gaps = _window(kernel_size, stride, dilation, dims)
    pads, behind = _paddings(self, kernel, steps, gaps, padding, ceil_mode, result[0])
    x, alone = _batched(self, dims)
    values, places = onnx.MaxPool(
        x, kernel_shape=kernel, strides=steps, pads=[*pads, *behind], dilations=gaps, outputs=2
    )
    size = 1
    for n in x.shape[2:]:
        size = size * n
    # ONNX counts through the whole batch.
    places = onnx.Mod(places, constant(size, int64))
    return _single(values, alone), _single(places, alone)


def mean_pooled(
    self: Ref, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor: int | None, dims: int, result: Any,
) -> Ref:  # fmt: skip
    """The mean of each window; or its sum over a divisor."""
    kernel, steps, gaps = _window(kernel_size, stride, 1, dims)
    pads, behind = _paddings(self, kernel, steps, gaps, padding, ceil_mode, result)
    if pads != behind:
        raise Unsupported("ceil_mode with windows that reach behind the padding")
    x, alone = _batched(self, dims)
    include = int(count_include_pad or divisor is not None)
    made = onnx.AveragePool(
        x, kernel_shape=kernel, strides=steps, pads=[*pads, *pads], count_include_pad=include
    )
    if divisor is not None:
        made = made * (math.prod(kernel) / divisor)
    return _single(made, alone)


def pooled_to(self: Ref, output_size: Any, dims: int) -> Ref:
    """The means of as many parts as are asked for, where they are of one size."""
    sizes = self.shape[self.ndim - dims :]
    wanted = _each(output_size, dims)
    if all(n == 1 for n in wanted):
        axes = list(range(self.ndim - dims, self.ndim))
        return reduced("ReduceMean", self, axes, True)
    if dynamic(tuple(sizes)) or any(n % w for n, w in zip(sizes, wanted, strict=True)):
        raise Unsupported("parts of different sizes")
    kernel = [int(n) // w for n, w in zip(sizes, wanted, strict=True)]
    x, alone = _batched(self, dims)
    return _single(onnx.AveragePool(x, kernel_shape=kernel, strides=kernel), alone)


# -- normalisation ----------------------------------------------------------------------------------


def _channels(value: Ref | None, input: Ref, fill: float) -> Ref:
    """A vector with a number for each channel: the given one, or one of ``fill``."""
    return filled((input.shape[1],), fill, input.dtype) if value is None else value


def batch_norm_symbolic(
    input: Ref,
    weight: Ref | None,
    bias: Ref | None,
    mean: Ref | None,
    var: Ref | None,
    training: bool,
    eps: float,
) -> Ref:
    """Normalised by the running statistics, or in training by the batch's own."""
    if training or mean is None or var is None:
        axes = [0, *range(2, input.ndim)]
        return _normalized(input, axes, weight, bias, eps)
    made: Ref = onnx.BatchNormalization(
        input, _channels(weight, input, 1.0), _channels(bias, input, 0.0), mean, var, epsilon=eps
    )
    return made


def _normalized(input: Ref, axes: list[int], weight: Ref | None, bias: Ref | None, eps: float) -> Ref:
    """Normalised over axes, then scaled and shifted by channel."""
    return _affine(_standardized(input, axes, eps), input.ndim, weight, bias)


def _standardized(input: Ref, axes: list[int], eps: float) -> Ref:
    """Less the mean over axes, divided by the standard deviation."""
    centred = input - reduced("ReduceMean", input, axes, True)
    spread = reduced("ReduceMean", centred * centred, axes, True) + eps
    made: Ref = centred / onnx.Sqrt(spread)
    return made


def _affine(input: Ref, ndim: int, weight: Ref | None, bias: Ref | None) -> Ref:
    """Scaled and shifted by channel."""
    column = [-1, *[1] * (ndim - 2)]
    if weight is not None:
        input = input * onnx.Reshape(weight, column)
    if bias is not None:
        input = input + onnx.Reshape(bias, column)
    return input


def instance_norm_symbolic(
    input: Ref, weight: Ref | None, bias: Ref | None, mean: Ref | None, var: Ref | None, own: bool, eps: float
) -> Ref:
    """Each picture's channels normalised by themselves, or by running statistics."""
    if not own:
        return batch_norm_symbolic(input, weight, bias, mean, var, False, eps)
    return _normalized(input, list(range(2, input.ndim)), weight, bias, eps)


def layer_norm_symbolic(
    input: Ref, normalized_shape: Any, weight: Ref | None, bias: Ref | None, eps: float
) -> Ref:
    """The last dimensions normalised, then scaled and shifted element by element."""
    count = len(normalized_shape)
    scale = weight if weight is not None else filled(normalized_shape, 1.0, input.dtype)
    made: Ref = onnx.LayerNormalization(input, scale, bias, axis=-count, epsilon=eps)
    return made


def rms_norm_symbolic(input: Ref, normalized_shape: Any, weight: Ref | None, eps: float | None) -> Ref:
    """The last dimensions divided by their root mean square."""
    axes = list(range(-len(normalized_shape), 0))
    least = float(np.finfo(input.dtype.array_dtype).eps) if eps is None else eps
    mean = reduced("ReduceMean", input * input, axes, True) + least
    out = input / onnx.Sqrt(mean)
    made: Ref = out if weight is None else out * weight
    return made


def group_norm_symbolic(input: Ref, num_groups: int, weight: Ref | None, bias: Ref | None, eps: float) -> Ref:
    """Groups of channels normalised, then scaled and shifted by channel."""
    grouped = reshaped(input, [input.shape[0], num_groups, -1])
    grouped = Ref(grouped.name, grouped.dtype, (input.shape[0], num_groups, None))
    shape = onnx.Shape(input) if dynamic(tuple(input.shape)) else shape_of(input)
    out = onnx.Reshape(_standardized(grouped, [2], eps), shape)
    return _affine(out, input.ndim, weight, bias)


# -- activations ------------------------------------------------------------------------------------


def elu(self: Ref, alpha: float, scale: float, input_scale: float) -> Ref:
    """``scale * (x or alpha * (exp(input_scale * x) - 1))``."""
    if input_scale == 1:
        plain: Ref = scaled(onnx.Elu(self, alpha=float(alpha)), scale)
        return plain
    low = (onnx.Exp(self * input_scale) - 1) * alpha
    made: Ref = scaled(onnx.Where(onnx.Greater(self, 0), self, low), scale)
    return made


def gelu(self: Ref, approximate: str) -> Ref:
    """The input times the normal distribution's function of it."""
    made: Ref = onnx.Gelu(self, approximate=approximate)
    return made


def glu_symbolic(self: Ref, dim: int) -> Ref:
    """One half of a dimension times the sigmoid of the other."""
    a, b = onnx.Split(self, axis=dim % self.ndim, num_outputs=2, outputs=2)
    made: Ref = a * onnx.Sigmoid(b)
    return made


def softplus(self: Ref, beta: float, threshold: float) -> Ref:
    """``log(1 + exp(beta x)) / beta``, and x itself where that is larger than the threshold."""
    value = scaled(self, beta)
    smooth = scaled(onnx.Softplus(value), 1 / beta)
    made: Ref = onnx.Where(onnx.Greater(value, float(threshold)), self, smooth)
    return made


def threshold_values(self: Ref, threshold: Any, value: Any) -> Ref:
    """The value where it is above the threshold, or NaN, else another one."""
    low = onnx.LessOrEqual(*numbers(self, threshold))
    made: Ref = onnx.Where(low, constant(value, self.dtype), self)
    return made


def prelu(self: Ref, weight: Ref) -> Ref:
    """The input where positive, else ``weight * input``, a weight for each channel."""
    slope = weight
    if weight.ndim:
        slope = onnx.Reshape(weight, [-1, *[1] * (self.ndim - 2)] if self.ndim > 1 else [-1])
    if not self.ndim:
        slope = onnx.Squeeze(slope, [0]) if weight.ndim else slope
    made: Ref = onnx.Where(onnx.Greater(self, 0), self, self * slope)
    return made


def without_dropout(input: Ref, train: bool) -> Ref:
    """The input itself: a model that is exported does not train."""
    if train:
        raise Unsupported("it is random in training; export the function as it is for inference")
    made: Ref = onnx.Identity(input)
    return made


# -- attention --------------------------------------------------------------------------------------


def scaled_dot_product_attention_symbolic(
    query: Ref, key: Ref, value: Ref, mask: Ref | None, dropout_p: float, is_causal: bool,
    scale: float | None, enable_gqa: bool,
) -> Ref:  # fmt: skip
    """``softmax(query @ key.T * scale + mask) @ value``."""
    if dropout_p:
        raise Unsupported("dropout is random; export the function as it is for inference")
    if enable_gqa and key.shape[-3] != query.shape[-3]:
        raise Unsupported("grouped queries")
    size = query.shape[-1]
    if dynamic(size):
        raise Unsupported("a dynamic number of features")
    factor = 1 / math.sqrt(size) if scale is None else scale
    scores = onnx.MatMul(query, transposed(key, -2, -1)) * factor
    if is_causal:
        rows, columns = query.shape[-2], key.shape[-2]
        allowed = onnx.Trilu(filled((rows, columns), 1.0, float32), constant(np.int64(0), int64), upper=0)
        mask = cast(allowed, bool_)
    if mask is not None and mask.dtype is bool_:
        scores = onnx.Where(mask, scores, constant(-math.inf, query.dtype))
    elif mask is not None:
        scores = scores + cast(mask, query.dtype)
    shares = onnx.Softmax(scores, axis=-1)
    if mask is not None:  # a row of nothing but negative infinity gives zeros
        shares = onnx.Where(onnx.IsNaN(shares), constant(0, query.dtype), shares)
    made: Ref = onnx.MatMul(shares, value)
    return made


# -- losses -----------------------------------------------------------------------------------------


def finished(loss: Ref, reduction: int) -> Ref:
    """The losses themselves (0), their mean (1) or their sum (2)."""
    if reduction == 0:
        return loss
    return reduced("ReduceMean" if reduction == 1 else "ReduceSum", loss, None, False)


def negative_log_likelihood(
    self: Ref, target: Ref, weight: Ref | None, reduction: int, ignore_index: int
) -> Ref:
    """The loss of log-probabilities, by class along dimension 1."""
    words = {0: "none", 1: "mean", 2: "sum"}
    if self.ndim == 1:
        x, y = onnx.Unsqueeze(self, [0]), onnx.Unsqueeze(target, [0])
        made: Ref = onnx.NegativeLogLikelihoodLoss(
            x, y, weight, reduction=words[reduction], ignore_index=ignore_index
        )
        return onnx.Squeeze(made, [0]) if reduction == 0 else made
    made = onnx.NegativeLogLikelihoodLoss(
        self, target, weight, reduction=words[reduction], ignore_index=ignore_index
    )
    return made


def cross_entropy_symbolic(
    self: Ref, target: Ref, weight: Ref | None, reduction: int, ignore_index: int, result: Any
) -> tuple[Ref, ...]:
    """The loss of logits; for what gradients need there are zeros."""
    logits: Ref = onnx.LogSoftmax(self, axis=self.ndim - 1)
    loss = negative_log_likelihood(logits, target, weight, reduction, ignore_index)
    return loss, *[filled(r.shape, 0, r.dtype) for r in result[1:]]


def einsum(equation: str, tensors: Any, result: Any) -> Ref:
    """Einstein's summation; a sum of nothing is 0."""
    if any([0 in shape for shape in (result.shape, *[t.shape for t in tensors])]):
        return filled(result.shape, 0, result.dtype)
    parts = [cast(t, result.dtype) for t in tensors]
    made: Ref = onnx.Einsum(*parts, equation=equation.replace(" ", ""))
    return made


def contracted(text: str, first: Ref, second: Ref, result: Any) -> Ref:
    """The contraction that a form's text says; nothing is conjugated."""
    return einsum(Contraction(text).equation(first.ndim, second.ndim), [first, second], result)


def cross_entropy_of_bits(self: Ref, target: Ref, weight: Ref | None, reduction: int) -> Ref:
    """``-(t log(p) + (1 - t) log(1 - p))``, where no logarithm is below -100."""
    yes = onnx.Max(onnx.Log(self), constant(-100.0, self.dtype))
    no = onnx.Max(onnx.Log(1 - self), constant(-100.0, self.dtype))
    loss = -(target * yes + (1 - target) * no)
    return finished(loss if weight is None else loss * weight, reduction)


def cross_entropy_of_logits(
    self: Ref, target: Ref, weight: Ref | None, pos_weight: Ref | None, reduction: int
) -> Ref:
    """The same of ``p = sigmoid(self)``, without overflow."""
    factor = 1 if pos_weight is None else (pos_weight - 1) * target + 1
    loss = (1 - target) * self + scaled(onnx.Softplus(-self), factor)
    return finished(loss if weight is None else loss * weight, reduction)


def native_layer_norm_symbolic(
    input: Ref, normalized_shape: Any, weight: Ref | None, bias: Ref | None, eps: float
) -> tuple[Ref, Ref, Ref]:
    """The last dimensions normalised, their mean, and the reciprocal of their deviation."""
    scale = weight if weight is not None else filled(normalized_shape, 1.0, input.dtype)
    made: tuple[Ref, Ref, Ref] = onnx.LayerNormalization(
        input, scale, bias, axis=-len(normalized_shape), epsilon=eps, outputs=3
    )
    return made
