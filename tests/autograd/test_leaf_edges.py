"""Who holds whom: a leaf its accumulator, edges the leaf, and nobody both."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

import tengen as tg
from tengen.autograd.accumulate_grad import AccumulateGrad
from tengen.autograd.edge import gradient_edge


@pytest.fixture(autouse=True)
def without_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def test_a_leaf_has_one_accumulator_for_all_graphs() -> None:
    x = tg.ones(2, requires_grad=True)
    first = gradient_edge(x)
    (x * x).sum().backward()
    second = gradient_edge(x)
    assert first is not None and second is not None and first[0] is second[0]
    assert isinstance(first[0], AccumulateGrad) and first[0].variable is x


def test_a_graph_keeps_its_leaf() -> None:
    x = tg.ones(2, requires_grad=True)
    leaf = weakref.ref(x)
    y = (x * 2).sum()
    del x
    assert leaf() is not None
    y.backward()
    assert leaf().grad.tolist() == [2.0, 2.0]
    del y
    assert leaf() is None  # at once: nothing was a cycle


@pytest.mark.parametrize("hooked", [False, True])
def test_an_accumulator_that_a_user_holds_keeps_its_leaf(hooked: bool) -> None:
    x = tg.ones(2, requires_grad=True)
    if hooked:
        x.register_hook(lambda g: g * 3)
    leaf = weakref.ref(x)
    y = (x * 2).sum()
    accumulator = y.grad_fn.next_functions[0][0].next_functions[0][0]
    assert (x * 5).grad_fn.next_functions[0][0] is accumulator  # no other one while it lives
    del x, y
    assert accumulator.variable is leaf()
    accumulator(tg.ones(2))
    assert accumulator.variable.grad.tolist() == [1.0, 1.0]
    node = weakref.ref(accumulator)
    del accumulator
    assert leaf() is None and node() is None


def test_hooks_of_an_accumulator_go_with_it_and_those_of_the_leaf_stay() -> None:
    x = tg.ones(2, requires_grad=True)
    seen: list[str] = []
    x.register_hook(lambda g: seen.append("leaf"))
    y = x * 2
    y.grad_fn.next_functions[0][0].register_prehook(lambda grads: seen.append("node"))
    y.sum().backward()
    assert seen == ["leaf", "node"]
    del y, seen[:]
    (x * 2).sum().backward()
    assert seen == ["leaf"]


def test_a_gradient_edge_keeps_the_leaf() -> None:
    x = tg.ones(2, requires_grad=True)
    y = (x * 3).sum()
    edge = tg.autograd.graph.get_gradient_edge(x)
    del x
    (g,) = tg.autograd.grad(y, edge)
    assert g.tolist() == [3.0, 3.0]


def test_the_accumulator_follows_the_leaf_to_another_shape() -> None:
    x = tg.ones(2, 3, requires_grad=True)
    (x * 2).sum().backward()
    with tg.no_grad():
        x.t_()
        x.grad = None
    (x * 2).sum().backward()
    assert x.grad.shape == (3, 2)
    x.data = tg.ones(5, dtype=tg.float64)
    x.grad = None
    (x * 2).sum().backward()
    assert x.grad.shape == (5,) and x.grad.dtype is tg.float64


def test_a_leaf_that_is_no_leaf_for_a_while() -> None:
    x = tg.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    x.requires_grad_(False)
    x.grad = None
    x.resize_(4).fill_(1.0)
    assert gradient_edge(x) is None
    x.requires_grad_()
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0] * 4


def test_a_cast_of_a_leaf_leads_to_it() -> None:
    x = tg.ones(2, dtype=tg.float16, requires_grad=True)
    w = tg.ones(2)
    (x * w).sum().backward()
    assert x.grad.dtype is tg.float16 and x.grad.tolist() == [1.0, 1.0]


def test_copies_of_a_used_leaf_are_leaves_of_their_own() -> None:
    import copy
    import pickle

    x = tg.ones(2, requires_grad=True)
    (x * 2).sum().backward()
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        (other * 3).sum().backward()
        assert gradient_edge(other)[0] is not gradient_edge(x)[0]
    assert x.grad.tolist() == [2.0, 2.0]
