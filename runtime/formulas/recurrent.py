"""Derivatives of recurrent layers beyond the first, and those of forward mode.

They are made of the steps of ``composite/recurrent.py``, whose operators have derivatives: the gradient of
the layer as these have it is differentiated, to any order. A tangent is the gradient of a gradient, too:
what the gradients are for cotangents v is linear in v, and its transpose is the map of tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tengen.generated import functions as F

from ..autograd.edge import gradient_edge
from ..autograd.engine import execute
from ..autograd.grad_mode import enable_grad, grad_mode
from ..composite.recurrent import STEPS, over_packed

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Some = Sequence["Tensor | None"]
Gradients = tuple["Tensor | None", ...]


def leaves_of(tensors: Some) -> list[Tensor | None]:
    """Views of the tensors that require gradients, whose histories lead on to those of the tensors."""
    found = [None if t is None else t.view_as(t) for t in tensors]
    for t in found:
        if t is not None and not t.requires_grad:
            t.requires_grad_()
    return found


def gradients_of(roots: Some, grads: Some, leaves: Some, create_graph: bool, keep: bool) -> Gradients:
    """The gradients of the leaves; None for what the roots that have a gradient do not depend on."""
    pairs = [
        (r, g)
        for r, g in zip(roots, grads, strict=True)
        if r is not None and g is not None and r.requires_grad
    ]
    places = [i for i, leaf in enumerate(leaves) if leaf is not None]
    found: list[Tensor | None] = [None] * len(leaves)
    if pairs:
        edges = [gradient_edge(leaves[i]) for i in places]
        starts = [gradient_edge(root) for root, _ in pairs]
        got = execute(starts, [g for _, g in pairs], keep, create_graph, edges, accumulate=False)  # type: ignore[arg-type]
        for i, gradient in zip(places, got, strict=True):
            found[i] = gradient
    return tuple(found)


def layer_by_steps(inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool) -> tuple[Tensor, ...]:
    """The outputs and the last states, by differentiable operators."""
    input, hx, cx, *weights = inputs
    assert input is not None and hx is not None
    state = (hx,) if cx is None else (hx, cx)
    output, end = over_packed(STEPS[mode], input, batch_sizes, state, weights, reverse)
    return (output, *end)


def recorded_gradients(
    grad_outputs: Some, inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool
) -> tuple[list[Tensor | None], list[Tensor | None], tuple[Tensor, ...], Gradients]:
    """The gradients of the layer, recorded: what they are of, the inputs, the layer's results, and they."""
    with enable_grad():
        given, leaves = leaves_of(grad_outputs), leaves_of(inputs)
        results = layer_by_steps(leaves, batch_sizes, mode, reverse)
        first = gradients_of(results, given[: len(results)], leaves, True, True)
    return given, leaves, results, first


def where_wanted(found: Some, inputs: Some, output_mask: Sequence[bool]) -> Gradients:
    """Those that the mask asks for: zeros for an input that has no part, None for one that is None."""
    return tuple(
        [
            None if not wanted or t is None else F.zeros_like(t) if g is None else g
            for g, t, wanted in zip(found, inputs, output_mask, strict=True)
        ]
    )


def rnn_layer_double_backward(
    grads: Some, grad_outputs: Some, inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool
) -> Gradients:
    """The gradients of ``_rnn_layer_backward`` for the gradients that it is given, and for the inputs."""
    recorded = grad_mode.enabled
    given, leaves, _, first = recorded_gradients(grad_outputs, inputs, batch_sizes, mode, reverse)
    return gradients_of(first, grads, [*given, *leaves], recorded, recorded)


def rnn_layer_jvp(
    tangents: Some, inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool
) -> tuple[Tensor, ...]:
    """The tangents of the outputs and of the last states."""
    recorded = grad_mode.enabled
    with enable_grad():
        leaves = leaves_of(inputs)
        results = layer_by_steps(leaves, batch_sizes, mode, reverse)
        given = leaves_of([F.zeros_like(r) for r in results])
        first = gradients_of(results, given, leaves, True, True)
    found = gradients_of(first, tangents, given, recorded, recorded)
    made = [F.zeros_like(r) if t is None else t for r, t in zip(results, found, strict=True)]
    return (*made, *[made[0].new_zeros(0)] * (3 - len(made)))


def rnn_layer_backward_jvp(
    grad_tangents: Some,
    tangents: Some,
    grad_outputs: Some,
    inputs: Some,
    batch_sizes: Sequence[int],
    mode: str,
    reverse: bool,
    output_mask: Sequence[bool],
) -> Gradients:
    """The tangents of ``_rnn_layer_backward``: it is linear in the gradients, and the rest is symmetric."""
    recorded = grad_mode.enabled
    _, leaves, results, first = recorded_gradients(grad_outputs, inputs, batch_sizes, mode, reverse)
    linear = gradients_of(results, grad_tangents[: len(results)], leaves, recorded, True)
    curved = gradients_of(first, tangents, leaves, recorded, recorded)
    found = [a if b is None else b if a is None else a + b for a, b in zip(linear, curved, strict=True)]
    return where_wanted(found, inputs, output_mask)
