"""Rows of a matrix by their numbers."""

from __future__ import annotations

from typing import Any, ClassVar

from ...autograd.grad_mode import no_grad
from ...core.device import device as Device
from ...core.scalar_type import dtype as DType
from ...tensors.tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter
from .base import Registered, new_parameter
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


def __dir__() -> list[str]:
    return sorted(__all__)


class _Rows(Module):
    """A matrix of rows, ``weight``, normal at first; the row ``padding_idx`` is 0, and has no gradient."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Any = Registered()

    def _fill(self, weight: Tensor | None, freeze: bool, device: Any, dtype: Any) -> None:
        shape = (self.num_embeddings, self.embedding_dim)
        if weight is None:
            made = new_parameter(shape, device, dtype)
            self.weight = made.requires_grad_(not freeze)
            self.reset_parameters()
        elif tuple(weight.shape) != shape:
            raise AssertionError("Shape of weight does not match num_embeddings and embedding_dim")
        else:
            self.weight = Parameter(weight, requires_grad=not freeze)

    def _counted(self, padding_idx: int | None, name: str) -> int | None:
        """The index from the beginning."""
        count = self.num_embeddings
        if padding_idx is None:
            return None
        if not -count <= padding_idx < max(count, 1):
            raise AssertionError(f"{name} must be within num_embeddings")
        return padding_idx + count if padding_idx < 0 else padding_idx

    def reset_parameters(self) -> None:
        """Draw the rows anew; that of ``padding_idx`` is 0."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


class Embedding(_Rows):
    """A lookup table: rows of ``weight``, (num_embeddings, embedding_dim), by their indices.

    As ``nn.functional.embedding``.

    AssertionError for a ``padding_idx`` that is no row.
    """

    __constants__: ClassVar[list[str]] = [
        "num_embeddings",
        "embedding_dim",
        "padding_idx",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "sparse",
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = self._counted(padding_idx, "Padding_idx")
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self._fill(_weight, _freeze, device, dtype)
        self.sparse = sparse

    def forward(self, input: Tensor) -> Tensor:
        """Integers of any shape (...) as rows, (..., embedding_dim)."""
        rest = (self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse)
        return F.embedding(input, self.weight, self.padding_idx, *rest)

    def extra_repr(self) -> str:
        """Sizes, and what is not as by default."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        usual = {"padding_idx": None, "max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        parts += [f"{n}={getattr(self, n)}" for n, value in usual.items() if getattr(self, n) != value]
        return ", ".join([*parts, "sparse=True"] if self.sparse else parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An Embedding of these rows, which are not trained with ``freeze``. AssertionError for no matrix."""
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rows, columns = embeddings.shape
        rest = (padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, embeddings, freeze)
        return cls(rows, columns, *rest)


class EmbeddingBag(_Rows):
    """Sums, means or maxima (``mode``) of bags of rows of ``weight``, as ``nn.functional.embedding_bag``.

    AssertionError for a ``padding_idx`` that is no row.
    """

    __constants__: ClassVar[list[str]] = [
        "num_embeddings",
        "embedding_dim",
        "max_norm",
        "norm_type",
        "scale_grad_by_freq",
        "mode",
        "sparse",
        "include_last_offset",
        "padding_idx",
    ]

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.padding_idx = self._counted(padding_idx, "padding_idx")
        self._fill(_weight, False, device, dtype)
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset

    def forward(
        self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None
    ) -> Tensor:
        """Rows of (B, N) as bags, or parts of (N,) between ``offsets``: (B, embedding_dim)."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        """Sizes, and what is not as by default."""
        parts = [f"{self.num_embeddings}, {self.embedding_dim}"]
        usual = {"max_norm": None, "norm_type": 2, "scale_grad_by_freq": False}
        parts += [f"{n}={getattr(self, n)!r}" for n, value in usual.items() if getattr(self, n) != value]
        parts.append(f"mode={self.mode!r}")
        if self.padding_idx is not None:
            parts.append(f"padding_idx={self.padding_idx}")
        return ", ".join(parts)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """An EmbeddingBag of these rows, which are not trained with ``freeze``.

        AssertionError for no matrix.
        """
        if embeddings.ndim != 2:
            raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
        rest = (max_norm, norm_type, scale_grad_by_freq, mode, sparse, embeddings, include_last_offset)
        rows, columns = embeddings.shape
        made = cls(rows, columns, *rest, padding_idx)
        made.weight.requires_grad_(not freeze)
        return made
