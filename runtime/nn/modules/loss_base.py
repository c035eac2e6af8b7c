"""What losses have in common: how they are reduced, and the weights of classes."""

from __future__ import annotations

from ...tensors.tensor import Tensor
from ..loss import legacy_reduction
from .module import Module

__all__: list[str] = []


class Loss(Module):
    """A loss; ``reduction`` is the word for how it is reduced.

    ``size_average`` and ``reduce`` are older words for that, and win where they are given.
    """

    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        older = size_average is not None or reduce is not None
        self.reduction = legacy_reduction(size_average, reduce) if older else reduction


class WeightedLoss(Loss):
    """A loss with weights, a buffer."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


for _class in (Loss, WeightedLoss):
    _class.__name__ = _class.__qualname__ = f"_{_class.__name__}"  # as PyTorch's, where errors name it
    _class.__module__ = "tengen.nn.modules.loss"
