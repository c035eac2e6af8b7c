"""Functions of sparse tensors, of which the gradients are sparse."""

from __future__ import annotations

from typing import Any

from ..core.memory_format import sparse_coo
from ..core.scalar_type import CLASS_NAMES
from . import diagonals, invariants, products, softmaxes
from .diagonals import spdiags as spdiags
from .invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .products import addmm as addmm, mm as mm, sampled_addmm as sampled_addmm, sum as sum
from .softmaxes import log_softmax as log_softmax, softmax as softmax

_MODULES = (diagonals, invariants, products, softmaxes)
__all__ = [name for module in _MODULES for name in module.__all__]


def __dir__() -> list[str]:
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """The classes of sparse tensors of one dtype, ``tengen.sparse.FloatTensor``."""
    if name in CLASS_NAMES:
        from ..tensors.typed_classes import typed_class

        return typed_class(name, kind=sparse_coo)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
