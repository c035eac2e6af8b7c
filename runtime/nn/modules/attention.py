"""Attention of several heads."""

from __future__ import annotations

from typing import Any, ClassVar

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F, init
from ..multi_head_attention import float_masks, projected_by
from ..nested_attention import check_nested, nested_multi_head_attention
from .base import Registered, new_parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


def __dir__() -> list[str]:
    return sorted(__all__)


class MultiheadAttention(Module):
    """Attention of ``num_heads`` heads, each of ``embed_dim / num_heads`` values.

    The maps of query, key and value are one matrix ``in_proj_weight`` (3 * embed_dim, embed_dim), or with
    ``kdim`` or ``vdim`` three; ``bias_k`` and ``bias_v`` (1, 1, embed_dim) are one more key and value with
    ``add_bias_kv``; the last map is ``out_proj``. ValueError for sizes that are not positive,
    AssertionError for heads that do not divide.
    """

    __constants__: ClassVar[list[str]] = ["batch_first"]
    in_proj_weight: Any = Registered()
    q_proj_weight: Any = Registered()
    k_proj_weight: Any = Registered()
    v_proj_weight: Any = Registered()
    in_proj_bias: Any = Registered()
    bias_k: Any = Registered()
    bias_v: Any = Registered()
    out_proj: Any = Registered("_modules")

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                "embed_dim and num_heads must be greater than 0, got "
                f"embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        place = (device, dtype)
        same = self._qkv_same_embed_dim
        columns = {"q_proj_weight": embed_dim, "k_proj_weight": self.kdim, "v_proj_weight": self.vdim}
        separate = {
            name: None if same else new_parameter((embed_dim, n), *place) for name, n in columns.items()
        }
        whole = {"in_proj_weight": new_parameter((3 * embed_dim, embed_dim), *place) if same else None}
        for name, weight in (whole | separate if same else separate | whole).items():
            self.register_parameter(name, weight)
        self.register_parameter("in_proj_bias", new_parameter(3 * embed_dim, *place) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
        if add_bias_kv:
            self.bias_k = new_parameter((1, 1, embed_dim), *place)
            self.bias_v = new_parameter((1, 1, embed_dim), *place)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What is attended to, (L, N, embed_dim), and with ``need_weights`` the weights, (N, L, S).

        ``query`` is (L, N, embed_dim), ``key`` and ``value`` (S, N, kdim) and (S, N, vdim), with
        ``batch_first`` N before the others, or all without N. ``attn_mask`` (L, S) or (N * num_heads, L, S)
        and ``key_padding_mask`` (N, S) are True where nothing is attended to, or are added to the scores.

        Nested tensors (N, j, embed_dim), with ``batch_first``, go part by part: AssertionError for masks.
        Weights are padded with zeros.
        """
        if query.is_nested or key.is_nested or value.is_nested:
            masks = {"key_padding_mask": key_padding_mask is not None, "attn_mask": attn_mask is not None}
            asked = masks | {"is_causal": is_causal}
            return self._of_nested((query, key, value), need_weights, average_attn_weights, asked)
        names = ("key_padding_mask", "attn_mask")
        key_padding_mask, attn_mask = float_masks(key_padding_mask, attn_mask, names, query.dtype)
        turned = self.batch_first and query.dim() == 3
        if turned:
            query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if turned else out), weights

    def _of_nested(
        self, given: tuple[Tensor, Tensor, Tensor], need_weights: bool, average: bool, asked: dict[str, bool]
    ) -> tuple[Tensor, Tensor | None]:
        """The same of nested tensors (N, j, embed_dim), part by part."""
        own = {
            "batch_first=False": not self.batch_first,
            "add_bias_kv": self.bias_k is not None,
            "add_zero_attn": self.add_zero_attn,
        }
        check_nested(given, asked | own)
        separate = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        weights = self.in_proj_weight.chunk(3) if self._qkv_same_embed_dim else separate
        projected = projected_by(given, weights, self.in_proj_bias)
        dropout_p = self.dropout if self.training else 0.0
        out, found = nested_multi_head_attention(projected, self.num_heads, dropout_p, need_weights, average)
        return self.out_proj(out), found

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Both masks as one (N, num_heads, L, L), 2; that of padding alone, 1; None of none.

        ``query`` has the shape (N, L, embed_dim).
        """
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        batch, length, _ = query.shape
        if attn_mask.dim() == 3:
            merged = attn_mask.view(batch, -1, length, length)
        else:
            merged = attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1)
        if key_padding_mask is not None:
            merged = merged + key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return merged, 2
