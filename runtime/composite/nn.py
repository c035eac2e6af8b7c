"""Neural-network operators that are made of others: normalisation, padding, attention and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..autograd.grad_mode import no_grad
from ..autograd.rounding import widened
from ..core.memory_format import channels_last, contiguous_format
from ..core.promotion import result_type
from ..core.scalar_type import bool_, float32, float64, int64
from .nested import nested_attention
from .shape import memory_format_of

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


# -------------------------------------------------------------------------- activations


def celu(self: Tensor, alpha: float) -> Tensor:
    """``elu`` scaled so that its slope has no jump; RuntimeError for an alpha of 0."""
    if alpha == 0:
        raise RuntimeError("celu: alpha cannot be 0 for CELU")
    return F.elu(self, alpha, 1, 1 / alpha)


def celu_(self: Tensor, alpha: float) -> Tensor:
    """``celu`` in place. RuntimeError for an ``alpha`` of 0."""
    if alpha == 0:
        raise RuntimeError("celu_: alpha cannot be 0 for CELU")
    return F.elu_(self, alpha, 1, 1 / alpha)


def prelu(self: Tensor, weight: Tensor) -> Tensor:
    """``self`` where positive, else ``weight * self``.

    Raises RuntimeError when there are neither one weight nor as many as channels, NotImplementedError
    for other than real floating-point tensors.
    """
    if not self.is_floating_point():
        raise NotImplementedError(f"prelu: not implemented for {self.dtype}")
    if weight.ndim > 1:
        raise RuntimeError(
            f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight.ndim}"
        )
    if weight.numel() != 1:
        channels = self.shape[1] if self.ndim > 1 else 1
        if not self.ndim or channels != weight.numel():
            raise RuntimeError(
                "prelu: Mismatch of parameter numbers and input channel size. "
                f"Found parameter numbers = {weight.numel()} and channel size = {channels}."
            )
        weight = weight.reshape(channels, *[1] * (self.ndim - 2))
    elif weight.ndim:
        weight = weight.reshape(())
    return F._prelu_kernel(self, weight)


# ------------------------------------------------------------------------------ dropout


def _keeps_all(input: Tensor, p: float, train: bool) -> bool:
    """Whether nothing is dropped; RuntimeError for what is no probability."""
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")
    return p == 0 or not train or not input.numel()


def _zero(self: Tensor) -> Tensor:
    """A 0-d zero to multiply with, strided also where ``self`` is a nested tensor."""
    return F.zeros((), dtype=self.dtype, device=self.device)


def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Elements zeroed at random when training; the input itself otherwise."""
    if _keeps_all(input, p, train):
        return input
    if p == 1:
        return input * _zero(input)
    return F.native_dropout(input, p, True)[0]


def dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """``dropout`` in place."""
    if _keeps_all(self, p, train):
        return self
    return self.mul_(F.native_dropout(F.ones_like(self), p, True)[0])


def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Whole channels zeroed at random when training; the input itself otherwise."""
    if _keeps_all(input, p, train):
        return input
    if p == 1:
        return input * _zero(input)
    return input * F.native_dropout(_feature_noise(input), p, True)[0]


_ALPHA = 1.7580993408473766  # of selu: alpha * scale, whose negative is selu's limit


def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """What is dropped becomes selu's limit; scale and shift then give mean 0 and variance 1 again."""
    if _keeps_all(input, p, train):
        return input
    if p == 1:
        return input * F.zeros_like(input)
    factor, shift = _alpha_dropped(input, F.ones_like(input), p)
    return input * factor + shift


