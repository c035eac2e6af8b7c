"""Graphs without writes: what in-place operators do, also through views, done by functional ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tengen
from tengen.generated.write_backs import WRITE_BACKS
from tengen.jit import TracerWarning
from tengen.jit.functionalize import functionalized
from tengen.jit.graph import Graph
from tengen.jit.interpreter import run_graph


def graph_of(f: Callable[..., Any], *inputs: Any) -> Graph:
    """The functional graph of a function, which is checked to give the same for other numbers."""
    traced = tengen.jit.trace(f, tuple(t.clone() for t in inputs), check_trace=False)
    graph = functionalized(traced.graph, [t.clone() for t in inputs])
    assert not [n.operator.name for n in graph.walk() if n.operator.base is not None]
    others = [t.flip(0) if t.ndim else t + 1 for t in inputs]
    before = [t.clone() for t in others]
    found = run_graph(graph, others)
    assert all(bool((a == b).all()) for a, b in zip(others, before, strict=True)), "an input was written to"
    expected = f(*others)
    for a, b in zip(found, expected if isinstance(expected, tuple) else (expected,), strict=True):
        assert a.dtype is b.dtype and a.shape == b.shape and bool((a == b).all())
    return graph


#: By the name of a view operator, a view that it gives of a tensor of shape (4, 6), made by ``v``.
VIEWS: dict[str, Callable[[Any], Any]] = {
    "alias": lambda x: x[...],
    "as_strided": lambda x: x.as_strided((2, 3), (6, 2), 1),
    "detach": lambda x: x.detach(),
    "diagonal": lambda x: x.diagonal(1),
    "expand": lambda x: x.expand(-1, 6),
    "permute": lambda x: x.permute(1, 0),
    "select.int": lambda x: x[-2],
    "slice.Tensor": lambda x: x[1:, ::2],
    "slice_inverse": lambda x: x.slice_inverse(x * 1),
    "split.Tensor": lambda x: x.split(4, 1)[1],
    "split_with_sizes": lambda x: x.split_with_sizes((1, 3))[1],
    "squeeze": lambda x: x[:1].squeeze(),
    "squeeze.dim": lambda x: x[:1].squeeze(0),
    "squeeze.dims": lambda x: x[:1].squeeze((0, 1)),
    "t": lambda x: x.t(),
    "transpose.int": lambda x: x.transpose(0, -1),
    "unbind.int": lambda x: x.unbind(1)[3],
    "unfold": lambda x: x.unfold(1, 2, 3),
    "unsqueeze": lambda x: x.unsqueeze(-1),
    "view": lambda x: x.view(3, 8),
    "view.dtype": lambda x: x.view(tengen.float32),
    "view_as_complex": lambda x: tengen.view_as_complex(x.view(4, 3, 2)),
    "view_as_real": lambda x: tengen.view_as_real(tengen.view_as_complex(x.view(4, 3, 2)))[..., 1],
}


def test_every_rule_is_tried() -> None:
    assert set(VIEWS) == set(WRITE_BACKS)


@pytest.mark.parametrize("name", VIEWS)
def test_a_write_through(name: str) -> None:
    view = VIEWS[name]

    def f(x: Any) -> Any:
        y = x * 2
        old = y + 0
        v = view(y)
        v.mul_(10)
        v += 1
        other = view(y)
        return y, v, other, old

    graph_of(f, tengen.arange(24.0).reshape(4, 6))


def test_views_of_views_see_every_write() -> None:
    def f(x: Any) -> Any:
        y = x + 0
        a = y.t()
        b = a[1:3]
        c = y.view(-1)[2:]
        b.fill_(7)
        c[0] = 100
        y[3] = -1
        a.clamp_(max=50)
        return y, a, b, c

    graph_of(f, tengen.arange(24.0).reshape(4, 6))


@pytest.mark.parametrize(
    "change",
    [
        lambda y: y.unsqueeze_(0),
        lambda y: y.t_(),
        lambda y: y.transpose_(0, 1),
        lambda y: y[:1].squeeze_(0),
        lambda y: y.as_strided_((2, 2), (1, 3)),
    ],
)
def test_geometry_in_place(change: Any) -> None:
    def f(x: Any) -> Any:
        y = x + 1
        z = change(y)
        z.mul_(2)
        return z, z.exp()

    graph_of(f, tengen.arange(12.0).reshape(4, 3))


def test_out_variants() -> None:
    def f(x: Any) -> Any:
        out = tengen.zeros(2, 3)
        tengen.exp(x, out=out[1])
        tengen.add(x, 1, out=out[0])
        return out

    graph_of(f, tengen.arange(3.0))


def test_promotion_and_broadcasting_of_what_is_written() -> None:
    def f(x: Any) -> Any:
        y = x.clone()
        y += tengen.tensor(2)
        y[:, 0] = tengen.tensor([5], dtype=tengen.int64)
        y.add_(tengen.ones(1, 3))
        return y

    graph_of(f, tengen.arange(6.0).reshape(2, 3).double())


def test_what_is_written_takes_the_dtype_of_what_it_is_written_to() -> None:
    """The functional operator promotes its operands; a tensor that is written to keeps its dtype."""

    def f(x: Any, wide: Any) -> Any:
        y, whole = x * 1, x.to(tengen.int32)
        y.add_(wide)
        y[1:].mul_(wide[1:])
        whole += wide.to(tengen.int64)
        return y, whole, y * y

    graph_of(f, tengen.arange(4.0), tengen.arange(4.0, dtype=tengen.float64) / 3)


def test_writes_at_indices() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y[tengen.tensor([0, 2])] = 1
        y[y > 4] = -3
        y.index_add_(0, tengen.tensor([1, 1]), tengen.ones(2, 2))
        y.masked_fill_(y == 1, 9)
        return y

    graph_of(f, tengen.arange(8.0).reshape(4, 2))


def test_writes_inside_of_composites() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        tengen.celu_(y)
        return y, tengen.nn.functional.dropout(y, 0.5, False, inplace=True)

    graph_of(f, tengen.arange(8.0).reshape(4, 2) - 4)


def test_inputs_that_are_written_to_stay_and_it_is_said() -> None:
    traced = tengen.jit.trace(lambda x: x.add_(1) * 2, (tengen.ones(2),), check_trace=False)
    with pytest.warns(TracerWarning, match="writes to x"):
        graph = functionalized(traced.graph, [tengen.ones(2)])
    given = tengen.ones(2)
    assert run_graph(graph, [given])[0].tolist() == [4.0, 4.0] and given.tolist() == [1.0, 1.0]


def test_a_view_without_a_rule_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(WRITE_BACKS, "unfold")

    def f(x: Any) -> Any:
        y = x * 1
        y.unfold(0, 2, 2).zero_()
        return y

    traced = tengen.jit.trace(f, (tengen.ones(4),))
    said = r"zero_, called at .*test_functionalize.py:\d+, writes to the result of unfold, which has no write"
    with pytest.raises(RuntimeError, match=said):
        functionalized(traced.graph, [tengen.ones(4)])


def test_constants_that_share_memory_with_another() -> None:
    base = tengen.zeros(4)
    part = base[:2]

    def f(x: Any) -> Any:
        part.add_(x)
        return base + 0

    traced = tengen.jit.trace(f, (tengen.ones(2),), check_trace=False)
    with pytest.raises(RuntimeError, match="share memory that is written to"):
        functionalized(traced.graph, [tengen.ones(2)])


def test_graphs_without_writes_keep_what_they_are_told_to_keep() -> None:
    traced = tengen.jit.trace(lambda x: tengen.softmax(x @ x, 0), (tengen.ones(2, 2),))
    graph = functionalized(traced.graph, [], lambda node: node.operator.function == "softmax")
    assert [n.operator.name for n in graph.nodes] == ["mm", "softmax.int"]
