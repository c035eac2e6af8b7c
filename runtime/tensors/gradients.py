"""What modules and optimisers do alike with the gradients of their parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def zero_gradients(tensors: Iterable[Any], set_to_none: bool) -> None:
    """Forget the gradients of tensors, or fill them with zeros where they are, without history."""
    for tensor in tensors:
        grad = tensor.grad
        if grad is None:
            continue
        if set_to_none:
            tensor.grad = None
            continue
        if grad.grad_fn is not None:
            grad.detach_()
        else:
            grad.requires_grad_(False)
        grad.zero_()