def _feature_noise(self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return self.new_ones((*self.shape[:2], *[1] * (self.ndim - 2)))


def feature_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """``feature_dropout`` in place."""
    if _keeps_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(_zero(self))
    return self.mul_(F.native_dropout(_feature_noise(self), p, True)[0])


def _alpha_dropped(self: Tensor, noise: Tensor, p: float) -> tuple[Tensor, Tensor]:
    """What is multiplied with and what is added, of the noise's shape."""
    kept = F.native_dropout(noise, p, True)[1]
    scale = 1 / sqrt((_ALPHA * _ALPHA * p + 1) * (1 - p))
    shift = (kept.logical_not() * (-_ALPHA * scale) + _ALPHA * scale * p).to(self.dtype)
    return (kept * scale).to(self.dtype), shift


def alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` in place."""
    if _keeps_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(F.zeros_like(self))
    factor, shift = _alpha_dropped(self, F.ones_like(self), p)
    return self.mul_(factor).add_(shift)


def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """``alpha_dropout`` of whole channels; RuntimeError for fewer than two dims."""
    if _keeps_all(input, p, train):
        return input
    if p == 1:
        return input * _zero(input)
    factor, shift = _alpha_dropped(input, _feature_noise(input), p)
    return input * factor + shift


def feature_alpha_dropout_(self: Tensor, p: float, train: bool) -> Tensor:
    """``feature_alpha_dropout`` in place."""
    if _keeps_all(self, p, train):
        return self
    if p == 1:
        return self.mul_(_zero(self))
    factor, shift = _alpha_dropped(self, _feature_noise(self), p)
    return self.mul_(factor).add_(shift)


def _slopes(self: Tensor, lower: float, upper: float, generator: Any) -> Tensor:
    """A slope for each element, 1 where it is positive; RuntimeError where the bounds cross."""
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    drawn = F.empty_like(self).uniform_(lower, upper, generator=generator)
    return F.where(self > 0, 1, drawn)


def rrelu(self: Tensor, lower: float, upper: float, training: bool, generator: Any) -> Tensor:
    """Leaky relu, in training with random slopes. RuntimeError where ``lower`` is above ``upper``."""
    if training:
        return (self * _slopes(self, lower, upper, generator)).contiguous()
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return F.leaky_relu(self, (lower + upper) / 2).contiguous()


def rrelu_(self: Tensor, lower: float, upper: float, training: bool, generator: Any) -> Tensor:
    """``rrelu`` in place. RuntimeError where ``lower`` is above ``upper``."""
    if training:
        return self.mul_(_slopes(self.detach(), lower, upper, generator))
    if not lower <= upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    return F.leaky_relu_(self, (lower + upper) / 2)


def rrelu_with_noise(
    self: Tensor, noise: Tensor, lower: float, upper: float, training: bool, generator: Any
) -> Tensor:
    """``rrelu``, whose slopes are written to ``noise`` in training."""
    if not training:
        return F.leaky_relu(self, (lower + upper) / 2).contiguous()
    slopes = _slopes(self, lower, upper, generator)
    with no_grad():
        noise.copy_(slopes)
    return (self * slopes).contiguous()


# ------------------------------------------------------------------------ convolutions


def conv_padding(
    convolve: Callable[..., Tensor],
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: str,
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution with ``'valid'`` (no) or ``'same'`` padding.

    Raises RuntimeError for other words and for ``'same'`` with strides.
    """
    if padding == "valid":
        return convolve(input, weight, bias, stride, (0,) * len(stride), dilation, groups)
    if padding != "same":
        raise RuntimeError(f"Invalid padding string: '{padding}'")
    if any([s != 1 for s in stride]):
        raise RuntimeError("padding='same' is not supported for strided convolutions")
    if weight.ndim != len(dilation) + 2:
        raise RuntimeError(f"Expected a {len(dilation) + 2}-dimensional weight, but got {list(weight.shape)}")
    totals = [d * (k - 1) for k, d in zip(weight.shape[2:], dilation, strict=True)]
    both = tuple([total // 2 for total in totals])
    if any([total % 2 for total in totals]):
        # An odd number of places: one more behind than before.
        extra = [n for total in reversed(totals) for n in (0, total % 2)]
        input = F.constant_pad_nd(input, extra, 0)
    return convolve(input, weight, bias, stride, both, dilation, groups)


# ------------------------------------------------------------------------------ padding


def pad_by_mode(self: Tensor, pad: Sequence[int], mode: str, value: float | None) -> Tensor:
    """The last dims made larger; NotImplementedError for a mode or number of dims that there is not."""
    if mode == "constant":
        return F.constant_pad_nd(self, pad, 0.0 if value is None else value)
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in ("reflect", "replicate", "circular"):
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    dims = len(pad) // 2
    if len(pad) not in (2, 4, 6) or self.ndim not in (dims + 1, dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {self.ndim}D input tensor: mode {mode} pads the "
            "last dim of 2D or 3D, the last 2 dims of 3D or 4D and the last 3 dims of 4D or 5D inputs"
        )
    if mode == "circular":
        return pad_circular(self, pad)
    name = f"{'reflection' if mode == 'reflect' else 'replication'}_pad{dims}d"
    out: Tensor = getattr(F, name)(self, pad)
    return out


def pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor:
    """The last dims continued from their other ends; RuntimeError for pads larger than the dim."""
    dims = len(pad) // 2
    if len(pad) % 2 or self.ndim not in (dims + 1, dims + 2):
        raise RuntimeError(
            f"Invalid padding size {list(pad)} for circular padding of an input of size {list(self.shape)}"
        )
    out = self
    for i in range(dims):
        before, after = pad[2 * i], pad[2 * i + 1]
        dim = self.ndim - 1 - i
        size = self.shape[dim]
        if before > size or after > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if before + after + size < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
        kept = size - max(-before, 0) - max(-after, 0)
        if kept <= 0 and before + after + size > 0:
            raise RuntimeError(
                f"Padding ({before}, {after}) cuts off all of dimension {dim} that could be continued, of an "
                f"input of size {list(self.shape)}"
            )
        middle = out.narrow(dim, max(-before, 0), kept)
        out = F.cat(
            [*_continued(middle, dim, before, True), middle, *_continued(middle, dim, after, False)], dim
        )
    return out.contiguous()


def _continued(middle: Tensor, dim: int, places: int, before: bool) -> list[Tensor]:
    """What ``middle`` is continued by, for so many places before or behind it.

    What was cut off does not come back at the other end, so these may be more than ``middle`` has.
    """
    if places <= 0:
        return []
    size = middle.shape[dim]
    whole, rest = divmod(places, size)
    part = [middle.narrow(dim, size - rest if before else 0, rest)] if rest else []
    return [*part, *[middle] * whole] if before else [*[middle] * whole, *part]


def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """Channels to places: (*, C r^2, H, W) to (*, C, H r, W r). RuntimeError unless r > 0 and its square
    divides the channels."""
    r = upscale_factor
    if self.ndim < 3:
        raise RuntimeError(f"pixel_shuffle expects input to have at least 3 dimensions, but got {self.ndim}")
    if r <= 0:
        raise RuntimeError(f"pixel_shuffle expects a positive upscale_factor, but got {r}")
    *batch, channels, height, width = self.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={channels} is not divisible by {r * r}"
        )
    n = len(batch)
    parts = self.reshape(*batch, channels // (r * r), r, r, height, width)
    moved = parts.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    shape = (*batch, channels // (r * r), height * r, width * r)
    return _in_format_of(self, F._unsafe_view(moved.clone(memory_format=contiguous_format), shape))


def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    """The channels of the groups in turn; RuntimeError unless the groups divide them."""
    if self.ndim < 3:
        raise RuntimeError(
            f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(self.shape)}"
        )
    if groups <= 0:
        raise RuntimeError(
            f"Number of groups to divide channels in must be positive. Value of groups:{groups}"
        )
    batch, channels, *spatial = self.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    parts = self.reshape(batch, groups, channels // groups, *spatial)
    out = F._unsafe_view(parts.transpose(1, 2).clone(memory_format=contiguous_format), self.shape)
    innermost = memory_format_of(self) is channels_last
    return out.contiguous(memory_format=channels_last) if innermost else out


def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """Places to channels: (*, C, H r, W r) to (*, C r^2, H, W). RuntimeError unless r > 0 divides height and
    width."""
    r = downscale_factor
    if self.ndim < 3:
        raise RuntimeError(
            f"pixel_unshuffle expects input to have at least 3 dimensions, but got {self.ndim}"
        )
    if r <= 0:
        raise RuntimeError(f"pixel_unshuffle expects a positive downscale_factor, but got {r}")
    *batch, channels, height, width = self.shape
    if height % r or width % r:
        raise RuntimeError(
            "pixel_unshuffle expects height and width to be divisible by downscale_factor, "
            f"but input.size(-2)={height}, input.size(-1)={width} are not both divisible by {r}"
        )
    n = len(batch)
    parts = self.reshape(*batch, channels, height // r, r, width // r, r)
    moved = parts.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    shape = (*batch, channels * r * r, height // r, width // r)
    return _in_format_of(self, F._unsafe_view(moved.clone(memory_format=contiguous_format), shape))


def max_pool2d_with_indices_backward(
    grad_output: Tensor,
    self: Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    indices: Tensor,
) -> Tensor:
    """``max_pool2d_backward`` in the memory format of the images."""
    window = (kernel_size, stride, padding, dilation, ceil_mode)
    return _in_format_of(self, F.max_pool2d_backward(grad_output, self, *window, indices))


def _in_format_of(self: Tensor, result: Tensor) -> Tensor:
    """The result in the memory format of ``self``."""
    return result.contiguous(memory_format=memory_format_of(self))


# ---------------------------------------------------------------------------- the others


def one_hot(self: Tensor, num_classes: int) -> Tensor:
    """int64 zeros with a 1 at each class; RuntimeError for classes below 0 or not below ``num_classes``."""
    if self.dtype is not int64:
        raise RuntimeError("one_hot is only applicable to index tensor of type LongTensor.")
    if not self.numel():
        if num_classes <= 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        return F.zeros((*self.shape, num_classes), dtype=int64, device=self.device)
    if self._type.backend.has_data or num_classes == -1:
        if int(self.min()) < 0:
            raise RuntimeError("Class values must be non-negative.")
        most = int(self.max())
        if num_classes == -1:
            num_classes = most + 1
        elif num_classes <= most:
            raise RuntimeError("Class values must be smaller than num_classes.")
    classes = F.arange(num_classes, device=self.device)
    return (self.unsqueeze(-1).contiguous() == classes).to(int64)


def cosine_similarity(x1: Tensor, x2: Tensor, dim: int, eps: float) -> Tensor:
    """The cosine of the angle between vectors along ``dim``; RuntimeError for integers."""
    common = result_type(x1, x2)
    if not common.is_floating_point:
        raise RuntimeError(f"expected common dtype to be floating point, yet common dtype is {common}")
    x1, x2 = F.broadcast_tensors((x1.to(common), x2.to(common)))
    return ((x1 / _length(x1, dim, eps)) * (x2 / _length(x2, dim, eps))).sum(dim)


def _length(x: Tensor, dim: int, eps: float) -> Tensor:
    """The length of the vectors along ``dim``, at least eps, which does not stop the gradient."""
    length = F.linalg_vector_norm(x, 2, dim, True)
    with no_grad():
        missing = (eps - length).clamp(min=0)
    return length + missing


def pairwise_distance(x1: Tensor, x2: Tensor, p: float, eps: float, keepdim: bool) -> Tensor:
    """The p-norm of the differences along the last dim."""
    return F.linalg_vector_norm(x1 - x2 + eps, p, -1, keepdim)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Tensor:
    """Values averaged by how well their keys match the query.

    Raises RuntimeError for different dtypes, a mask that is neither bool nor float32 nor of that dtype, fewer
    than two dims, or a mask with ``is_causal``.
    """
    if query.is_nested or key.is_nested or value.is_nested:
        return nested_attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    _check_attention(query, key, value)
    if attn_mask is not None and attn_mask.dtype not in (bool_, float32, query.dtype):
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: "
            f"{attn_mask.dtype} and query.dtype: {query.dtype} instead."
        )
    if attn_mask is not None and query.dtype.opmath is attn_mask.dtype is not query.dtype:
        q, k, v = widened(query, key, value)
        wide = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal, scale, enable_gqa)
        return wide.to(query.dtype)
    if is_causal and attn_mask is not None:
        raise RuntimeError("Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        key, value = (t.repeat_interleave(query.shape[-3] // t.shape[-3], -3) for t in (key, value))
    scores = _scores(query, key, 1 / sqrt(query.shape[-1]) if scale is None else scale)
    if is_causal:
        attn_mask = F.ones((query.shape[-2], key.shape[-2]), dtype=bool_, device=query.device).tril()
    if attn_mask is None:
        weights = F.softmax(scores, -1)
    else:
        if attn_mask.dtype is bool_:
            scores = F.where(attn_mask, scores, -float("inf"))
        else:
            scores = scores + attn_mask
        weights = F._softmax_or_zeros(scores, -1)
    if dropout_p > 0:
        weights = dropout(weights, dropout_p, True)
    return weights @ value


def _scores(query: Tensor, key: Tensor, scale: float) -> Tensor:
    """The products of queries and keys, scaled."""
    if abs(scale) <= 1 and query.dtype in (float32, float64):
        return (query * scale) @ key.transpose(-2, -1)
    # Both factors by the root, so that large entries of neither overflow, nor small ones of few bits vanish.
    root = sqrt(abs(scale))
    return (query * (root if scale >= 0 else -root)) @ (key * root).transpose(-2, -1)


def _check_attention(query: Tensor, key: Tensor, value: Tensor) -> None:
    if not query.dtype == key.dtype == value.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if min(query.ndim, key.ndim, value.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.ndim} key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
