"""What the batching rules of recurrent layers call: the layers step by step, whose operators have rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..autograd.grad_mode import enable_grad, grad_mode
from .recurrent import Gradients, Some, gradients_of, layer_by_steps, leaves_of, units, where_wanted

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor


def rnn_layer_by_steps(
    inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool
) -> tuple[Tensor, ...]:
    """``_rnn_layer``; what it keeps for its gradients is empty, for those step by step need none of it."""
    found = layer_by_steps(inputs, batch_sizes, mode, reverse)
    return (*found, *[found[0].new_zeros(0) for _ in range(5 - len(found))])


def rnn_layer_backward_by_steps(
    grad_outputs: Some,
    inputs: Some,
    batch_sizes: Sequence[int],
    mode: str,
    reverse: bool,
    output_mask: Sequence[bool],
) -> Gradients:
    """``_rnn_layer_backward``."""
    recorded = grad_mode.enabled
    with enable_grad():
        leaves = leaves_of(inputs)
        results = layer_by_steps(leaves, batch_sizes, mode, reverse)
    found = gradients_of(results, grad_outputs[: len(results)], leaves, recorded, recorded)
    return where_wanted(found, inputs, output_mask)


def fused_cell_by_operators(mode: str, inputs: Some) -> tuple[Tensor, ...]:
    """A cell's states, and a workspace that is empty: the gradients by operators need none."""
    found = units(mode, inputs)
    return (*found, found[0].new_zeros(0))


def fused_cell_backward_by_operators(mode: str, grad_outputs: Some, inputs: Some) -> Gradients:
    """The gradients of a cell's inputs."""
    recorded = grad_mode.enabled
    with enable_grad():
        leaves = leaves_of(inputs)
        results = units(mode, leaves)
    found = gradients_of(results, grad_outputs, leaves, recorded, recorded)
    return where_wanted(found, inputs, [True] * len(inputs))
