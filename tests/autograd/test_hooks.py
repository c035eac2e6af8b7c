"""Hooks on tensors, and ``retain_grad``."""

from __future__ import annotations

from typing import Any

import pytest

import tengen as tg


def leaf(*values: float) -> tg.Tensor:
    return tg.tensor(list(values), requires_grad=True)


def test_hooks_run_in_order_and_see_what_the_last_returned() -> None:
    x = leaf(1.0)
    y = x * 2
    seen: list[float] = []

    def first(g: Any) -> Any:
        seen.append(g.item())
        return g * 10

    def second(g: Any) -> None:
        seen.append(g.item())

    y.register_hook(first)
    y.register_hook(second)
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert seen == [1.0, 10.0]
    assert y.grad.item() == 100.0  # retained after all hooks
    assert x.grad.item() == 200.0


def test_hooks_of_leaves() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    (x * 2).sum().backward()
    (x * 2).sum().backward()  # another accumulator, the same hooks
    assert x.grad.item() == 40.0


def test_a_hook_of_a_leaf_registered_after_use() -> None:
    x = leaf(1.0)
    y = x * 2
    x.register_hook(lambda g: g * 10)
    y.sum().backward()
    assert x.grad.item() == 20.0


def test_hooks_run_once_on_the_whole_gradient() -> None:
    x = leaf(1.0)
    seen: list[float] = []
    x.register_hook(lambda g: seen.append(g.item()))
    (x * 2 + x * 3 + x).sum().backward()
    assert seen == [6.0]


def test_removing_hooks() -> None:
    x = leaf(1.0)
    y = x * 2
    handle = y.register_hook(lambda g: g * 10)
    handle.remove()
    handle.remove()
    with x.register_hook(lambda g: g * 100):
        y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert x.grad.item() == 202.0


def test_hooks_under_create_graph_are_differentiated() -> None:
    x = leaf(3.0)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = tg.autograd.grad(y.sum(), x, create_graph=True)  # x * 2x
    assert g.item() == 18.0
    assert tg.autograd.grad(g.sum(), x)[0].item() == 12.0


def test_with_grad_only_the_hooks_of_what_was_asked_for_run() -> None:
    x = leaf(1.0)
    seen: list[str] = []
    y = x * 2
    x.register_hook(lambda g: seen.append("x"))
    y.register_hook(lambda g: seen.append("y"))
    z = (y * 1).sum()
    tg.autograd.grad(z, y, retain_graph=True)
    assert seen == ["y"]
    tg.autograd.grad(z, x)
    assert seen == ["y", "y", "x"]


def test_what_grad_returns_has_been_through_the_hooks() -> None:
    x = leaf(1.0)
    x.register_hook(lambda g: g * 10)
    assert tg.autograd.grad((x * 2).sum(), x)[0].item() == 20.0


def test_bad_results_name_the_hook() -> None:
    def wrong(result: Any) -> None:
        x = tg.ones(3, requires_grad=True)

        def my_hook(g: Any) -> Any:
            return result

        y = x * 2
        y.register_hook(my_hook)
        y.sum().backward()

    with pytest.raises(TypeError, match=r"my_hook.*'int'"):
        wrong(3)
    with pytest.raises(RuntimeError, match="my_hook' has changed the size of value"):
        wrong(tg.ones(2))
    with pytest.raises(RuntimeError, match=r"my_hook' has changed the type of value .*float32.*float64"):
        wrong(tg.ones(3, dtype=tg.float64))


def test_what_cannot_have_hooks() -> None:
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't"):
        tg.ones(3).register_hook(lambda g: None)
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        tg.ones(3).retain_grad()
    with pytest.raises(TypeError, match="callable"):
        tg.ones(3, requires_grad=True).register_hook(3)


def test_retain_grad() -> None:
    x = leaf(2.0)
    y = x * x
    assert not y.retains_grad
    y.retain_grad()
    y.retain_grad()
    assert y.retains_grad
    y.sum().backward(retain_graph=True)
    y.sum().backward()
    assert y.grad.item() == 2.0
    x.retain_grad()
    assert not x.retains_grad


def test_a_retained_gradient_is_nobody_elses() -> None:
    x = leaf(2.0, 3.0)
    y = x + 1
    y.retain_grad()
    given = tg.ones(2)
    y.backward(given)
    pointers = {given.data_ptr(), y.grad.data_ptr(), x.grad.data_ptr()}
    assert len(pointers) == 3


def test_retain_grad_follows_an_in_place_operator() -> None:
    x = leaf(2.0)
    y = x * 3
    y.retain_grad()
    y.mul_(5)
    (y * 7).sum().backward()
    assert y.grad.item() == 7.0
    assert x.grad.item() == 105.0


def test_a_hook_stays_with_the_value_it_was_registered_on() -> None:
    x = leaf(2.0)
    y = x * 3
    seen: list[float] = []
    y.register_hook(lambda g: seen.append(g.item()))
    y.mul_(5)
    y.register_hook(lambda g: seen.append(g.item()))
    y.sum().backward()
    assert seen == [1.0, 5.0]


def test_a_hook_does_not_keep_the_gradient_from_being_taken() -> None:
    x = leaf(2.0, 3.0)
    kept: list[Any] = []
    x.register_hook(kept.append)
    (x * 2).sum().backward()
    assert kept[0].data_ptr() != x.grad.data_ptr()


def test_the_warning_for_grad_of_a_computed_tensor() -> None:
    y = leaf(1.0) * 2
    with pytest.warns(UserWarning, match="not a leaf Tensor is being accessed"):
        assert y.grad is None
