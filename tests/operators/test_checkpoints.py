"""Each operator within a checkpoint: gradients are the same, and what was saved is asked for once."""

from __future__ import annotations

from typing import Any

import pytest

import tengen
from tengen.testing.declared import operators
from tengen.testing.differentiable import as_function, cases, recorded
from tengen.utils.checkpoint import checkpoint


def outcome(results: list[Any], inputs: list[Any], create_graph: bool) -> list[Any] | str:
    """The gradients of the inputs; of a derivative that refuses them, the error's text."""
    results = [r for r in results if r.requires_grad]
    ones = [tengen.ones_like(r) for r in results]
    try:
        found = tengen.autograd.grad(results, inputs, ones, create_graph=create_graph, allow_unused=True)
    except (NotImplementedError, RuntimeError) as error:
        return str(error).partition("\n")[0]
    return [None if g is None else g.nan_to_num(7.0).tolist() for g in found]


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("name", [n for n in operators() if recorded(n)])
def test_gradients_in_a_checkpoint(name: str, create_graph: bool) -> None:
    """A recomputed value is given once in a backward pass: a formula that takes a slot twice would fail."""
    for call, kind in cases(name):
        function, inputs = as_function(call, kind)
        for tensor in inputs:
            tensor.requires_grad_()
        with tengen.random.fork_rng():
            expected = outcome(function(*inputs), inputs, create_graph)
        with tengen.random.fork_rng():
            results = checkpoint(function, *inputs, use_reentrant=False)
        assert outcome(results, inputs, create_graph) == expected, str(call)
