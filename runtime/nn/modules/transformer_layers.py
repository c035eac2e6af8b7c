"""The layers of transformers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F
from ..multi_head_attention import float_masks
from .attention import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

__all__ = ["TransformerDecoderLayer", "TransformerEncoderLayer"]

Activation = str | Callable[[Tensor], Tensor]


def __dir__() -> list[str]:
    return sorted(__all__)


def _activation(given: Activation) -> Callable[[Tensor], Tensor]:
    """The function of an activation that may be a word. RuntimeError for other words."""
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return F.relu if given == "relu" else F.gelu


def _is(activation: Any, word: str) -> bool:
    named = {"relu": "ReLU", "gelu": "GELU"}[word]
    return activation is getattr(F, word) or any(c.__name__ == named for c in type(activation).__mro__)


class _Layer(Module):
    """What both kinds of layers have in common."""

    __constants__: ClassVar[list[str]] = ["norm_first"]
    activation: Any

    def _add_feed_forward(
        self, d_model: int, dim_feedforward: int, dropout: float, bias: bool, place: dict[str, Any]
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **place)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **place)

    def _attended(
        self, attention: Any, x: Tensor, other: Tensor, mask: Any, padding: Any, is_causal: bool
    ) -> Tensor:
        out: Tensor = attention(
            x, other, other, attn_mask=mask, key_padding_mask=padding, is_causal=is_causal, need_weights=False
        )[0]
        return out

    def _fed_forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return out


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each added to its input and normalised.

    ``activation`` is a function, ``'relu'`` or ``'gelu'``; RuntimeError for other words.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        place: Any = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **place
        )
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, place)
        self.norm_first = norm_first
        norm: Any = {"eps": layer_norm_eps, "bias": bias, **place}
        self.norm1, self.norm2 = (LayerNorm(d_model, **norm) for _ in range(2))
        self.dropout1, self.dropout2 = (Dropout(dropout) for _ in range(2))
        chosen = _activation(activation)
        self.activation_relu_or_gelu = 1 if _is(chosen, "relu") else 2 if _is(chosen, "gelu") else 0
        self.activation = chosen

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The input (S, N, d_model), with ``batch_first`` (N, S, d_model), or (S, d_model), in its shape.

        The masks are as those of MultiheadAttention: (S, S) or (N * nhead, S, S), and (N, S).
        """
        names = ("src_key_padding_mask", "src_mask")
        padding, mask = float_masks(src_key_padding_mask, src_mask, names, src.dtype)
        if self.norm_first:
            x = src + self._sa_block(self.norm1(src), mask, padding, is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(src + self._sa_block(src, mask, padding, is_causal))
        out: Tensor = self.norm2(x + self._ff_block(x))
        return out

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        out: Tensor = self.dropout1(
            self._attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        )
        return out

    def _ff_block(self, x: Tensor) -> Tensor:
        out: Tensor = self.dropout2(self._fed_forward(x))
        return out


class TransformerDecoderLayer(_Layer):
    """Self-attention, cross-attention and a feed-forward network, each added to its input and normalised.

    Normalised before with ``norm_first``. ``activation`` is a function, ``'relu'`` or ``'gelu'``;
    RuntimeError for other words.
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        place: Any = {"device": device, "dtype": dtype}
        super().__init__()
        heads: Any = {"dropout": dropout, "bias": bias, "batch_first": batch_first, **place}
        self.self_attn = MultiheadAttention(d_model, nhead, **heads)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **heads)
        self._add_feed_forward(d_model, dim_feedforward, dropout, bias, place)
        self.norm_first = norm_first
        norm: Any = {"eps": layer_norm_eps, "bias": bias, **place}
        self.norm1, self.norm2, self.norm3 = (LayerNorm(d_model, **norm) for _ in range(3))
        self.dropout1, self.dropout2, self.dropout3 = (Dropout(dropout) for _ in range(3))
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The input (T, N, d_model), with ``batch_first`` (N, T, d_model), or (T, d_model), in its shape.

        ``memory`` is (S, N, d_model), or likewise. The masks are as those of MultiheadAttention, of the
        input and of the memory.
        """
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        others = (memory_mask, memory_key_padding_mask, memory_is_causal)
        x = tgt
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *others)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *others))
        out: Tensor = self.norm3(x + self._ff_block(x))
        return out

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        out: Tensor = self.dropout1(
            self._attended(self.self_attn, x, x, attn_mask, key_padding_mask, is_causal)
        )
        return out

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        attended = self._attended(self.multihead_attn, x, mem, attn_mask, key_padding_mask, is_causal)
        out: Tensor = self.dropout2(attended)
        return out

    def _ff_block(self, x: Tensor) -> Tensor:
        out: Tensor = self.dropout3(self._fed_forward(x))
        return out
