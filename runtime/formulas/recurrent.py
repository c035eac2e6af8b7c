"""Derivatives of recurrent layers and cells beyond the first, and those of forward mode.

They are made of the steps of ``composite/recurrent.py``, whose operators have derivatives: the gradient of
the layer as these have it is differentiated, to any order. A tangent is the gradient of a gradient, too:
what the gradients are for cotangents v is linear in v, and its transpose is the map of tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from tengen.generated import functions as F

from ..autograd.edge import gradient_edge
from ..autograd.engine import execute
from ..autograd.grad_mode import enable_grad, grad_mode
from ..composite.recurrent import STEPS, gru_units, lstm_units, over_packed

if TYPE_CHECKING:
    from ..tensors.tensor import Tensor

Some = Sequence["Tensor | None"]
Gradients = tuple["Tensor | None", ...]
#: A layer, or a cell, by differentiable operators.
Run = Callable[[Some], tuple["Tensor", ...]]


def leaves_of(tensors: Some) -> list[Tensor | None]:
    """Views of the tensors that require gradients, whose histories lead on to those of the tensors."""
    found = [None if t is None else t.view_as(t) for t in tensors]
    for t in found:
        if t is not None and not t.requires_grad:
            t.requires_grad = True  # the method refuses in transforms, for it is the program's
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


def units(mode: str, inputs: Some) -> tuple[Tensor, ...]:
    """What a cell does between its products, by differentiable operators."""
    return (lstm_units if mode == "LSTM" else gru_units)(*inputs)  # type: ignore[arg-type]


def recorded_gradients(
    run: Run, grad_outputs: Some, inputs: Some
) -> tuple[list[Tensor | None], list[Tensor | None], tuple[Tensor, ...], Gradients]:
    """The gradients of the layer, recorded: what they are of, the inputs, the layer's results, and they."""
    with enable_grad():
        given, leaves = leaves_of(grad_outputs), leaves_of(inputs)
        results = run(leaves)
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


def _double_backward(run: Run, grads: Some, grad_outputs: Some, inputs: Some) -> Gradients:
    """The gradients of the gradients for those that they were given, and for the inputs."""
    recorded = grad_mode.enabled
    given, leaves, _, first = recorded_gradients(run, grad_outputs, inputs)
    return gradients_of(first, grads, [*given, *leaves], recorded, recorded)


def _jvp(run: Run, tangents: Some, inputs: Some) -> list[Tensor]:
    """The tangents of the results."""
    recorded = grad_mode.enabled
    with enable_grad():
        leaves = leaves_of(inputs)
        results = run(leaves)
        given = leaves_of([F.zeros_like(r) for r in results])
        first = gradients_of(results, given, leaves, True, True)
    found = gradients_of(first, tangents, given, recorded, recorded)
    return [F.zeros_like(r) if t is None else t for r, t in zip(results, found, strict=True)]


def _backward_jvp(
    run: Run, grad_tangents: Some, tangents: Some, grad_outputs: Some, inputs: Some, mask: Sequence[bool]
) -> Gradients:
    """The tangents of the gradients: they are linear in those that they are given; the rest is symmetric."""
    recorded = grad_mode.enabled
    _, leaves, results, first = recorded_gradients(run, grad_outputs, inputs)
    linear = gradients_of(results, grad_tangents[: len(results)], leaves, recorded, True)
    curved = gradients_of(first, tangents, leaves, recorded, recorded)
    found = [a if b is None else b if a is None else a + b for a, b in zip(linear, curved, strict=True)]
    return where_wanted(found, inputs, mask)


# ---------------------------------------------------------------------------------- layers


def rnn_layer_double_backward(
    grads: Some, grad_outputs: Some, inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool
) -> Gradients:
    """The gradients of ``_rnn_layer_backward`` for the gradients that it is given, and for the inputs."""
    run = partial(layer_by_steps, batch_sizes=batch_sizes, mode=mode, reverse=reverse)
    return _double_backward(run, grads, grad_outputs, inputs)


def rnn_layer_jvp(
    tangents: Some, inputs: Some, batch_sizes: Sequence[int], mode: str, reverse: bool
) -> tuple[Tensor, ...]:
    """The tangents of the outputs and of the last states."""
    run = partial(layer_by_steps, batch_sizes=batch_sizes, mode=mode, reverse=reverse)
    made = _jvp(run, tangents, inputs)
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
    """The tangents of ``_rnn_layer_backward``."""
    run = partial(layer_by_steps, batch_sizes=batch_sizes, mode=mode, reverse=reverse)
    return _backward_jvp(run, grad_tangents, tangents, grad_outputs, inputs, output_mask)


# ----------------------------------------------------------------------------------- cells


def fused_cell_double_backward(mode: str, grads: Some, grad_outputs: Some, inputs: Some) -> Gradients:
    """The gradients of a cell's backward for the gradients that it is given, and for the inputs."""
    return _double_backward(partial(units, mode), grads, grad_outputs, inputs)


def fused_cell_jvp(mode: str, tangents: Some, inputs: Some) -> Any:
    """The tangents of a cell's states."""
    found = _jvp(partial(units, mode), tangents, inputs)
    return found[0] if len(found) == 1 else tuple(found)


def fused_cell_backward_jvp(
    mode: str, grad_tangents: Some, tangents: Some, grad_outputs: Some, inputs: Some
) -> Gradients:
    """The tangents of a cell's backward."""
    wanted = [True] * len(inputs)
    return _backward_jvp(partial(units, mode), grad_tangents, tangents, grad_outputs, inputs, wanted)
