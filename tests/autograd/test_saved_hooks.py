"""Hooks on everything that is saved; in torch too."""

from __future__ import annotations

import threading
from typing import Any

import pytest

import tengen
from tengen.core.interception import active


def leaf(m: Any, *values: float) -> Any:
    return m.tensor(list(values), requires_grad=True)


def test_what_is_packed(m: Any) -> None:
    a, b = leaf(m, 1.0), leaf(m, 2.0)
    packed: list[Any] = []
    unpacked: list[Any] = []

    def pack(t: Any) -> Any:
        packed.append((t.tolist(), t.requires_grad, t.is_leaf))
        return t

    def unpack(t: Any) -> Any:
        unpacked.append(t.tolist())
        return t

    with m.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = a * b
        z = (y * 2 + 1).reciprocal()
        with m.no_grad():
            a * b
    (a * b).sum()
    assert sorted(packed[:2]) == [([1.0], True, True), ([2.0], True, True)]
    assert packed[2:] == [(z.tolist(), True, False)]
    assert not unpacked
    z.sum().backward()
    assert sorted(unpacked) == sorted([z.tolist(), [1.0], [2.0]])


def test_values_through_hooks(m: Any) -> None:
    x = leaf(m, 3.0)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach().numpy().copy(), m.from_numpy):
        y = x * x * x
    (g,) = m.autograd.grad(y.sum(), x, create_graph=True)
    assert g.tolist() == [27.0]
    assert m.autograd.grad(g.sum(), x)[0].tolist() == [18.0]


def test_the_innermost_hooks_count(m: Any) -> None:
    x = leaf(m, 3.0)
    seen: list[str] = []
    hooks = m.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: (seen.append("outer"), t)[1], lambda t: t):
        with hooks(lambda t: (seen.append("inner"), t * 2)[1], lambda t: t):
            y = x.exp()
        z = x.exp()
    assert seen == ["inner", "outer"]
    y.sum().backward()
    assert x.grad.item() == 2 * y.item()
    assert z.item() == y.item()


def test_a_packed_value_has_no_version(m: Any) -> None:
    x = leaf(m, 1.0)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
        y = x * 2
        z = y * y
    y.mul_(5)
    z.sum().backward()
    assert x.grad.tolist() == [8.0]


def test_packed_values_are_freed(m: Any) -> None:
    x = leaf(m, 1.0)
    with m.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * x
        z = x.exp()
    for out in (y, z):
        out.sum().backward()
        with pytest.raises(RuntimeError, match="a second time"):
            out.sum().backward()


@pytest.mark.parametrize("graph", [False, True])
def test_unpack_must_give_a_tensor(m: Any, graph: bool) -> None:
    x = leaf(m, 1.0)
    with m.autograd.graph.saved_tensors_hooks(lambda t: 3, lambda t: t):
        y = x.exp() * x
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got result of type int"):
        y.sum().backward(create_graph=graph)


def test_a_pack_hook_that_writes(m: Any) -> None:
    x = leaf(m, 1.0)
    with (
        m.autograd.graph.saved_tensors_hooks(lambda t: t.mul_(2), lambda t: t),
        pytest.raises(RuntimeError, match="pack hook is modifying its input in place"),
    ):
        x.exp()
    assert not active


def test_in_place_operators_and_views(m: Any) -> None:
    x = leaf(m, 1.0, 2.0)
    count: list[int] = []
    with m.autograd.graph.saved_tensors_hooks(
        lambda t: (count.append(1), t.detach().clone())[1], lambda t: t
    ):
        y = x * 1
        y.exp_()
        v = y[0:1]
        v.mul_(v.detach() * 2)
        z = y[m.tensor([1, 0])]
    assert len(count) >= 3
    z.sum().backward()
    expected = m.tensor([2 * m.exp(m.tensor(2.0)), m.exp(m.tensor(2.0))])
    assert m.allclose(x.grad, expected)


def test_save_on_cpu(m: Any) -> None:
    x = leaf(m, 1.0)
    with m.autograd.graph.save_on_cpu():
        y = x.exp() * x
    y.sum().backward()
    assert abs(x.grad.item() - 2 * 2.718281828) < 1e-5


def test_disabled(m: Any) -> None:
    graph = m.autograd.graph
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    with (
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="nor here"),
        graph.disable_saved_tensors_hooks("nor here"),
    ):
        pass
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        pass


def test_hooks_belong_to_a_thread(m: Any) -> None:
    x = leaf(m, 1.0)
    seen: list[Any] = []
    with m.autograd.graph.saved_tensors_hooks(lambda t: (seen.append(t), t)[1], lambda t: t):
        thread = threading.Thread(target=lambda: x.exp())
        thread.start()
        thread.join()
    assert not seen


def test_nothing_is_watched_afterwards() -> None:
    assert not active
    with tengen.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        assert len(active) == 1
        with tengen.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            assert len(active) == 1
    assert not active


def test_lists_of_tensors_and_other_types() -> None:
    x = tengen.rand(3, 4, requires_grad=True)
    programs = [
        lambda: tengen.cat([x, x]).softmax(0).sum(1).prod(),
        lambda: x[tengen.tensor([0, 2]), tengen.tensor([1, 3])].exp().sum(),
        lambda: (x.half() * x.half()).sum(),
        lambda: (x.to(tengen.complex64) * 1j).exp().real.sum(),
        lambda: tengen.nn.functional.layer_norm(x @ x.t(), (3,)).pow(2).sum(),
        lambda: tengen.where(x > 0.5, x, x * x).std(),
    ]
    for program in programs:
        (plain,) = tengen.autograd.grad(program(), x)
        with tengen.autograd.graph.saved_tensors_hooks(lambda t: t.detach().clone(), lambda t: t):
            y = program()
        (once,) = tengen.autograd.grad(y, x, create_graph=True)
        (again,) = tengen.autograd.grad(y, x)
        assert tengen.equal(plain, again) and tengen.allclose(plain, once)
