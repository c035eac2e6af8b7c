"""``call_for_per_sample_grads``: calls of a module that leave the gradients of all examples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...func import functional_call, vmap
from ...tensors.tensor import Tensor
from ...utils.pytree import tree_flatten, tree_leaves, tree_map, tree_unflatten
from ..modules.module import Module

__all__ = ["call_for_per_sample_grads"]

_NAME = "call_for_per_sample_grads"


def call_for_per_sample_grads(
    module: Any, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """``module`` as a function whose backward pass gives each parameter ``grad_sample``, and no ``grad``.

    ``p.grad_sample`` is of the shape (batch, *p.shape): the gradients of the single examples, and times their
    number where ``loss_reduction`` is "mean". The batch is the first dimension of the tensors that are
    given, the second with ``batch_first=False``; what has another size there is given to each example.
    RuntimeError for other arguments, for tensors of different batch sizes if ``batch_size`` is None, and
    where ``grad_sample`` was not cleared. Modules that mix the examples, as BatchNorm does, cannot be called.
    """
    _check(module, batch_size, loss_reduction)
    dim = 0 if batch_first else 1

    @functools.wraps(module.forward)
    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = tree_flatten((args, kwargs))
        size = _batch_size(leaves, dim) if batch_size is None else batch_size
        factor = size if loss_reduction == "mean" else 1
        own = {name: p for name, p in module.named_parameters() if p.requires_grad}
        copies = {name: _copies(p, size, factor) for name, p in own.items()}
        batched = [isinstance(v, Tensor) and v.ndim > dim and v.shape[dim] == size for v in leaves]

        def of_one(weights: dict[str, Tensor], *given: Any) -> Any:
            whole = [v.unsqueeze(dim) if b else v for v, b in zip(given, batched, strict=True)]
            positional, keywords = tree_unflatten(whole, spec)
            result = functional_call(module, weights, positional, keywords)
            return tree_map(lambda r: r.squeeze(dim), result)

        in_dims = (0, *[dim if b else None for b in batched])
        return vmap(of_one, in_dims, dim, randomness="different")(copies, *leaves)

    return call


def _copies(parameter: Any, size: int, factor: int) -> Tensor:
    """The parameter once for each example; the gradients of these are noted at the parameter."""
    made = parameter.detach().expand(size, *parameter.shape).requires_grad_()

    def note(grad: Tensor) -> None:
        before = getattr(parameter, "grad_sample", None)
        mine = grad * factor if factor != 1 else grad
        parameter.grad_sample = mine if before is None else before + mine

    made.register_hook(note)
    found: Tensor = made
    return found


def _batch_size(leaves: list[Any], dim: int) -> int:
    """The size that all tensors have in the dimension."""
    sizes = [int(leaf.shape[dim]) for leaf in tree_leaves(leaves) if isinstance(leaf, Tensor)]
    if not sizes:
        raise RuntimeError(f"{_NAME}: no tensor is given, and batch_size is None")
    other = next((size for size in sizes if size != sizes[0]), None)
    if other is not None:
        raise RuntimeError(
            f"{_NAME}: found at least one input with batch size {sizes[0]} and one with batch size {other}; "
            "say which by batch_size"
        )
    return sizes[0]


def _check(module: Any, batch_size: Any, loss_reduction: Any) -> None:
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for name, parameter in module.named_parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                f"{_NAME}: grad_sample of the parameter {name} is that of another call, and was not cleared"
            )
