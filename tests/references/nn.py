"""Independent computations of the neural-network operators, as their definitions read."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

Array = Any
Shape = Sequence[int]


# -------------------------------------------------------------------- activations and losses


def gelu(x: Array, approximate: str) -> Array:
    if approximate == "tanh":
        return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return x / 2 * (1 + np.vectorize(math.erf, otypes=[np.asarray(x).dtype])(x / math.sqrt(2)))


def glu(x: Array, dim: int) -> Array:
    a, b = np.split(x, 2, dim)
    return a / (1 + np.exp(-b))


def reduced(loss: Array, reduction: int) -> Array:
    return [lambda: loss, lambda: np.mean(loss), lambda: np.sum(loss)][reduction]()


def huber(x: Array, y: Array, reduction: int, delta: float) -> Array:
    d = np.abs(np.subtract(x, y))
    near = np.minimum(d, delta)
    return reduced(near * (d - near / 2), reduction)


def smooth_l1(x: Array, y: Array, reduction: int, beta: float) -> Array:
    return huber(x, y, reduction, beta) / beta if beta else reduced(np.abs(np.subtract(x, y)), reduction)


def embedding_bag(
    weight: Array,
    indices: Array,
    offsets: Array,
    mode: int,
    scale: Array | None,
    last: bool,
    padding_idx: int,
) -> Array:
    ends = [*offsets[1:]] if last else [*offsets[1:], len(indices)]
    rows = []
    for start, end in zip(offsets, ends, strict=False):
        members = [i for i in range(start, end) if indices[i] != padding_idx]
        bag = np.array([weight[indices[i]] * (1 if scale is None else scale[i]) for i in members])
        empty = np.zeros(weight.shape[1], weight.dtype)
        rows.append([np.sum, np.mean, np.max][mode](bag, axis=0) if members else empty)
    return np.array(rows, weight.dtype)


def distances(x1: Array, x2: Array, p: float) -> Array:
    d = np.abs(x1[..., :, None, :] - x2[..., None, :, :])
    if p == 0:
        return (d != 0).sum(-1).astype(x1.dtype)
    if p == math.inf:
        return d.max(-1)
    return (d**p).sum(-1) ** (1 / p)


def renorm(x: Array, p: float, dim: int, maxnorm: float) -> Array:
    rows = np.moveaxis(x, dim, 0)
    flat = np.abs(rows.reshape(len(rows), -1))
    norms = flat.max(1) if p == math.inf else (flat**p).sum(1) ** (1 / p)
    scale = np.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1)
    return np.moveaxis(rows * scale.reshape(-1, *[1] * (x.ndim - 1)), 0, dim)


def poisson_nll(x: Array, y: Array, log_input: bool, full: bool, eps: float, reduction: int) -> Array:
    loss = np.exp(x) - y * x if log_input else x - y * np.log(x + eps)
    if full:
        many = np.where(y > 1, y, 1)
        loss = loss + np.where(y > 1, many * np.log(many) - many + np.log(2 * math.pi * many) / 2, 0)
    return reduced(loss, reduction)


def ctc(log_probs: Array, targets: Array, input_lengths: Shape, target_lengths: Shape, blank: int) -> Array:
    """The sum over every sequence of classes that becomes the labels: repeats merged, blanks left out."""
    losses, start = [], 0
    for n, (time, length) in enumerate(zip(input_lengths, target_lengths, strict=True)):
        labels = targets[start : start + length] if targets.ndim == 1 else targets[n, :length]
        start += length
        total = 0.0
        for path in product(range(log_probs.shape[2]), repeat=time):
            merged = [c for t, c in enumerate(path) if not t or c != path[t - 1]]
            if [c for c in merged if c != blank] == list(labels):
                total += math.exp(sum(float(log_probs[t, n, c]) for t, c in enumerate(path)))
        losses.append(-math.log(total))
    return np.array(losses, log_probs.dtype)


def nll(x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int) -> Array:
    if x.ndim == 1:
        x, target = x[None], target.reshape(1)
        reduction = reduction or 2
    losses, total = np.zeros(target.shape, x.dtype), 0.0
    for place in np.ndindex(target.shape):
        label = int(target[place])
        if label != ignore_index:
            scale = 1.0 if weight is None else weight[label]
            losses[place] = -scale * x[(place[0], label, *place[1:])]
            total += scale
    if reduction == 1:
        return (losses.sum() / total).astype(x.dtype)
    return reduced(losses, reduction)


def cross_entropy(
    x: Array, target: Array, weight: Array | None, reduction: int, ignore_index: int, label_smoothing: float
) -> Array:
    """The mean of class targets is weighted, that of probabilities is not."""
    if x.ndim == 1:
        one = cross_entropy(x[None], np.asarray(target)[None], weight, 0, ignore_index, label_smoothing)
        return (
            one[0]
            if reduction != 1 or target.ndim
            else one[0] / (1 if weight is None else weight[int(target)])
        )
    classes = x.shape[1]
    logits = np.moveaxis(x, 1, -1)
    log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    scale = np.ones(classes) if weight is None else weight
    if target.dtype.kind == "f":
        probabilities = np.moveaxis(target, 1, -1)
        used = None
    else:
        probabilities = np.eye(classes)[np.where(target == ignore_index, 0, target)]
        probabilities *= (target != ignore_index)[..., None]
        used = (probabilities * scale).sum()
    mixed = (1 - label_smoothing) * probabilities + label_smoothing / classes
    if used is not None:
        mixed *= (target != ignore_index)[..., None]
    losses = -(log_p * mixed * scale).sum(-1)
    if reduction == 1:
        return losses.sum() / (losses.size if used is None else used)
    return reduced(losses, reduction)


# ------------------------------------------------------------------------- normalisation


def _affine(x: Array, weight: Array | None, bias: Array | None) -> Array:
    x = x if weight is None else x * weight
    return x if bias is None else x + bias


def _standardised(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    return (x - np.mean(x, axes, keepdims=True)) / np.sqrt(np.var(x, axes, keepdims=True) + eps)


def layer_norm(x: Array, shape: Shape, weight: Array | None, bias: Array | None, eps: float) -> Array:
    return _affine(_standardised(x, tuple(range(-len(shape), 0)), eps), weight, bias)


def rms_norm(x: Array, shape: Shape, weight: Array | None, eps: float | None) -> Array:
    axes = tuple(range(-len(shape), 0))
    eps = np.finfo(x.dtype).eps if eps is None else eps
    return _affine(x / np.sqrt(np.mean(np.square(x), axes, keepdims=True) + eps), weight, None)


def _along_channels(p: Array | None, ndim: int) -> Array | None:
    return None if p is None else p.reshape(-1, *[1] * (ndim - 2))


def group_norm(x: Array, groups: int, weight: Array | None, bias: Array | None, eps: float) -> Array:
    parts = [_standardised(part, tuple(range(1, x.ndim)), eps) for part in np.split(x, groups, axis=1)]
    return _affine(np.concatenate(parts, 1), _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))


def batch_norm(
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array | None,
    var: Array | None,
    training: bool,
    eps: float,
) -> Array:
    if training:
        out = _standardised(x, (0, *range(2, x.ndim)), eps)
    else:
        out = (x - _along_channels(mean, x.ndim)) / np.sqrt(_along_channels(var, x.ndim) + eps)
    return _affine(out, _along_channels(weight, x.ndim), _along_channels(bias, x.ndim))


# ------------------------------------------------------------------------------ attention


def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    causal: bool,
    scale: float | None,
    gqa: bool,
) -> Array:
    if gqa:
        times = query.shape[-3] // key.shape[-3]
        key, value = np.repeat(key, times, -3), np.repeat(value, times, -3)
    scores = np.einsum("...le,...se->...ls", query, key)
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    if causal:
        mask = np.arange(scores.shape[-1]) <= np.arange(scores.shape[-2])[:, None]
    if mask is None:
        weights = np.exp(scores)
    elif mask.dtype == bool:
        weights = np.exp(scores) * mask
    else:
        weights = np.exp(scores + mask)
    total = weights.sum(-1, keepdims=True)
    return np.matmul(weights / np.where(total == 0, 1, total), value).astype(query.dtype)


# -------------------------------------------------------------------------------- padding


def mirrored(x: Array, pad: Shape, mode: str) -> Array:
    """``mode`` is np.pad's."""
    widths = [(0, 0)] * (x.ndim - len(pad) // 2) + [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)][::-1]
    return np.pad(x, widths, mode)  # type: ignore[call-overload]


def circular(x: Array, pad: Shape) -> Array:
    for i in range(0, len(pad), 2):
        axis = -1 - i // 2
        before, after = pad[i], pad[i + 1]
        x = np.take(x, np.arange(max(-before, 0), x.shape[axis] - max(-after, 0)), axis)
        x = np.take(x, np.arange(-max(before, 0), x.shape[axis] + max(after, 0)), axis, mode="wrap")
    return x


# ---------------------------------------------------------------- convolution and pooling


def _tuple(value: int | Shape, dims: int) -> tuple[int, ...]:
    return (value,) * dims if isinstance(value, int) else tuple(value) * (dims if len(value) == 1 else 1)


def conv(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    groups: int,
) -> Array:
    dims = weight.ndim - 2
    if x.ndim == dims + 1:
        return conv(x[None], weight, bias, stride, padding, dilation, groups)[0]
    s, p, d = (_tuple(v, dims) for v in (stride, padding, dilation))
    kernel = weight.shape[2:]
    out_size = [(n + 2 * p[i] - d[i] * (kernel[i] - 1) - 1) // s[i] + 1 for i, n in enumerate(x.shape[2:])]
    out = np.zeros((len(x), len(weight), *out_size), x.dtype)
    per_in, per_out = weight.shape[1], len(weight) // groups
    for o, place, tap in product(range(len(weight)), np.ndindex(*out_size), np.ndindex(*kernel)):
        source = [place[i] * s[i] - p[i] + tap[i] * d[i] for i in range(dims)]
        if all(0 <= c < n for c, n in zip(source, x.shape[2:], strict=True)):
            first = o // per_out * per_in
            seen = x[(slice(None), slice(first, first + per_in), *source)]
            out[(slice(None), o, *place)] += seen @ weight[(o, slice(None), *tap)]
    return out if bias is None else out + _along_channels(bias, out.ndim)


def conv_transpose(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: int | Shape,
    padding: int | Shape,
    output_padding: int | Shape,
    groups: int,
    dilation: int | Shape,
) -> Array:
    dims = weight.ndim - 2
    if x.ndim == dims + 1:
        return conv_transpose(x[None], weight, bias, stride, padding, output_padding, groups, dilation)[0]
    s, p, d, extra = (_tuple(v, dims) for v in (stride, padding, dilation, output_padding))
    kernel = weight.shape[2:]
    size = [
        (n - 1) * s[i] - 2 * p[i] + d[i] * (kernel[i] - 1) + extra[i] + 1 for i, n in enumerate(x.shape[2:])
    ]
    per_in, per_out = x.shape[1] // groups, weight.shape[1]
    out = np.zeros((len(x), per_out * groups, *size), x.dtype)
    for c, place, tap in product(range(x.shape[1]), np.ndindex(*x.shape[2:]), np.ndindex(*kernel)):
        target = [place[i] * s[i] - p[i] + tap[i] * d[i] for i in range(dims)]
        if all(0 <= t < n for t, n in zip(target, size, strict=True)):
            first = c // per_in * per_out
            values = np.outer(x[(slice(None), c, *place)], weight[(c, slice(None), *tap)])
            out[(slice(None), slice(first, first + per_out), *target)] += values
    return out if bias is None else out + _along_channels(bias, out.ndim)


def convolution(
    x: Array,
    weight: Array,
    bias: Array | None,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    output_padding: Shape,
    groups: int,
) -> Array:
    if transposed:
        return conv_transpose(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return conv(x, weight, bias, stride, padding, dilation, groups)


def convolution_gradients(
    grad: Array,
    x: Array,
    weight: Array,
    stride: Shape,
    padding: Shape,
    dilation: Shape,
    transposed: bool,
    groups: int,
) -> tuple[Array, Array, Array]:
    """The gradients of input, weight and bias, of batches: by each tap of each place."""
    wide, narrow = (grad, x) if transposed else (x, grad)
    of_wide, of_narrow, of_weight = np.zeros_like(wide), np.zeros_like(narrow), np.zeros_like(weight)
    per_wide, per_narrow = weight.shape[1], len(weight) // groups
    places, taps = np.ndindex(*narrow.shape[2:]), np.ndindex(*weight.shape[2:])
    for c, place, tap in product(range(len(weight)), places, taps):
        seen = [
            p * s - a + t * d for p, s, a, t, d in zip(place, stride, padding, tap, dilation, strict=True)
        ]
        if all(0 <= n < size for n, size in zip(seen, wide.shape[2:], strict=True)):
            first = c // per_narrow * per_wide
            there = (slice(None), slice(first, first + per_wide), *seen)
            here, filter_ = (slice(None), c, *place), (c, slice(None), *tap)
            of_weight[filter_] += narrow[here] @ wide[there]
            of_wide[there] += np.outer(narrow[here], weight[filter_])
            of_narrow[here] += wide[there] @ weight[filter_]
    of_bias = grad.sum((0, *range(2, grad.ndim)))
    return (of_narrow if transposed else of_wide), of_weight, of_bias


def _windows(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> Iterator[tuple[list[int], int]]:
    """For each window along one dim the places it sees, and its size with the padding counted."""
    span = n + 2 * p - d * (k - 1) - 1
    count = (-(-span // s) if ceil_mode else span // s) + 1
    if ceil_mode and (count - 1) * s >= n + p:
        count -= 1
    for i in range(count):
        start = i * s - p
        yield (
            [c for c in range(start, start + d * k, d) if 0 <= c < n],
            min(start + k, n + p) - start,
        )


def _pooled(x: Array, dims: int, windows: Any, value: Callable[..., Any]) -> Array:
    """``value(elements, sizes)`` of every window; windows are products of one-dimensional ones."""
    out = np.zeros((*x.shape[:-dims], *[len(w) for w in windows]), x.dtype)
    for lead in np.ndindex(*x.shape[:-dims]):
        for place in np.ndindex(*out.shape[-dims:]):
            chosen = [windows[i][place[i]] for i in range(dims)]
            out[(*lead, *place)] = value(x[lead][np.ix_(*[c[0] for c in chosen])], [c[1] for c in chosen])
    return out


def max_pool(
    x: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    dilation: int | Shape,
    ceil_mode: bool,
) -> Array:
    k, p, d = (_tuple(v, dims) for v in (kernel_size, padding, dilation))
    s = _tuple(stride, dims) or k
    sizes = x.shape[-dims:]
    windows = [list(_windows(sizes[i], k[i], s[i], p[i], d[i], ceil_mode)) for i in range(dims)]
    return _pooled(x, dims, windows, lambda seen, _: seen.max())


def avg_pool(
    x: Array,
    dims: int,
    kernel_size: int | Shape,
    stride: int | Shape,
    padding: int | Shape,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Array:
    k, p = (_tuple(v, dims) for v in (kernel_size, padding))
    s = _tuple(stride, dims) or k
    sizes = x.shape[-dims:]
    windows = [list(_windows(sizes[i], k[i], s[i], p[i], 1, ceil_mode)) for i in range(dims)]

    def mean(seen: Array, whole: list[int]) -> Any:
        count = divisor_override or (math.prod(whole) if count_include_pad else seen.size)
        total = seen.sum()
        return total / count if x.dtype.kind == "f" else math.trunc(total / count)

    return _pooled(x, dims, windows, mean)


def adaptive_avg_pool(x: Array, output_size: int | Shape) -> Array:
    sizes = [output_size] if isinstance(output_size, int) else list(output_size)
    dims = len(sizes)
    windows = [
        [(list(range(i * n // size, -(-(i + 1) * n // size))), 0) for i in range(size)]
        for n, size in zip(x.shape[-dims:], sizes, strict=True)
    ]
    return _pooled(x, dims, windows, lambda seen, _: seen.mean())


# ---------------------------------------------------------------------------- recurrent layers


def rnn_layer(
    input: Array,
    hx: Array,
    cx: Array | None,
    w_ih: Array,
    w_hh: Array,
    b_ih: Array | None,
    b_hh: Array | None,
    w_hr: Array | None,
    batch_sizes: Shape,
    mode: str,
    reverse: bool,
) -> tuple[Array | None, ...]:
    """Each sequence by itself; gates and what else is saved are nobody's concern."""

    def sigmoid(x: Array) -> Array:
        return 1 / (1 + np.exp(-x))

    starts = [sum(batch_sizes[:t]) for t in range(len(batch_sizes))]
    output = np.empty((len(input), hx.shape[1]), input.dtype)
    last_h, last_c = hx.copy(), None if cx is None else cx.copy()
    for row in range(batch_sizes[0]):
        h, c = hx[row], None if cx is None else cx[row]
        steps = [t for t, size in enumerate(batch_sizes) if size > row]
        for t in reversed(steps) if reverse else steps:
            of_x = w_ih @ input[starts[t] + row] + (0 if b_ih is None else b_ih)
            of_h = w_hh @ h + (0 if b_hh is None else b_hh)
            if mode == "GRU":
                (r, z, n), (r_h, z_h, n_h) = np.split(of_x, 3), np.split(of_h, 3)
                z = sigmoid(z + z_h)
                h = (1 - z) * np.tanh(n + sigmoid(r + r_h) * n_h) + z * h
            elif mode == "LSTM":
                i, f, g, o = np.split(of_x + of_h, 4)
                c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
                h = sigmoid(o) * np.tanh(c)
                h = h if w_hr is None else w_hr @ h
            else:
                h = np.tanh(of_x + of_h) if mode == "RNN_TANH" else np.maximum(of_x + of_h, 0)
            output[starts[t] + row] = h
        last_h[row] = h
        if last_c is not None:
            last_c[row] = c
    return output, last_h, np.empty(0, input.dtype) if last_c is None else last_c, None, None


def fused_lstm_cell(input_gates: Array, hidden_gates: Array, cx: Array) -> tuple[Array | None, ...]:
    """Output and cell state; what is saved is nobody's concern."""
    i, f, g, o = np.split(input_gates + hidden_gates, 4, -1)
    cy = cx / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
    return np.tanh(cy) / (1 + np.exp(-o)), cy, None


def fused_gru_cell(input_gates: Array, hidden_gates: Array, hx: Array) -> tuple[Array | None, ...]:
    """The state."""
    (r, z, n), (hr, hz, hn) = np.split(input_gates, 3, -1), np.split(hidden_gates, 3, -1)
    n, z = np.tanh(n + hn / (1 + np.exp(-r - hr))), 1 / (1 + np.exp(-z - hz))
    return (1 - z) * n + z * hx, None
