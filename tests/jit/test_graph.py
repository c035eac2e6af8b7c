"""Graphs as data: what is dead, which constants are used, and what values are called."""

from __future__ import annotations

from typing import Any

import tengen
from tengen.dispatch.operator import operator
from tengen.jit.graph import Graph, Node, Value
from tengen.jit.interpreter import run_graph


def value(name: str | None = None) -> Value:
    return Value(tengen.float32, (2,), name)


def test_what_no_output_needs_is_dead() -> None:
    """A body uses values of the graph around it by their names: what makes them is alive."""
    x, sine, cosine, outer, inner = [value() for _ in range(5)]
    body = [Node(operator("mul.Tensor"), (x, cosine), inner)]
    nodes = [
        Node(operator("sin"), (x,), sine),
        Node(operator("cos"), (x,), cosine),
        Node(operator("square"), (x,), outer, body=body, inner=inner),
    ]
    kept = Graph([x], [], nodes, [outer]).without_dead()
    assert [n.operator.name for n in kept.nodes] == ["cos", "square"]
    (found,) = run_graph(kept.inlined(), [tengen.tensor([0.0, 1.0])])
    assert found.tolist() == (tengen.tensor([0.0, 1.0]) * tengen.tensor([0.0, 1.0]).cos()).tolist()


def test_constants_that_a_composite_gives_are_kept() -> None:
    """``ones_like`` is made of no operator: what it gives is a constant, which only its body knows."""

    def f(x: Any) -> Any:
        return x + tengen.ones_like(x)

    x = tengen.arange(3.0)
    graph = tengen.jit.trace(f, (x,)).graph
    whole = graph.inlined(lambda node: True)
    assert [n.operator.name for n in whole.nodes] == ["ones_like", "add.Tensor"]
    (found,) = run_graph(whole.inlined(), [x])
    assert found.tolist() == f(x).tolist()


def test_constants_that_nothing_uses_are_left_out() -> None:
    used, unused = tengen.ones(2), tengen.ones(2)

    def f(x: Any) -> Any:
        x * unused
        return x + used

    graph = tengen.jit.trace(f, (tengen.zeros(2),), parameters={"used": used, "unused": unused}).graph
    assert [c.value.name for c in graph.without_dead().constants] == ["used"]


def test_every_value_has_a_name_of_its_own() -> None:
    """Names that the user gave twice, and numbered names that are given already."""
    first, second = tengen.ones(2), tengen.ones(2) * 2

    def f(x: Any) -> Any:
        return x * first + second

    traced = tengen.jit.trace(f, (tengen.zeros(2),), parameters={"x.1": first, "x": second})
    names = traced.graph.names()
    assert [names[c.value] for c in traced.graph.constants] == ["x.1", "x.2"]
    assert len(set(names.values())) == len(names)
