"""Transformers: encoders, decoders and both."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from tengen.generated.functions import full

from ...autograd.grad_mode import is_grad_enabled
from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...core.user_stack import program_stacklevel
from ...tensors.tensor import Tensor
from .. import functional as F, init
from ..multi_head_attention import float_masks
from .activation import GELU, ReLU
from .container import ModuleList
from .module import Module
from .normalization import LayerNorm
from .transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def __dir__() -> list[str]:
    return sorted(__all__)


def causal_mask(size: int, device: Device | str | None = None, dtype: DType | None = None) -> Tensor:
    """A causal mask (size, size): negative infinity above the diagonal, else 0."""
    return full((size, size), -math.inf, dtype=dtype, device=device).triu(1)


def is_causal_mask(mask: Tensor | None, is_causal: bool | None, size: int) -> bool:
    """Whether a mask is the causal one, where nobody says so."""
    if is_causal is not None or mask is None:
        return is_causal is True
    expected = causal_mask(size, mask.device, mask.dtype)
    return mask.size() == expected.size() and bool((mask == expected).all())


def _length(x: Tensor, batch_first: bool) -> int:
    return x.size(0) if x.dim() == 2 or not batch_first else x.size(1)


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerEncoder(Module):
    """``num_layers`` copies of a layer, one after the other, and a normalisation at the end.

    Without gradients, out of training, the places of padding are 0 before the normalisation, as in
    PyTorch's fast path, if the layer is one that has it (``enable_nested_tensor``; a warning says why one
    has not).
    """

    __constants__: ClassVar[list[str]] = ["norm"]

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        why_not = _without_fast_path(encoder_layer)
        if enable_nested_tensor and why_not:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {why_not}",
                stacklevel=program_stacklevel(),
            )
            self.use_nested_tensor = False

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The input (S, N, E), with ``batch_first`` (N, S, E), or (S, E), encoded.

        ``mask`` (S, S) or (N * heads, S, S) and ``src_key_padding_mask`` (N, S) are as those of
        MultiheadAttention.
        """
        names = ("src_key_padding_mask", "mask")
        padding, mask = float_masks(src_key_padding_mask, mask, names, src.dtype)
        first = self.layers[0]
        hinted = is_causal_mask(mask, is_causal, _length(src, first.self_attn.batch_first))
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=hinted, src_key_padding_mask=padding)
        if padding is not None and mask is None and self._is_fast(first, src, padding):
            out = out.masked_fill((padding != 0).unsqueeze(-1), 0.0)
        return out if self.norm is None else self.norm(out)

    def _is_fast(self, first: Any, src: Tensor, padding: Tensor) -> bool:
        """Whether PyTorch would go its fast way: then padding is left out, and 0 in the result."""
        if not self.use_nested_tensor or first.training or src.dim() != 3:
            return False
        recorded = (src, *first.parameters())
        if is_grad_enabled() and any(t.requires_grad for t in recorded):
            return False
        left_out = padding != 0
        return not self.mask_check or bool((left_out.cumsum(1).clamp(max=1) == left_out).all())


def _without_fast_path(layer: Any) -> str:
    """Why PyTorch's fast path is not for a layer; empty where it is."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "norm_first was True": layer.norm_first,
        "self_attn.batch_first was not True(use batch_first for better inference performance)": (
            not attention.batch_first
        ),
        "self_attn was passed bias=False": attention.in_proj_bias is None,
        "activation_relu_or_gelu was not True": not _is_relu_or_gelu(layer.activation),
        "norm1.eps was not equal to encoder_layer.norm2.eps": layer.norm1.eps != layer.norm2.eps,
        "self_attn.num_heads is odd": attention.num_heads % 2 == 1,
    }
    return next((f"encoder_layer.{reason}" for reason, holds in reasons.items() if holds), "")


def _is_relu_or_gelu(activation: Any) -> bool:
    return activation in (F.relu, F.gelu) or isinstance(activation, (ReLU, GELU))


class TransformerDecoder(Module):
    """``num_layers`` copies of a layer, one after the other, and a normalisation at the end."""

    __constants__: ClassVar[list[str]] = ["norm"]

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """The input (T, N, E), with ``batch_first`` (N, T, E), or (T, E), decoded with ``memory``.

        The masks are as those of MultiheadAttention: of the input, and of ``memory``, of the shapes (T, T)
        and (T, S) with padding of (N, T) and (N, S).
        """
        length = _length(tgt, self.layers[0].self_attn.batch_first)
        hinted = is_causal_mask(tgt_mask, tgt_is_causal, length)
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=hinted,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder and a decoder; matrices are Xavier uniform at first.

    ``custom_encoder`` and ``custom_decoder`` take their places.
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        sizes = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        rest = (batch_first, norm_first, bias, device, dtype)
        norm: Any = {"eps": layer_norm_eps, "bias": bias, "device": device, "dtype": dtype}
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*sizes, *rest)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model, **norm))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            last = TransformerDecoderLayer(*sizes, *rest)
            self.decoder = TransformerDecoder(last, num_decoder_layers, LayerNorm(d_model, **norm))
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """``src`` (S, N, E) encoded, and with that ``tgt`` (T, N, E) decoded; with ``batch_first`` N before.

        The masks are as those of MultiheadAttention. RuntimeError for batches or features that do not fit.
        """
        dim = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(dim) != tgt.size(dim):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        padding = src_key_padding_mask
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=padding, is_causal=src_is_causal)
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | str | None = None, dtype: DType | None = None
    ) -> Tensor:
        """A causal mask (sz, sz): negative infinity above the diagonal, else 0."""
        return causal_mask(sz, device, dtype)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
