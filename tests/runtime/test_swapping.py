"""``utils.swap_tensors``."""

from __future__ import annotations

import weakref
from typing import Any

import pytest

import tengen
from tengen.utils import swap_tensors


class Special(tengen.Tensor):
    pass


class Slotted(tengen.Tensor):
    __slots__ = ("mark",)


class Saves(tengen.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: tengen.Tensor, y: tengen.Tensor) -> tengen.Tensor:
        ctx.save_for_backward(x, y)
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: tengen.Tensor) -> Any:
        return grad * 2, None


def test_everything_is_exchanged() -> None:
    p: Any = tengen.nn.Parameter(tengen.ones(2))
    (p * 3).sum().backward()
    x: Any = tengen.Tensor._make_subclass(Special, tengen.arange(6).reshape(2, 3).clone())
    x.note = "kept"
    x.add_(1)
    first, second = id(p), id(x)
    swap_tensors(p, x)
    assert (id(p), id(x)) == (first, second)
    assert type(p) is Special and p.note == "kept"
    assert p.dtype is tengen.int64 and p.tolist() == [[1, 2, 3], [4, 5, 6]] and p.grad is None
    assert p._version == 1 and not p.requires_grad
    assert type(x) is tengen.nn.Parameter and x.tolist() == [1, 1] and x.grad.tolist() == [3, 3]
    (x * 2).sum().backward()  # of a graph made afterwards
    assert x.grad is not None and x.grad.tolist() == [5, 5]


def test_of_modules() -> None:
    net = tengen.nn.Linear(2, 1)
    other = tengen.nn.Parameter(tengen.zeros(1, 2))
    swap_tensors(net.weight, other)
    assert net.weight.tolist() == [[0, 0]] and list(net.state_dict()) == ["weight", "bias"]
    net(tengen.ones(3, 2)).sum().backward()
    assert net.weight.grad is not None and net.weight.grad.tolist() == [[3, 3]]
    assert other.grad is None


def test_slots() -> None:
    one, two = (tengen.Tensor._make_subclass(Slotted, tengen.ones(n)) for n in (1, 2))
    one.mark = "one"
    swap_tensors(one, two)
    assert two.mark == "one" and not hasattr(one, "mark") and two.shape == (1,)
    with pytest.raises(RuntimeError, match="different slots"):
        swap_tensors(one, tengen.ones(1))


def test_a_graph_that_leads_to_one_is_lost() -> None:
    x = tengen.ones(2, requires_grad=True)
    out = (x + 1).sum()
    swap_tensors(x, tengen.zeros(3))
    with pytest.raises(RuntimeError, match="poisoned by swap_tensors"):
        out.backward()


def test_what_cannot_be_swapped() -> None:
    x, w = tengen.ones(2), tengen.ones(2, requires_grad=True)
    view = x[1:]
    saved, listed = tengen.ones(2), tengen.ones(2)
    graph = [w * saved, Saves.apply(w, listed)]  # type: ignore[no-untyped-call]
    retained = w * 2
    retained.retain_grad()
    referred = tengen.ones(1)
    ref = weakref.ref(referred)
    for bad, text in (
        (x, "is a view, or has one"),
        (view, "is a view, or has one"),
        (saved, "a graph has saved it"),
        (listed, "a graph has saved it"),
        (retained, "weakref|retains its gradient"),
        (referred, "has weakref"),
    ):
        for pair in ((bad, tengen.zeros(3)), (tengen.zeros(3), bad)):
            before = [t.tolist() for t in pair]
            with pytest.raises(RuntimeError, match=f"Cannot swap t[12] because .*({text})"):
                swap_tensors(*pair)
            assert [t.tolist() for t in pair] == before
    assert ref() is referred and len(graph) == 2
    with pytest.raises(TypeError, match="argument 't2' must be Tensor, not int"):
        swap_tensors(x, 3)
    with pytest.raises(RuntimeError, match="transformed"):
        tengen.func.grad(lambda v: swap_tensors(tengen.ones(1), tengen.ones(1)) or v.sum())(w)
