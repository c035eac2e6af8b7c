"""Functions of sparse tensors, of which the gradients are sparse."""

from __future__ import annotations

from . import diagonals, invariants, products, softmaxes
from .diagonals import spdiags as spdiags
from .invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants
from .products import addmm as addmm, mm as mm, sampled_addmm as sampled_addmm, sum as sum
from .softmaxes import log_softmax as log_softmax, softmax as softmax

_MODULES = (diagonals, invariants, products, softmaxes)
__all__ = [name for module in _MODULES for name in module.__all__]


def __dir__() -> list[str]:
    return sorted(__all__)
