"""Attention whose scores a function changes: computed as it is written, without kernels of its own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from tengen.generated.functions import arange, logsumexp, where

from ...core.scalar_type import dtype
from ...tensors.tensor import Tensor
from .block_mask import (
    DEFAULT_SIDE,
    BlockMask as BlockMask,
    and_masks as and_masks,
    create_block_mask as create_block_mask,
    create_mask as create_mask,
    noop_mask as noop_mask,
    or_masks as or_masks,
    over_scores,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

#: PyTorch's name, which packages import.
_DEFAULT_SPARSE_BLOCK_SIZE = DEFAULT_SIDE
#: A score, the numbers of its batch, head, query and key, all 0-d tensors -> the score that counts.
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]


def __dir__() -> list[str]:
    return sorted(__all__)


class AuxRequest(NamedTuple):
    """What ``flex_attention`` is to give beside its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an ``AuxRequest``: each (B, H, L), or None."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of queries (B, H, L, E) to keys (B, H, S, E) and values (B, H, S, Ev): (B, H, L, Ev).

    The scores, in float32 or float64, are ``query @ key.mT * scale`` (1 / sqrt(E) by default), changed by
    ``score_mod``; what the ``block_mask``'s function hides has no weight, and where all is hidden the result
    is 0. With ``enable_gqa`` some heads of queries share one of keys. ``return_lse`` gives also the logarithm
    of the sum of the exponentials (B, H, L), ``return_aux`` an ``AuxOutput``. ``kernel_options`` change
    nothing.

    ValueError for sizes that do not fit, NotImplementedError for other than 4 dimensions.
    """
    _check(query, key, value, block_mask, enable_gqa)
    heads = query.shape[1] // key.shape[1]
    if heads > 1:
        key, value = key.repeat_interleave(heads, 1), value.repeat_interleave(heads, 1)
    precise = dtype.registry["float64" if query.dtype == dtype.registry["float64"] else "float32"]
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)).to(dtype=precise) * factor
    numbers = [arange(n, device=query.device) for n in scores.shape]
    if score_mod is not None:
        scores = over_scores(score_mod, True)(scores, *numbers).to(dtype=precise)
    if block_mask is not None:
        seen = over_scores(block_mask.mask_mod, False)(*numbers)
        scores = where(seen, scores, -math.inf)
    hidden = (scores == -math.inf).all(-1, keepdim=True)
    weights = where(hidden, 0.0, scores).softmax(-1).masked_fill(hidden, 0.0)
    result = weights.to(dtype=query.dtype) @ value.to(dtype=query.dtype)
    if return_aux is not None:
        lse = logsumexp(scores, -1) if return_aux.lse else None
        return result, AuxOutput(lse, scores.amax(-1) if return_aux.max_scores else None)
    return (result, logsumexp(scores, -1)) if return_lse else result


def _check(query: Tensor, key: Tensor, value: Tensor, block_mask: BlockMask | None, gqa: bool) -> None:
    """The errors of ``flex_attention``."""
    if not query.dim() == key.dim() == value.dim() == 4:
        raise NotImplementedError(
            "flex_attention: query, key, and value must be 4D tensors, but got "
            f"{query.dim()}D, {key.dim()}D and {value.dim()}D"
        )
    (batches, heads, length, size), (key_batches, key_heads, keys, key_size) = query.shape, key.shape
    if size != key_size:
        raise ValueError(
            f"flex_attention: Expect query and key/value to have the same embedding dimension but got "
            f"E={size} and E={key_size}."
        )
    if value.shape[:3] != key.shape[:3]:
        raise ValueError(
            "flex_attention: Expect key and value to agree in all but their last dimension but got "
            f"{tuple(key.shape)} and {tuple(value.shape)}."
        )
    if batches != key_batches and (key_batches != 1 or block_mask is None):
        raise ValueError(
            "flex_attention: Expect query and key/value to have the same batch size, or non-none block_mask, "
            f"but got {block_mask=}, Bq={batches}, and Bkv={key_batches}."
        )
    if heads != key_heads and not gqa:
        raise ValueError(
            "flex_attention: Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={key_heads}. Try setting enable_gqa=True for GQA."
        )
    if heads % key_heads:
        raise ValueError(
            "flex_attention: Expect number of query heads to be a multiple of kv heads for GQA but got "
            f"Hq={heads} and Hkv={key_heads}."
        )
    if block_mask is not None:
        _check_mask(block_mask, (batches, heads, length, keys))


def _check_mask(block_mask: BlockMask, sizes: tuple[int, ...]) -> None:
    masked = block_mask.shape
    fits = all(m in (1, n) for m, n in zip(masked[-4:-2], sizes, strict=False)) and masked[-2:] == sizes[-2:]
    if not fits:
        raise ValueError(
            f"flex_attention: block_mask was created for {block_mask.shape=} but the scores are {sizes}: "
            "create one for these"
        )
