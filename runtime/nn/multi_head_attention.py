"""Multi-head attention as ``torch.nn.functional`` has it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

from tengen.generated import functions as F

from ..core.scalar_type import bool_, dtype as Dtype
from ..core.user_stack import program_stacklevel
from ..tensors.tensor import Tensor
from .activation import dropout

Triple = tuple[Tensor, Tensor, Tensor]


def _demand(fits: bool, what: str) -> None:
    if not fits:
        raise AssertionError(what)


def _check_shapes(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None,
    attn_mask: Tensor | None,
    num_heads: int,
) -> bool:
    """Whether there is a batch. AssertionError for ranks that do not belong together."""
    rank = query.ndim
    _demand(rank in (2, 3), f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query")
    _demand(
        key.ndim == value.ndim == rank,
        f"For {rank}-D `query`, expected `key` and `value` to be {rank}-D but found {key.ndim}-D and "
        f"{value.ndim}-D tensors respectively",
    )
    if key_padding_mask is not None:
        _demand(
            key_padding_mask.ndim == rank - 1,
            f"For {rank}-D `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
            f"{key_padding_mask.ndim}-D tensor instead",
        )
    if attn_mask is not None:
        _demand(
            attn_mask.ndim in (2, 3),
            f"expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.ndim}-D tensor instead",
        )
        expected = (num_heads, query.shape[0], key.shape[0])
        _demand(
            rank == 3 or attn_mask.ndim == 2 or tuple(attn_mask.shape) == expected,
            f"Expected `attn_mask` shape to be {expected} but got {tuple(attn_mask.shape)}",
        )
    return rank == 3


def _added(mask: Tensor | None, name: str, dtype: Dtype) -> Tensor | None:
    """A mask as what is added to scores: of a bool one negative infinity where it is True."""
    if mask is None or mask.is_floating_point():
        return mask
    _demand(mask.dtype is bool_, f"only bool and floating types of {name} are supported")
    return F.zeros_like(mask, dtype=dtype).masked_fill(mask, -math.inf)


def float_masks(
    padding: Tensor | None, mask: Tensor | None, names: tuple[str, str], dtype: Dtype
) -> tuple[Tensor | None, Tensor | None]:
    """Both masks as what is added to scores. Warns where they are of two kinds."""
    if padding is not None and mask is not None and padding.dtype is not mask.dtype:
        warnings.warn(
            f"Support for mismatched {names[0]} and {names[1]} is deprecated. "
            "Use same type for both instead.",
            stacklevel=program_stacklevel(),
        )
    return _added(padding, names[0], dtype), _added(mask, names[1], dtype)


def _thirds(bias: Tensor | None) -> tuple[Tensor | None, ...]:
    return (None, None, None) if bias is None else tuple(bias.chunk(3))


def _projected(
    given: Triple,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    separate: tuple[Tensor | None, Tensor | None, Tensor | None] | None,
) -> Triple:
    """Query, key and value after their linear maps, which are one matrix or three."""
    _, key, value = given
    if separate is not None:
        for name, weight in zip("qkv", separate, strict=True):
            _demand(weight is not None, f"use_separate_proj_weight is True but {name}_proj_weight is None")
        weights = [w for w in separate if w is not None]
        _demand(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}",
        )
    else:
        if in_proj_weight is None:
            raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
        _demand(key.shape == value.shape, f"key shape {key.shape} does not match value shape {value.shape}")
        weights = list(in_proj_weight.chunk(3))
    return projected_by(given, weights, in_proj_bias)


def projected_by(given: Triple, weights: Sequence[Tensor], bias: Tensor | None) -> Triple:
    """Query, key and value after their linear maps, of which ``bias`` holds the three biases."""
    q, k, v = (F.linear(x, w, b) for x, w, b in zip(given, weights, _thirds(bias), strict=True))
    return q, k, v


def _checked_mask(mask: Tensor | None, batch: int, num_heads: int, lengths: tuple[int, int]) -> Tensor | None:
    """A mask of attention as (1 or N * heads, L, S); RuntimeError for another shape."""
    if mask is None:
        return None
    expected = lengths if mask.ndim == 2 else (batch * num_heads, *lengths)
    if tuple(mask.shape) != expected:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is {tuple(mask.shape)}, but should be {expected}."
        )
    return mask.unsqueeze(0) if mask.ndim == 2 else mask


def _static(given: Tensor | None, computed: Tensor, name: str, count: int, width: int) -> Tensor:
    """The keys or values of all heads, (N * heads, S, width), or those that are given in their place."""
    if given is None:
        return computed.reshape((computed.shape[0], count, width)).transpose(0, 1)
    _demand(given.shape[0] == count, f"expecting {name}.size(0) of {count}, but got {given.shape[0]}")
    _demand(given.shape[2] == width, f"expecting {name}.size(2) of {width}, but got {given.shape[2]}")
    return given


def _one_more(mask: Tensor | None) -> Tensor | None:
    """The mask for one more key, which takes part."""
    return None if mask is None else F.constant_pad_nd(mask, (0, 1))


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of ``num_heads`` heads, and its weights, (N, L, S) or for each head, if they are needed.

    ``query`` is (L, N, E) or (L, E), ``key`` and ``value`` (S, N, E) or (S, E). Raises AssertionError and
    RuntimeError for shapes that do not fit.
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    names = ("key_padding_mask", "attn_mask")
    padding, added = float_masks(key_padding_mask, attn_mask, names, query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    # The hint is for the product of attention; with other masks or weights the mask itself counts.
    hinted = is_causal and padding is None and not need_weights
    mask = None if hinted else added
    _demand(
        width == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}",
    )
    _demand(width % num_heads == 0, f"embed_dim {width} not divisible by num_heads {num_heads}")
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected((query, key, value), in_proj_weight, in_proj_bias, separate)
    mask = _checked_mask(mask, batch, num_heads, (length, key.shape[0]))
    _demand((bias_k is None) is (bias_v is None), "bias_k and bias_v must be set together")
    if bias_k is not None and bias_v is not None:
        _demand(static_k is None, "bias cannot be added to static key.")
        _demand(static_v is None, "bias cannot be added to static value.")
        k = F.cat([k, bias_k.repeat(1, batch, 1)])
        v = F.cat([v, bias_v.repeat(1, batch, 1)])
        mask, padding = _one_more(mask), _one_more(padding)
    count, head = batch * num_heads, width // num_heads
    q = q.reshape((length, count, head)).transpose(0, 1)
    k = _static(static_k, k, "static_k", count, head)
    v = _static(static_v, v, "static_v", count, head)
    if add_zero_attn:
        zeros = k.new_zeros((count, 1, head))
        k, v = F.cat([k, zeros], 1), F.cat([v, zeros], 1)
        mask, padding = _one_more(mask), _one_more(padding)
    seen = k.shape[1]
    if padding is not None:
        _demand(
            tuple(padding.shape) == (batch, seen),
            f"Expected key_padded_mask of shape {(batch, seen)}, but got {tuple(padding.shape)}",
        )
        every = padding.reshape((batch, 1, 1, seen)).expand((-1, num_heads, -1, -1))
        every = every.reshape((count, 1, seen))
        mask = every if mask is None else mask + every
    chance = dropout_p if training else 0.0
    if need_weights:
        out, weights = _attended(q, k, v, mask, chance)
        out = out.transpose(0, 1)
        weights = weights.reshape((batch, num_heads, length, seen))
        weights = weights.mean(1) if average_attn_weights else weights
    else:
        q, k, v = (t.reshape((batch, num_heads, t.shape[1], head)) for t in (q, k, v))
        if mask is not None:
            shape = (1, 1) if mask.shape[0] == 1 else (batch, num_heads)
            mask = mask.reshape((*shape, mask.shape[-2], seen))
        out = F.scaled_dot_product_attention(q, k, v, mask, chance, hinted).permute(2, 0, 1, 3)
        weights = None
    out = F.linear(out.reshape((length * batch, width)), out_proj_weight, out_proj_bias)
    out = out.reshape((length, batch, out.shape[1]))
    if batched:
        return out, weights
    return out.squeeze(1), None if weights is None else weights.squeeze(0)


def _attended(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, chance: float) -> tuple[Tensor, Tensor]:
    """The values of the keys, weighted, and the weights."""
    scaled, turned = q * math.sqrt(1 / q.shape[-1]), k.transpose(-2, -1)
    scores = F.bmm(scaled, turned) if mask is None else F.baddbmm(mask, scaled, turned)
    weights = F.softmax(scores, -1)
    if chance > 0:
        weights = dropout(weights, chance)
    return F.bmm(weights, v), weights
